"""An environment that looks up colours, one at a time or prepared for several members at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgym.core.hooks import TurnContext
from agentgym.core.options import integer
from agentgym.core.outcome import Outcome
from tests.toy import ToyEnv


class PreparedEnv(ToyEnv):
    """Report in the details how many members the look-up of this turn was made for."""

    reset_options: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = {"shade": integer}
    broken: ClassVar[bool] = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.looked_up: tuple[str, int] | None = None

    def reported_details(self) -> Collection[str]:
        return ("looked_up",)

    @classmethod
    def prepare(cls, members: Sequence[tuple[ToyEnv, str]]) -> None:
        if cls.broken:
            raise RuntimeError("the look-up is down")
        for env, action in members:
            assert isinstance(env, PreparedEnv)
            env.looked_up = (action, len(members))

    def _act(self, action: str) -> Outcome:
        ready, self.looked_up = self.looked_up, None
        together = ready[1] if ready and ready[0] == action else 1
        outcome = super()._act(action)
        outcome.details = {"looked_up": together}
        return outcome


class BrokenPrepareEnv(PreparedEnv):
    """A member whose preparation always fails."""

    broken: ClassVar[bool] = True


@dataclass
class LookedUp:
    """A hook that cannot do without a detail that only some environments report."""

    name: str = "looked_up"
    weight: float = 1.0
    needs: tuple[str, ...] = ("looked_up",)

    def __call__(self, context: TurnContext) -> float:
        return float(context.details["looked_up"])

    def reset(self) -> None:
        return
