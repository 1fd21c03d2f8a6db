"""What another project's code raises on a policy's action is the policy's doing, or its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agentgym.core.attribution import ActionFailed, Trials, attribute_failure
from agentgym.errors import EnvFailure


class Lock:
    """An environment in one state; counts how often it is brought back to it."""

    def __init__(self, errors: dict[str, Exception], restarts: int = 100) -> None:
        self.errors, self.restarts = errors, restarts
        self.touched = True

    def try_action(self, action: str) -> None:
        assert not self.touched, "a trial has to begin in the state of the failure"
        self.touched = True
        if action in self.errors:
            raise self.errors[action]

    def restart(self, actions: Sequence[str], known_good: bool) -> Trials:
        self.restarts -= 1
        if self.restarts < 0:
            raise ConnectionResetError("gone")
        self.touched = False
        return Trials([self._trial(action) for action in actions], known_good)

    def _trial(self, action: str) -> Callable[[], None]:
        return lambda: self.try_action(action)


def judged(
    failure: BaseException,
    lock: Lock,
    actions: Sequence[str],
    *,
    known_good: bool = True,
    repeat: Callable[[], object] | None = None,
) -> str:
    return attribute_failure(failure, lambda: lock.restart(actions, known_good), repeat)


def test_it_is_the_policys_if_another_action_works() -> None:
    lock = Lock({"a": KeyError("a"), "b": KeyError("b")})
    assert judged(KeyError("?"), lock, ["a", "b", "good"]) == "KeyError: '?'"
    assert lock.restarts == 97


def test_it_is_the_environments_if_a_known_good_action_fails_too() -> None:
    error = KeyError("?")
    with pytest.raises(EnvFailure, match=r"^KeyError: '\?'$") as failure:
        judged(error, Lock({"good": ValueError("other words")}), ["good"])
    assert failure.value.__cause__ is error


@pytest.mark.parametrize("restarts", [0, 1])
def test_it_is_the_environments_if_it_answers_no_more(restarts: int) -> None:
    lock = Lock({"a": KeyError("a")}, restarts)
    with pytest.raises(EnvFailure, match="KeyError"):
        judged(KeyError("?"), lock, ["a", "good"])


def test_guesses_that_fail_alike_show_an_environment_that_is_down() -> None:
    down = {text: RuntimeError("no licence") for text in ("1", "hello")}
    with pytest.raises(EnvFailure, match="no licence"):
        judged(RuntimeError("no licence"), Lock(down), ["1", "hello"], known_good=False)


def test_guesses_that_fail_differently_show_that_actions_are_read() -> None:
    strict = {text: ValueError(f"no such colour: {text}") for text in ("1", "hello")}
    words = judged(
        ValueError("no such colour: mauve"), Lock(strict), ["1", "hello"], known_good=False
    )
    assert words == "ValueError: no such colour: mauve"


def test_outages_are_alike_whatever_addresses_they_name() -> None:
    errors = {"1": ConnectionError("port 4711"), "hello": EnvFailure("0x7f12 is gone")}
    with pytest.raises(EnvFailure, match="port 4712"):
        judged(ConnectionError("port 4712"), Lock(errors), ["1", "hello"], known_good=False)


def test_an_outage_that_does_not_come_back_is_not_the_policys() -> None:
    with pytest.raises(EnvFailure, match="timed out"):
        judged(TimeoutError("timed out"), Lock({}), ["good"], repeat=lambda: None)


@pytest.mark.parametrize("failure", [TimeoutError("slow"), EnvFailure("it died")])
def test_an_outage_that_only_this_action_causes_is_the_policys(failure: Exception) -> None:
    def fail() -> None:
        raise failure

    assert "slow" in (words := judged(failure, Lock({}), ["good"], repeat=fail)) or "died" in words


def test_an_action_that_is_refused_need_not_be_refused_twice() -> None:
    """A world without seeds is in another state, where the same action may be right."""
    assert "no" in judged(ActionFailed("no"), Lock({}), ["good"], repeat=lambda: None)


def test_without_actions_to_compare_the_environment_is_at_fault() -> None:
    with pytest.raises(EnvFailure, match="KeyError"):
        judged(KeyError("?"), Lock({}), [], known_good=False)


def test_an_interrupt_is_neither() -> None:
    with pytest.raises(KeyboardInterrupt):
        judged(KeyboardInterrupt(), Lock({}), ["good"])
