"""What info tells, and what it does not: reasons, keys, and actions in every grammar."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.actions import GRAMMARS
from agentgym.envs.alfworld.engine.refusals import refusal
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.engine.text import USAGE
from agentgym.envs.alfworld.env import ALFWorldEnv
from tests.envs.alfworld.data import shared_pack
from tests.envs.alfworld.engine.test_session import GALLEY
from tests.envs.alfworld.houses import house

WORDS = [word for usage, _ in USAGE for word in usage.split() if word.isalpha()]
WORDS += ["apple", "knife", "plate", "desklamp", "fridge", "microwave", "countertop", "1", "2"]
WALK = ("go to countertop 2", "take apple 2 from countertop 2")
REASONS = [
    ((), "", "there is no command ''; the command help lists all commands"),
    ((), "dance on the table", "there is no command 'dance'; the command help lists all commands"),
    ((), "x" * 9000, "no command is that long; the command help lists all commands"),
    ((), "GO TO  Fridge 1", "write 'go to fridge 1': small letters, one blank between words"),
    ((), "go fridge 1", "write 'go to (receptacle)'"),
    ((), "take apple 1", "write 'take (object) from (receptacle)'"),
    ((), "look around", "write 'look'"),
    ((), "open", "write 'open (receptacle)'"),
    ((), "help me", "write 'help'"),
    ((), "go to moon 1", "there is no receptacle 'moon 1' in this room"),
    ((), "open fridge 1", "you are not at fridge 1; go to it first"),
    ((), "take apple 1 from fridge 1", "you are not at fridge 1; go to it first"),
    ((), "examine fridge 1", "you are not at fridge 1; go to it first"),
    ((), "examine apple 1", "there is no 'apple 1' to be seen here"),
    ((), "use desklamp 1", "there is no 'desklamp 1' to be seen here"),
    (("go to fridge 1",), "go to fridge 1", "you are at fridge 1 already"),
    (("go to fridge 1",), "open fridge 1", "fridge 1 is open already"),
    (("go to fridge 1", "close fridge 1"), "close fridge 1", "fridge 1 is closed already"),
    (("go to fridge 1",), "take apple 1 from fridge 1", "there is no 'apple 1' in or on fridge 1"),
    (("go to microwave 1",), "take apple 1 from microwave 1", "microwave 1 is closed"),
    (("go to microwave 1",), "take sofa 1 from microwave 1", "microwave 1 is closed"),
    (("go to microwave 1", "open microwave 1"), "take desklamp 1 from microwave 1",
     "desklamp 1 cannot be picked up"),
    (("go to countertop 2",), "open countertop 2", "countertop 2 has no door"),
    (("go to countertop 2",), "close countertop 2", "countertop 2 has no door"),
    (("go to countertop 2",), "examine apple 2",
     "apple 2 is not in your hand; only what is carried can be examined, and receptacles"),
    (("go to countertop 2",), "use apple 2", "apple 2 cannot be switched on"),
    (("go to countertop 2",), "move apple 2 to countertop 2",
     "you have no 'apple 2' in hand; you are not carrying anything"),
    (WALK, "take knife 1 from countertop 2", "your hand is full: you are carrying apple 2"),
    (WALK, "move knife 1 to countertop 2",
     "you have no 'knife 1' in hand; you are carrying apple 2"),
    (WALK, "use apple 2",
     "apple 2 is in your hand; only what stands here can be switched on"),
    (WALK, "heat apple 2 with countertop 2", "countertop 2 is not there to heat things with"),
    (WALK, "heat apple 2 with microwave 1", "you are not at microwave 1; go to it first"),
    (WALK, "slice plate 1 with apple 2", "nothing can be sliced with apple 2"),
    ((*WALK, "go to microwave 1"), "move apple 2 to microwave 1", "microwave 1 is closed"),
    ((*WALK, "go to microwave 1", "open microwave 1"), "move apple 2 to microwave 1",
     "apple 2 cannot be put in or on microwave 1"),
    (("go to countertop 2", "take plate 1 from sinkbasinbasin 1"),
     "clean plate 1 with sinkbasinbasin 1", "plate 1 cannot be treated so"),
    (("go to countertop 2", "take knife 1 from countertop 2"), "slice plate 1 with knife 1",
     "plate 1 cannot be sliced"),
    (("go to countertop 2", "take knife 1 from countertop 2"), "slice apple 1 with knife 1",
     "there is no 'apple 1' to be seen here"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "command", "reason"), REASONS)
def test_why_a_command_does_nothing(before: tuple[str, ...], command: str, reason: str) -> None:
    session = HouseholdSession(house(GALLEY))
    for earlier in before:
        assert session.find(earlier) is not None, earlier
        session.step(earlier)
    assert session.find(command) is None
    assert refusal(session, command) == reason


@settings(deadline=None)
@given(
    st.integers(0, 40),
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(WORDS),
        max_size=7,
    ).map(" ".join),
)  # fmt: skip
def test_every_refused_command_has_a_reason_of_one_line(steps: int, command: str) -> None:
    rng = random.Random(steps)
    session = HouseholdSession(house(GALLEY))
    for _ in range(steps):
        session.step(rng.choice(session.admissible()))
    if session.find(command) is None:
        reason = refusal(session, command)
        assert reason and "\n" not in reason and reason != "it does nothing now"


def test_no_reason_tells_what_is_behind_a_door() -> None:
    """Two kitchens that differ in a closed microwave only cannot be told apart by reasons."""
    empty = GALLEY.replace("(inReceptacle Apple_bar_2 Microwave_bar_1)", "").replace(
        "(inReceptacle DeskLamp_bar_1 Microwave_bar_1)", ""
    )
    sessions = [HouseholdSession(house(GALLEY)), HouseholdSession(house(empty))]
    objects = ("apple 1", "desklamp 1", "sofa 1")
    commands = [f"{verb} {entity}" for entity in objects for verb in ("examine", "use")]
    commands += [f"take {entity} from microwave 1" for entity in objects]
    commands += [f"slice {entity} with knife 1" for entity in objects]
    for walk in ("look", "go to microwave 1"):
        for session in sessions:
            session.step(walk)
        for command in commands:
            if sessions[0].find(command) is None:
                refusals = {refusal(session, command) for session in sessions}
                assert len(refusals) == 1, refusals


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_the_reason_stands_in_info_and_the_observation_is_the_original_s(grammar: str) -> None:
    env = ALFWorldEnv(grammar=grammar, difficulty="easy")
    _, info = env.reset(seed=0)
    assert info["details"] == {}
    name = env.session.native.household.names[0]
    call = env.language.write(f"open {name}")
    observation, _, _, _, info = env.step(call)
    assert observation == "Nothing happens." and not info["action_valid"]
    assert info["details"] == {"reason": f"you are not at {name}; go to it first"}
    assert env.step(env.language.write("look"))[-1]["details"] == {}


def states(seed: int, env: ALFWorldEnv, steps: int) -> Any:
    """Yield infos along a random walk with expert steps in between."""
    rng = random.Random(seed)
    _, info = env.reset(options={"split": env.split, "index": seed % env.tasks.len(env.split)})
    for _ in range(steps):
        yield info
        action = rng.choice(info["admissible_actions"])
        if rng.random() < 0.5:
            action = env.demonstrator_action() or action
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return


def check_grammars(env: ALFWorldEnv, seeds: range) -> None:
    """Every admissible action is read as itself in every grammar."""
    languages = [type(env.language)(env.action_specs, grammar) for grammar in GRAMMARS]
    commands = {a for seed in seeds for info in states(seed, env, 25)
                for a in info["admissible_actions"]}  # fmt: skip
    assert len({command.split()[0] for command in commands}) >= 10
    for command in sorted(commands):
        for language in languages:
            assert language.read(language.write(command)) == (command, "", ""), language.grammar


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_every_admissible_action_can_be_typed_in_every_grammar(difficulty: str) -> None:
    check_grammars(ALFWorldEnv(difficulty=difficulty), range(24))


def test_and_those_of_official_games() -> None:
    env = ALFWorldEnv(data=str(shared_pack("valid_seen.json.gz")))
    check_grammars(env, range(0, 140, 5))


def test_equal_states_have_equal_keys_whatever_led_to_them() -> None:
    env = ALFWorldEnv(difficulty="medium")
    for seed in range(8):
        state_of_key: dict[str, Any] = {}
        for info in states(seed, env, 30):
            state = env.session.native.state
            assert state_of_key.setdefault(info["state_key"], state) == state
            fork = pickle.loads(pickle.dumps(env.snapshot()))
            env.restore(fork)  # equal, but made of other objects
            assert env.step("help")[-1]["state_key"] == info["state_key"]
            env.restore(fork)
        assert len(set(state_of_key.values())) == len(state_of_key) > 3


def test_a_key_is_of_one_task() -> None:
    env = ALFWorldEnv(difficulty="medium")
    keys = [env.reset(options={"split": "train", "index": n})[1]["state_key"] for n in range(40)]
    assert len(set(keys)) == 40


def test_no_key_tells_what_was_not_touched() -> None:
    """Kitchens that differ in places where nobody has been give the same text to be hashed."""
    other_galley = GALLEY.replace("(inReceptacle Plate_bar_1 SinkBasin_bar_1)", "")
    other_galley = other_galley.replace("(inReceptacle Apple_bar_2 Microwave_bar_1)",
                          "(inReceptacle Apple_bar_2 Fridge_bar_1)")  # fmt: skip
    sessions = [HouseholdSession(house(GALLEY)), HouseholdSession(house(other_galley))]
    moves = ("move apple 2 to sinkbasinbasin 1", "take knife 1 from countertop 2")
    for command in ("look", *WALK, *moves):
        for session in sessions:
            session.step(command)
        assert sessions[0].state_text() == sessions[1].state_text()
    assert sessions[0].state != sessions[1].state
