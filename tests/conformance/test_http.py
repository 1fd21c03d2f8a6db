"""AgentGym's calls over HTTP, between two processes' worth of threads and a real socket."""

from __future__ import annotations

import pytest

from tests.conformance.episodes import IDS, Turn, bare, digest, native_episodes, play, reset_options
from tests.interop.test_http_server import ask, served


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    expected, _ = native_episodes(env_id)
    with served(lambda: bare(env_id)) as (url, _):
        number = ask(url, "createEnv")["env_idx"]

        def reset(index: int) -> Turn:
            options = reset_options(index)
            options["data_idx"] = options.pop("index")
            answer = ask(url, "reset", env_idx=number, seed=index, **options)
            return answer["observation"], answer["reward"], answer["done"]

        def step(action: str) -> Turn:
            answer = ask(url, "step", env_idx=number, action=action)
            return answer["observation"], answer["reward"], answer["done"]

        turns = [play(episode, reset, step) for episode in expected]
    assert digest(turns) == digest([episode.turns for episode in expected])
