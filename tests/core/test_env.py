from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from agentgym.actions import ActionSpec, Param, openai_tools, parse
from agentgym.core.env import OBSERVATION_LENGTH, TextEnv
from agentgym.core.hooks import TurnContext
from agentgym.core.language import ACTION_LENGTH, Language, Reading
from agentgym.core.options import LARGEST
from agentgym.core.outcome import Outcome, StopReason, bounded, stop_reason
from agentgym.core.tasks import Task, TaskList
from agentgym.errors import ConfigurationError, NotSupported, TaskNotFound
from agentgym.rewards import Repeat, ShapedReward
from agentgym.vector import TextVectorEnv
from tests.faulty import FaultyEnv
from tests.prepared import LookedUp, PreparedEnv
from tests.toy import COLOURS, TOY_ID, ToyEnv

PRESS_RED = {"split": "train", "index": 0}


class Echo(TextEnv):
    """Does what the test says: each action names an outcome; keeps every text it was given."""

    action_specs = (
        ActionSpec("say", "Say it.", (Param("text", description="What."),), native="say {text}"),
    )
    outcomes: dict[str, Outcome]

    def __init__(self, outcomes: dict[str, Outcome] | None = None, **kwargs: Any) -> None:
        tasks = TaskList("echo", {"train": [Task("echo/0", "train", 0, "talk", {})]})
        super().__init__(tasks, **{"horizon": 5, **kwargs})
        self.outcomes = outcomes or {}
        self.actions: list[str] = []

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        return "hello"

    def _act(self, action: str) -> Outcome:
        self.actions.append(action)
        return self.outcomes.get(action, Outcome(f"heard {action}"))

    def _admissible(self) -> Sequence[str]:
        return ["say hello"]


@dataclass
class Spy:
    """A hook that keeps what it sees."""

    name: str = "spy"
    weight: float = 0.5
    contexts: list[TurnContext] = field(default_factory=list)
    resets: int = 0

    def __call__(self, context: TurnContext) -> float:
        self.contexts.append(context)
        return float(len(self.contexts))

    def reset(self) -> None:
        self.resets += 1
        self.contexts = []


def spy_of(env: TextEnv) -> Spy:
    hook = env.hooks.snapshot()[0][0]
    assert isinstance(hook, Spy)
    return hook


# -- outcomes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outcome, truncated, expected",
    [
        (Outcome(""), False, StopReason.NONE),
        (Outcome(""), True, StopReason.HORIZON),
        (Outcome("", terminated=True), False, StopReason.FAILURE),
        (Outcome("", terminated=True, success=True), False, StopReason.SUCCESS),
        (Outcome("", terminated=True, stop_reason=StopReason.ANSWER), False, StopReason.ANSWER),
    ],
)
def test_stop_reasons(outcome: Outcome, truncated: bool, expected: StopReason) -> None:
    assert stop_reason(outcome, truncated) is expected


def test_overlong_text_is_cut_with_a_visible_marker() -> None:
    assert bounded("x" * 100, 100) == "x" * 100
    cut = bounded("x" * 1000, 100)
    assert len(cut) == 100 and cut.startswith("xxx") and cut.endswith(" [... 900 characters cut]")
    cut = bounded("x" * 1000, 100, brackets=False)
    assert len(cut) == 100 and cut.endswith("x ... 900 characters cut")


@pytest.mark.parametrize("grammar", ["native", "xml"])
def test_the_marker_of_a_cut_does_not_complete_an_action(grammar: str) -> None:
    spec = ActionSpec("search", "Search.", (Param("query"),), native="search[{query}]")
    text = "search[" * 600 if grammar == "native" else f"<search>{'x' * 5000}</search>"
    native = Language((spec,), grammar).read(text).native
    assert len(native) == ACTION_LENGTH and native.endswith(" characters cut")
    assert not set('[](){}<>`"|') & set(native[-30:].partition("... ")[2])
    assert parse(native, (spec,), "native").call is None
    env = gymnasium.make("agentgym/WebShop-v0")
    env.reset(seed=0)
    assert env.step(native)[4]["action_valid"] is False


# -- one turn --------------------------------------------------------------------------------------


def test_an_outcome_becomes_a_step() -> None:
    details = {"parts": [1, 2]}
    outcome = Outcome("done", 0.75, True, True, True, 0.9, StopReason.ANSWER, None, details)
    env = Echo({"say it": outcome})
    observation, info = env.reset(seed=0)
    assert (observation, info["goal"], info["task_id"]) == ("hello", "talk", "echo/0")
    assert info["tools"] == json.loads(json.dumps(openai_tools(Echo.action_specs)))
    assert info["admissible_actions"] == ["say hello"]
    observation, reward, terminated, truncated, info = env.step("say it")
    assert (observation, reward, terminated, truncated) == ("done", 0.75, True, False)
    assert info["reward_terms"] == {"task": 0.75} and info["details"] == details
    assert info["details"] is not details
    assert (info["success"], info["score"], info["stop_reason"]) == (True, 0.9, "answer")
    assert info["admissible_actions"] == []


def test_the_score_stays_until_it_is_set_again() -> None:
    env = Echo({"a": Outcome("", score=0.5), "c": Outcome("", score=0.0)})
    env.reset(seed=0)
    assert [env.step(text)[4]["score"] for text in "abcd"] == [0.5, 0.5, 0.0, 0.0]
    env.step("a")
    assert env.reset()[1]["score"] == 0.0


def test_named_terms_make_the_reward() -> None:
    env = Echo({"a": Outcome("", 99.0, terms={"found": 0.25, "cost": -0.5})})
    env.reset(seed=0)
    _, reward, _, _, info = env.step("a")
    assert reward == -0.25 and info["reward_terms"] == {"found": 0.25, "cost": -0.5}


def test_termination_comes_before_the_horizon() -> None:
    env = Echo({"win": Outcome("", terminated=True, success=True)})
    env.reset(options={"horizon": 1})
    assert env.step("win")[2:4] == (True, False)
    env.reset(options={"horizon": np.int64(1)})
    _, _, terminated, truncated, info = env.step("other")
    assert (terminated, truncated, info["stop_reason"]) == (False, True, "horizon")
    assert type(info["horizon"]) is int


def test_the_family_never_sees_thoughts_or_endless_text() -> None:
    env = Echo({"say long": Outcome("y" * (OBSERVATION_LENGTH + 5))}, horizon=9)
    env.reset(seed=0)
    env.step("<think>say no</think>say yes")
    env.step("x" * 1_000_000)
    env.step("caf\u00e9 \ud800")
    observation = env.step("say long")[0]
    assert env.actions[0] == "say yes"
    assert len(env.actions[1]) <= ACTION_LENGTH and "cut" in env.actions[1]
    assert env.actions[2] == "café ?"
    assert len(observation) == OBSERVATION_LENGTH and "cut" in observation[-60:]


def test_lone_surrogates_of_data_never_reach_a_policy() -> None:
    class Broken(Echo):
        def _start(self, task: Task, rng: np.random.Generator) -> str:
            return "caf\u00e9 \ud800"

    env = Broken({"say it": Outcome("\udfff!")})
    env.tasks = TaskList("echo", {"train": [Task("echo/0", "train", 0, "talk \ud800", {})]})
    observation, info = env.reset()
    assert (observation, info["goal"]) == ("caf\u00e9 ?", "talk ?")
    assert env.step("say it")[0] == "?!"


class Listed(ToyEnv):
    """Lists its actions in the order in which the task wants them: the worst order there is."""

    turned = False

    def _admissible(self) -> Sequence[str]:
        next_actions = [f"press {colour}" for colour in self._buttons[self._pressed :]]
        listed = list(dict.fromkeys(next_actions + [f"press {colour}" for colour in COLOURS]))
        return listed[::-1] if self.turned else listed


class Turned(Listed):
    turned = True


def test_the_order_of_admissible_actions_tells_nothing() -> None:
    places = np.zeros((len(COLOURS), 2))
    env, twin = Listed(), Turned()
    for index in range(400):
        info = env.reset(options={"split": "train", "index": index})[1]
        admissible = info["admissible_actions"]
        assert sorted(admissible) == sorted(f"press {colour}" for colour in COLOURS)
        # The engine's own order has no say.
        assert twin.reset(options={"task_id": info["task_id"]})[1]["admissible_actions"] == (
            admissible
        )
        buttons = env.task.content["buttons"]
        places[admissible.index(f"press {buttons[0]}"), 0] += 1
        places[admissible.index("press red"), 1] += 1
        # It stays as it is through the episode.
        assert env.step("press nothing")[4]["admissible_actions"] == admissible
    # 400 tasks over four places: 100 each, with a standard deviation of 8.7.
    assert np.abs(places - 100).max() < 5 * 8.7
    xml_info = Listed(grammar="xml").reset(options={"task_id": info["task_id"]})[1]
    assert xml_info["admissible_actions"] == [
        f"<press>{action.removeprefix('press ')}</press>" for action in admissible
    ]


def test_the_order_of_admissible_actions_is_the_same_on_every_machine() -> None:
    env = ToyEnv()
    info = env.reset(options={"task_id": env.tasks.task("train", 0).id})[1]
    expected = sorted(
        (zlib.crc32(action.encode(), zlib.crc32(info["task_id"].encode())), action)
        for action in info["admissible_actions"]
    )
    assert info["admissible_actions"] == [action for _, action in expected]


def test_rendering() -> None:
    env = Echo(render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "hello"
    env.step("say it")
    assert env.render() == "> say it\nheard say it"
    env.reset()
    assert env.render() == "hello"


# -- grammars --------------------------------------------------------------------------------------


def test_an_action_that_cannot_be_parsed_never_reaches_the_family() -> None:
    env = Echo(grammar="xml")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("say it")
    assert observation.startswith("invalid: ") and info["action_valid"] is False
    assert (reward, terminated, truncated, info["turn"]) == (0.0, False, False, 1)
    assert env.actions == []


def test_what_follows_the_first_action_is_reported() -> None:
    env = Echo(grammar="tool_call")
    _, info = env.reset(seed=0)
    (call,) = info["admissible_actions"]
    assert "<tool_call>" in call
    info = env.step(f"{call} and then some")[4]
    assert env.actions == ["say hello"] and "and then some" in info["trailing_text"]
    assert info["action_valid"] is True


def test_the_prompt_names_the_actions() -> None:
    assert "say" in Echo().action_prompt() and Echo(grammar="xml").action_prompt()
    assert Echo().action_prompt() != Echo(grammar="react").action_prompt()


# -- seeds and options -----------------------------------------------------------------------------


def test_the_task_is_drawn_from_the_env_own_generator() -> None:
    env, twin = ToyEnv(), ToyEnv()
    assert env.reset(seed=3) == twin.reset(seed=3)
    assert env.reset() == twin.reset()
    assert {env.reset()[1]["split"] for _ in range(20)} == {"train"}
    assert ToyEnv(split="valid").reset(seed=0)[1]["split"] == "valid"


@pytest.mark.parametrize(
    "options",
    [
        {"index": 3, "task_id": "toy/red-red"},
        {"split": "test", "task_id": ToyEnv().tasks.task("train", 0).id},
        {"indx": 3},
        {"horizon": "3"},
        {"index": "a"},
        {"index": "3"},
        {"index": float("nan")},
        {"index": 1.7},
        {"index": True},
        {"index": -1},
        {"index": 10**30},
        {"split": ["train"]},
        {"split": 3},
        {"task_id": 3},
        {"task_id": ["toy/red-red"]},
        {"horizon": 0},
        {"horizon": 10**30},
        {"horizon": True},
        {"horizon": 3.0},
        {"training_step": "a"},
        {"training_step": -1},
        {"training_step": float("inf")},
        [("index", 3)],
        "index",
    ],
)
def test_options_that_make_no_sense(options: Any) -> None:
    """They are refused, alone and in a vector environment, where no episode pays for them."""
    with pytest.raises((ConfigurationError, TaskNotFound)) as refused:
        ToyEnv().reset(options=options)
    envs = TextVectorEnv.make(ToyEnv, 2)
    with pytest.raises(type(refused.value)):
        envs.reset_slots([0, 1], options=[None, options])


@pytest.mark.parametrize("seed", ["a", 1.0, True, -1, [1]])
def test_seeds_that_make_no_sense(seed: Any) -> None:
    with pytest.raises(ConfigurationError, match="seed"):
        ToyEnv().reset(seed=seed)
    envs = TextVectorEnv.make(ToyEnv, 2)
    with pytest.raises(ConfigurationError, match="seed"):
        envs.reset_slots([0, 1], seeds=[0, seed])


def test_options_of_numpy_and_none() -> None:
    env = ToyEnv()
    options = {"split": "test", "index": np.int32(3), "task_id": None, "horizon": np.uint8(4)}
    info = env.reset(seed=np.int64(2), options=options)[1]
    assert info["task_id"] == env.tasks.task("test", 3).id and info["horizon"] == 4
    nothing = {"split": None, "index": None, "horizon": None, "training_step": None}
    assert env.reset(seed=5, options=nothing) == ToyEnv().reset(seed=5)


def test_the_largest_horizon_fits_the_arrays_of_a_vector_environment() -> None:
    envs = TextVectorEnv.make(ToyEnv, 2)
    _, infos = envs.reset(options={"horizon": LARGEST})
    assert infos["horizon"].astype(np.int32).tolist() == [LARGEST, LARGEST]


@pytest.mark.parametrize(
    "kwargs",
    [
        {"horizon": 0},
        {"horizon": 1.5},
        {"horizon": True},
        {"grammar": "python"},
        {"split": "nowhere"},
        {"reward_hooks": [Spy(), Spy()]},
        {"reward_hooks": [Spy(name="task")]},
        {"reward_hooks": ["not a hook"]},
        {"reward_hooks": [Spy(name=3)]},  # type: ignore[arg-type]
        {"reward_hooks": [Spy(weight=float("nan"))]},
        {"reward_hooks": [Spy(weight=float("inf"))]},
        {"reward_hooks": [Spy(weight="2")]},  # type: ignore[arg-type]
        {"horizon": 2**31},
        {"render_mode": "human"},
    ],
)
def test_arguments_that_make_no_sense(kwargs: dict[str, Any]) -> None:
    with pytest.raises((ConfigurationError, TaskNotFound)):
        ToyEnv(**kwargs)


class Trained(ToyEnv):
    """An environment with arguments of its own, which hands the others on."""

    def __init__(self, colour_names: int = 4, *, patience: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)


def test_an_unknown_argument_is_answered_with_those_that_exist() -> None:
    with pytest.raises(ConfigurationError) as refused:
        Trained(gramar="xml", rewrd=1)
    message = str(refused.value)
    assert "'gramar' (did you mean 'grammar'?)" in message and "'rewrd'" in message
    for name in ("colour_names", "patience", "horizon", "split", "reward_hooks", "render_mode"):
        assert name in message
    assert "tasks" not in message and "unknown" not in message
    with pytest.raises(ConfigurationError, match="did you mean 'expose_oracle'"):
        gymnasium.make(TOY_ID, expose_orcale=True)


@pytest.mark.parametrize(
    ("family", "name", "nearest"),
    [
        ("ALFWorld", "data_dir", "data"),
        ("Search", "universe_seed", "generator_seed"),
        ("Search", "max_obs_chars", "max_observation_chars"),
        ("SWE", "sandboxes", "sandbox"),
        ("TextWorld", "dificulty", "difficulty"),
        ("WebShop", "observation", "observation_mode"),
    ],
)
def test_the_nearest_argument_is_named(family: str, name: str, nearest: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"'{name}' \(did you mean '{nearest}'\?\)"):
        gymnasium.make(f"agentgym/{family}-v0", **{name: 1})


@pytest.mark.parametrize("env_id", [TOY_ID, "agentgym/TextWorld-v0"])
def test_the_turn_budget_has_one_name(env_id: str) -> None:
    with pytest.raises(ConfigurationError, match=r"horizon.* got 'max_turns'"):
        gymnasium.make(env_id, max_turns=3)
    env = gymnasium.make(env_id, horizon=3)
    assert env.reset(seed=0)[1]["horizon"] == 3
    with pytest.raises(ConfigurationError, match=r"horizon.* got 'max_turns'"):
        env.reset(options={"max_turns": 2})
    assert env.reset(options={"horizon": 2})[1]["horizon"] == 2
    assert env.reset()[1]["horizon"] == 3


@pytest.mark.filterwarnings("ignore:.*render_mode:UserWarning")
def test_a_human_render_mode_is_refused_when_the_environment_is_made() -> None:
    with pytest.raises(ConfigurationError, match="ansi"):
        gymnasium.make(TOY_ID, render_mode="human")


def test_a_failed_start_leaves_no_episode_running() -> None:
    env = FaultyEnv(bad_reset="raise")
    env.reset(options={"split": "train", "index": 0})
    with pytest.raises(ZeroDivisionError):
        env.reset(options={"split": "train", "index": 1})
    with pytest.raises(ResetNeeded):
        env.step("press red")


def test_a_failed_reset_leaves_no_episode_running() -> None:
    env = ToyEnv()
    with pytest.raises(ResetNeeded):
        _ = env.task
    with pytest.raises(ConfigurationError):
        env.reset(options={"horizon": 0})
    with pytest.raises(ResetNeeded):
        env.step("press red")


# -- hooks -----------------------------------------------------------------------------------------


def test_hooks_see_the_turn_and_add_their_terms() -> None:
    env = ToyEnv(reward_hooks=[Spy()])
    _, info = env.reset(options={**PRESS_RED, "training_step": 40})
    buttons = info["goal"].removeprefix("press ").split(" then ")
    wrong_colour = next(colour for colour in COLOURS if colour != buttons[0])
    steps = [
        env.step(text) for text in (f"press {wrong_colour}", f"press {wrong_colour}", "nonsense")
    ]
    rewards = [step[1] for step in steps]
    assert rewards == [0.5, 1.0, 1.5]
    assert steps[1][4]["reward_terms"] == {"task": 0.0, "spy": 1.0}
    first, second, third = spy_of(env).contexts
    assert (first.repeats, second.repeats, third.repeats) == (0, 1, 0)
    assert (first.valid, third.valid) == (True, False)
    assert first.training_step == 40 and first.action == f"press {wrong_colour}"
    assert (first.before.turn, first.after.turn) == (0, 1) and second.before == first.after
    assert first.before.state_key == first.after.state_key == info["state_key"]
    assert first.before.oracle_turns == len(buttons) and not first.done


def test_the_same_action_in_another_state_is_no_repeat() -> None:
    env = ToyEnv(reward_hooks=[Repeat(0.25)])
    _, info = env.reset(options=PRESS_RED)
    buttons = info["goal"].removeprefix("press ").split(" then ")
    wrong_colour = next(colour for colour in COLOURS if colour not in buttons[:2])
    actions = (wrong_colour, wrong_colour, buttons[0], wrong_colour, wrong_colour, wrong_colour)
    penalties = [env.step(f"press {colour}")[4]["reward_terms"]["repeat"] for colour in actions]
    assert penalties == [0.0, -0.25, 0.0, 0.0, -0.25, -0.25]


def test_hooks_are_copied_and_start_anew_with_every_episode() -> None:
    spy = Spy()
    env, twin = ToyEnv(reward_hooks=[spy]), ToyEnv(reward_hooks=[spy])
    for member in (env, twin):
        member.reset(options=PRESS_RED)
        assert member.step("x")[1] == 0.5
    env.reset(options=PRESS_RED)
    assert env.step("x")[1] == 0.5
    assert spy.resets == 0 and spy_of(env).resets == 2 and spy_of(twin).resets == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "1"])
def test_a_hook_whose_value_is_no_number_is_named(value: Any) -> None:
    class Broken(Spy):
        def __call__(self, context: TurnContext) -> float:
            return value

    env = ToyEnv(reward_hooks=[Broken("broken")])
    env.reset(seed=0)
    with pytest.raises(ConfigurationError, match="'broken'"):
        env.step("press red")


def test_a_negative_weight_makes_a_cost_of_what_a_hook_counts() -> None:
    env = ToyEnv(reward_hooks=[Spy(weight=-0.5)])
    env.reset(seed=0)
    assert env.step("x")[4]["reward_terms"]["spy"] == -0.5


def test_hooks_know_the_end() -> None:
    env = ToyEnv(reward_hooks=[Spy()])
    observation, info = env.reset(options=PRESS_RED)
    is_done = False
    while not is_done:
        observation, reward, terminated, truncated, info = env.step(
            env.oracle().act(observation, info)
        )
        is_done = terminated or truncated
    last = spy_of(env).contexts[-1]
    assert last.done and last.success and last.terms["task"] == 1.0
    assert last.after.potential == 1.0 and reward == 1.0 + info["reward_terms"]["spy"]


# -- forks and experts -----------------------------------------------------------------------------


def test_a_snapshot_keeps_hooks_turn_score_and_generator() -> None:
    env = ToyEnv(reward_hooks=[Spy()])
    observation, info = env.reset(seed=5, options={"horizon": 6})
    env.step(env.oracle().act(observation, info))
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    expected = [env.step("press red"), env.step("press gold")], env.reset()
    for copied in (env, ToyEnv(reward_hooks=[Spy()])):
        if copied is not env:
            copied.reset(seed=0)
        copied.restore(snapshot)
        assert ([copied.step("press red"), copied.step("press gold")], copied.reset()) == expected


def test_a_snapshot_of_an_ended_episode_stays_ended() -> None:
    env = ToyEnv()
    env.reset(seed=0, options={"horizon": 1})
    env.step("x")
    snapshot = env.snapshot()
    env.reset()
    env.restore(snapshot)
    with pytest.raises(ResetNeeded):
        env.step("x")


def test_what_a_family_cannot_do_is_said() -> None:
    env = Echo()
    observation, info = env.reset(seed=0)
    for ask in (env.snapshot, lambda: env.oracle().act(observation, info)):
        with pytest.raises(NotSupported, match="Echo"):
            ask()
    assert env.oracle_action() is None and info["oracle_turns"] == -1


def test_the_expert_through_wrappers() -> None:
    env = gymnasium.make(TOY_ID, expose_oracle=True, grammar="react")
    observation, info = env.reset(seed=2)
    unwrapped = env.unwrapped
    assert isinstance(unwrapped, TextEnv)
    assert unwrapped.oracle().act(observation, info) == info["oracle_action"]
    assert "Action" in info["oracle_action"]
    while info["oracle_turns"]:
        assert info["oracle_turns"] + info["turn"] <= info["horizon"]
        observation, _, terminated, _, info = env.step(info["oracle_action"])
    assert terminated and info["success"] and info["oracle_action"] is None


def test_a_hook_sees_what_the_family_reports() -> None:
    env = PreparedEnv(reward_hooks=[LookedUp(weight=0.5)])
    env.reset(seed=0)
    assert env.step("press red")[4]["reward_terms"]["looked_up"] == 0.5
    wrapped = ShapedReward(PreparedEnv(), [LookedUp()])
    wrapped.reset(seed=0)
    assert wrapped.step("press red")[4]["reward_terms"]["looked_up"] == 1.0


def test_a_hook_is_refused_where_what_it_needs_is_not_reported() -> None:
    with pytest.raises(ConfigurationError, match=r"needs info.'details'. to hold looked_up"):
        ToyEnv(reward_hooks=[LookedUp()])
    with pytest.raises(ConfigurationError, match="leave it out"):
        ShapedReward(ToyEnv(), [LookedUp()])


def test_a_family_has_reset_options_of_its_own() -> None:
    ShapedReward(PreparedEnv(), []).reset(seed=0, options={"shade": 3})
    with pytest.raises(ConfigurationError, match="'shade' to be an integer"):
        PreparedEnv().reset(options={"shade": "dark"})
    with pytest.raises(
        ConfigurationError, match=r"reward_hooks, prices, shade; got 'shad' .*'shade'"
    ):
        PreparedEnv().reset(options={"shad": 3})
    with pytest.raises(ConfigurationError, match="expected reset options among"):
        ToyEnv().reset(options={"shade": 3})


# -- names of a subclass ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["_put", "_info", "_begin", "_text", "_ask_once", "_running"])
@pytest.mark.parametrize("mixed_in", [False, True])
def test_a_private_name_of_the_base_is_refused_when_the_class_is_made(
    name: str, mixed_in: bool
) -> None:
    def own_method(env: Any, *arguments: Any) -> str:
        return "mine"

    mixin = type("Mixin", (), {name: own_method})
    with pytest.raises(ConfigurationError) as refused:
        type("Own", (mixin, ToyEnv), {}) if mixed_in else type("Own", (ToyEnv,), {name: own_method})
    message = str(refused.value)
    assert (
        f"expected Own to leave alone what TextEnv needs for itself, got its own {name}" in message
    )
    assert ("in Mixin" if mixed_in else "in Own") in message
    assert "a family may override _start, _act, _misread" in message


def test_hooks_and_other_private_names_are_the_subclass_s() -> None:
    class Own(ToyEnv):
        """Has methods and attributes that are called like the state of the base class."""

        def _score(self) -> float:
            return 7.0

        def _task(self, name: str) -> str:
            return name

        def _potential(self) -> float:
            self._observation = self._last_action = self._digest = "mine"
            return self._score()

    env = Own()
    env.reset(options={"task_id": "toy/gold-red"})
    fork = env.snapshot()
    assert env.step("press gold")[4]["score"] == 0.5 and env.potential() == 7.0
    env.restore(fork)
    assert env.last_action is None and env.turn == 0 and env.task.id == "toy/gold-red"
    assert env.step("press gold")[0] == "click . next is red"
    assert env._observation == env._last_action == env._digest == "mine"


def test_a_language_that_turns_would_pass_by_is_refused() -> None:
    class Reader(Language):
        def read(self, action: str) -> Reading:
            return super().read(action.upper())

    env = ToyEnv()
    with pytest.raises(ConfigurationError, match="overrides understand, got Reader"):
        env.language = Reader(env.action_specs, env.language.grammar)
