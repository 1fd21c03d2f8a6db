"""Notes and further tries in any environment: what is remembered, what a try costs and pays."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from agentgym.actions import GRAMMARS, ActionSpec, Param
from agentgym.core.env import OBSERVATION_LENGTH, TextEnv
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList
from agentgym.core.tries import TAKEN_BACK
from agentgym.errors import ConfigurationError
from agentgym.policies.play import play
from agentgym.registration.making import make_env
from agentgym.rewards import Progressive, RetrievalHit
from tests.core.test_delegation import walk
from tests.envs.swe.boxed import needs_box
from tests.toy import TOY_ID, ToyEnv

TASK = {"split": "train", "index": 3}


class Safe(TextEnv[None]):
    """A safe with a code that stands in the first observation alone, and a door that shuts once."""

    action_specs = (
        ActionSpec(
            "dial", "Dial a code.", (Param("code", description="It."),), native="dial {code}"
        ),
        ActionSpec("walk", "Walk on.", native="walk"),
    )
    STEPS = 3

    def __init__(self, **kwargs: Any) -> None:
        codes = [Task(f"safe/{i}", "train", i, "open the safe", {}) for i in range(8)]
        super().__init__(TaskList("safes", {"train": codes}), **{"horizon": 12, **kwargs})

    def _start(self, task: Task, rng: Any) -> str:
        self.code, self.walked = int(rng.integers(1000)), 0
        return f"the code is {self.code}"

    def _act(self, action: str) -> Outcome:
        if action == "walk":
            self.walked += 1
            return Outcome("a safe" if self.walked >= self.STEPS else "a corridor", reward=0.25)
        right = self.walked >= self.STEPS and action == f"dial {self.code}"
        return Outcome("open" if right else "shut", float(right), True, True, right, float(right))

    def _state(self) -> str:
        return f"{self.code} {self.walked}"

    def _snapshot(self) -> Any:
        return self.code, self.walked

    def _restore(self, engine: Any) -> None:
        self.code, self.walked = engine


# -- notes -----------------------------------------------------------------------------------------


def by_last_observation(observation: str) -> str:
    """Act with a window of one turn, and with notes where there are any."""
    if observation.startswith("the code is"):
        return f"note {observation}"
    if "code is" in observation and observation.startswith("your notes"):
        return f"dial {observation.split()[-1]}"
    return "recall" if observation == "a safe" else "walk"


def episode(env: TextEnv, index: int) -> list[dict[str, Any]]:
    observation, _ = env.reset(seed=index, options={"split": "train", "index": index})
    infos = []
    while not infos or not infos[-1]["stop_reason"]:
        observation, _, _, _, info = env.step(by_last_observation(observation))
        infos.append(info)
    return infos


def test_with_notes_a_window_of_one_turn_is_enough_and_without_it_is_not():
    env = Safe(notes=3)
    assert all(episode(env, i)[-1]["success"] for i in range(8))
    without = [episode(Safe(), i)[-1] for i in range(8)]
    assert not any(info["success"] for info in without)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_notes_are_written_and_read_in_every_grammar(grammar):
    env = ToyEnv(notes=2, grammar=grammar, horizon=20)
    _, info = env.reset(options=TASK)
    assert {tool["function"]["name"] for tool in info["tools"]} == {"press", "note", "recall"}
    assert "recall" in env.action_prompt()
    texts = ("recall", "note a b", "note c", "note d", "recall")
    actions = [env.spoken.write(text) for text in texts]
    turns = walk(env, *actions)
    assert [text for text, _ in turns[:2]] == ["you have no notes", "noted: a b"]
    assert turns[-1][0] == "your notes:\n1. c\n2. d"
    assert all(info["action_valid"] and info["reward_terms"] == {"task": 0.0} for _, info in turns)
    keys = [info["state_key"] for _, info in turns]
    assert keys[0] != keys[1] != keys[2] != keys[3] == keys[4]


def test_hostile_notes_are_bounded_and_what_is_none_is_the_environments():
    env = ToyEnv(notes=1, horizon=20)
    env.reset(options=TASK)
    turns = walk(env, "note", "note " + "x" * 9000, "notes red", "press note", "note \ud800")
    assert turns[0][0] == "invalid: write words behind note" and not turns[0][1]["action_valid"]
    assert len(turns[1][0]) < 1100
    assert [text for text, _ in turns[2:4]] == ["invalid: no such button"] * 2
    assert turns[4][0] == "noted: ?"


# -- tries -----------------------------------------------------------------------------------------


def test_a_try_that_failed_begins_anew_in_the_same_world_and_the_last_one_pays():
    env = Safe(tries=3, notes=5)
    opening, info = env.reset(seed=1)
    assert (info["try"], info["horizon"]) == (1, 36)
    moments = [env.step(text) for text in ("walk", "note dial later", "dial 5")]
    text, reward, terminated, truncated, info = moments[-1]
    assert not terminated and not truncated and info["try"] == 2 and not info["success"]
    assert text == (
        "shut\n\ntry 1 of 3 ended unsolved . it begins anew .\n\n"
        f"your notes:\n1. dial later\n\n{opening}"
    )
    assert info["reward_terms"] == {"task": 0.0, TAKEN_BACK: -0.25} and reward == -0.25
    code = f"dial {opening.split()[-1]}"
    moments += [env.step(text) for text in ("walk", "walk", "walk", code)]
    assert moments[-1][2] and moments[-1][4]["success"] and moments[-1][4]["try"] == 2
    assert sum(moment[1] for moment in moments) == 1.75


def test_a_try_has_its_share_of_the_horizon_and_the_last_one_ends_the_episode():
    env = Safe(tries=2)
    env.reset(seed=0, options={"horizon": 5})
    steps = [env.step("walk") for _ in range(5)]
    assert [step[4]["try"] for step in steps] == [1, 2, 2, 2, 2]
    assert steps[-1][3] and steps[-1][4]["stop_reason"] == "horizon"
    env.reset(seed=0)
    steps = [env.step("dial 0") for _ in range(2)]
    assert steps[-1][2] and steps[-1][4]["stop_reason"] == "failure"


def test_a_fork_goes_on_in_the_same_try_with_the_same_notes():
    env = Safe(tries=3, notes=2, worker_turns=3)
    env.reset(seed=4)
    walk(env, "note a", "dial 1", "delegate go", "walk")
    state = pickle.loads(pickle.dumps(env.snapshot()))
    actions = ["dial 2", "recall", "delegate x", "note b", "recall", "report y", "dial 3"]
    ahead = walk(env, *actions)
    twin = Safe(tries=3, notes=2, worker_turns=3)
    twin.restore(state)
    assert [(o, dict(i)) for o, i in walk(twin, *actions)] == [(o, dict(i)) for o, i in ahead]
    assert "planner" in ahead[0][1]["agent"] and ahead[-1][1]["stop_reason"] == "failure"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"notes": -1}, "notes"),
        ({"notes": True}, "notes"),
        ({"notes": 101}, "from 1 to 100"),
        ({"tries": 0}, "tries"),
        ({"tries": "2"}, "tries"),
    ],
)
def test_unfit_numbers_are_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        ToyEnv(**arguments)


@pytest.mark.parametrize(
    "env_id",
    [
        TOY_ID,
        "agentgym/ALFWorld-v0",
        "agentgym/Search-v0",
        pytest.param("agentgym/SWE-v0", marks=needs_box),
        "agentgym/TextWorld-v0",
        "agentgym/WebShop-v0",
    ],
)
def test_every_family_is_tried_again_by_its_expert(env_id):
    env = make_env(env_id, {"tries": 2, "notes": 3, "horizon": 60}, "--env-kwargs")
    first, _ = env.reset(seed=3, options={"split": "test", "index": 1, "horizon": 2})
    observation, _, terminated, _, info = env.step("note look closely")
    assert info["try"] == 2 and not terminated and observation.endswith(first)
    assert "1. look closely" in observation
    moments = list(play(env.oracle(), env, options={"split": "test", "index": 1}))
    assert moments[-1].info["success"] and moments[-1].info["try"] == 1
    env.close()


# -- together --------------------------------------------------------------------------------------


def test_notes_take_the_turns_of_a_worker():
    env = ToyEnv(worker_turns=2, notes=2, horizon=20)
    env.reset(options=TASK)
    turns = walk(env, "delegate go", "note a", "recall", "recall")
    assert [info["agent"] for _, info in turns] == ["worker 1", "worker 1", "planner", "planner"]
    assert turns[2][0] == "worker 1 ended without a report"
    assert turns[3][0] == "your notes:\n1. a"


def test_no_try_begins_where_no_turn_is_left():
    env = Safe(tries=3)
    env.reset(seed=1, options={"horizon": 2})
    (_, first), (text, second) = walk(env, "walk", "walk")
    assert (first["try"], second["try"], second["stop_reason"]) == (2, 2, "horizon")
    assert text == "a corridor" and second["reward_terms"] == {"task": 0.25}


class Clock(Safe):
    """One that says how many turns are left, as Search and SWE do."""

    def _start(self, task: Task, rng: Any) -> str:
        self.code, self.walked = 0, 0
        return f"{self.turns_left} left"

    def _act(self, action: str) -> Outcome:
        return Outcome(f"{self.turns_left - 1} left")


def test_what_is_said_of_turns_is_said_of_this_try():
    env = Clock(tries=2, notes=1)
    assert env.reset(seed=1, options={"horizon": 5})[0] == "2 left" and env.turns_left == 2
    state = (env.step("walk")[0], env.turns_left)
    forked = env.snapshot()
    for _ in range(2):
        states = [state, *((env.step("walk")[0][-6:], env.turns_left) for _ in range(2))]
        assert states == [("1 left", 1), ("3 left", 3), ("2 left", 2)]
        env.restore(forked)
    env = make_env("agentgym/Search-v0", {"tries": 2, "horizon": 4}, "--env-kwargs")
    first, info = env.reset(options={"split": "test", "index": 1})
    alone = make_env("agentgym/Search-v0", {"horizon": 4}, "--env-kwargs")
    assert first == alone.reset(options={"split": "test", "index": 1})[0]
    assert (info["horizon"], env.turns_left) == (8, 4)


def test_what_is_found_again_in_a_further_try_is_paid_once():
    """In each episode anew, alone and as the step of progressive shaping."""
    hooks = [Progressive(alpha=0.0, step=RetrievalHit(bonus=0.5)), RetrievalHit(bonus=0.1)]
    options = {"tries": 2, "horizon": 4, "reward_hooks": hooks}
    env = make_env("agentgym/Search-v0", options, "--env-kwargs")
    for index in (1, 2):
        env.reset(options={"split": "test", "index": index})
        infos, hit = [{"stop_reason": "", "try": 1}], 0
        while not infos[-1]["stop_reason"]:
            action = env.oracle_action() if not hit else "<answer> no </answer>"
            infos.append(env.step(action)[4])
            hit = infos[-1]["details"]["answer_new"]
        hits = [info["try"] for info in infos[1:] if info["details"]["answer_new"]]
        paid = {hook.name: [info["reward_terms"][hook.name] for info in infos[1:]]
                for hook in hooks}  # fmt: skip
        assert hits == [1, 2], "the second try has shown the answer, too"
        assert sum(paid["retrieval_hit"]) == 0.1
        assert sum(paid["progressive"]) == pytest.approx(0.5 / len(infos[1:]))


class Talker(Safe):
    """One that says more than an observation holds."""

    def _start(self, task: Task, rng: Any) -> str:
        return super()._start(task, rng) + "!" * 20_000

    def _act(self, action: str) -> Outcome:
        return Outcome("?" * 40_000, terminated=True)


def test_a_new_try_shows_the_whole_opening():
    env = Talker(tries=2, notes=100, horizon=40)
    opening, _ = env.reset(seed=1)
    walk(env, *[f"note {'x' * 990} {i}" for i in range(30)])
    observation = env.step("walk")[0]
    assert observation.endswith(f" 29\n\n{opening}") and observation.startswith("????")
    assert len(observation) <= OBSERVATION_LENGTH


@pytest.mark.parametrize(
    ("grammar", "action"),
    [
        ("tool_call", '<tool_call>{"name": "note", "arguments": {}}</tool_call>'),
        ("xml", "<note></note>"),
        ("react", "Action: memo"),
    ],
)
def test_why_an_action_is_none_names_orders_too(grammar, action):
    env = ToyEnv(notes=2, grammar=grammar)
    env.reset(options=TASK)
    ((text, info),) = walk(env, action)
    assert not info["action_valid"] and "note" in text and "there is no action 'note'" not in text
