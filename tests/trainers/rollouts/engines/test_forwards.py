from __future__ import annotations

from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from trainers.rollouts.engines.forwards import cache_argument


class Newer:
    def forward(self, input_ids: Any, cache: Any = None, **kwargs: Any) -> Any: ...


class Older:
    def forward(self, input_ids: Any, past_key_values: Any = None) -> Any: ...


class Both:
    def forward(self, input_ids: Any, past_key_values: Any = None, cache: Any = None) -> Any: ...


class Stateful:
    def forward(self, input_ids: Any, state: Any = None, **kwargs: Any) -> Any: ...


@pytest.mark.parametrize(
    ("model_class", "name"), [(Newer, "cache"), (Older, "past_key_values"), (Both, "cache")]
)
def test_a_cache_is_passed_by_the_name_that_a_version_has(model_class: type, name: str) -> None:
    assert cache_argument(model_class) == name


def test_a_forward_that_takes_no_cache_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes no cache and no past_key_values"):
        cache_argument(Stateful)
