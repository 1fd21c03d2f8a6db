"""The real engine behind its guards."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.alfworld.original import package
from agentgym.envs.alfworld.original.engine import EngineBusy, LocalEngine
from agentgym.envs.alfworld.original.session import OriginalSession, open_original
from agentgym.errors import DataError, EnvFailure
from tests.envs.alfworld.tiny import IMPOSSIBLE, INTRO, PLAN, PROBLEM, TINY, needs_alfworld

pytestmark = needs_alfworld
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def session() -> Iterator[OriginalSession]:
    """The tiny game in this process."""
    with open_original(TINY, worker=False) as opened:
        yield opened


def run(code: str, **environment: str) -> str:
    """Run a program in a fresh interpreter; return what it prints."""
    setting = {k: v for k, v in os.environ.items() if k != "ALFWORLD_DATA"} | environment
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=setting)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


OPEN = (
    "import os, sys; from tests.envs.alfworld.tiny import TINY; "
    "from agentgym.envs.alfworld.original.session import open_original; "
)


def test_a_game_is_won(session: OriginalSession) -> None:
    assert session.intro() == f"{INTRO}put a mug in drawer."
    assert session.admissible() == ("go to desk 1", "go to drawer 1", "help", "inventory", "look")
    assert not session.won and not session.done
    assert session.step("take mug 1 from desk 1") == ("Nothing happens.", 0.0, False)
    answers = [session.step(command) for command in PLAN]
    assert answers[0][0] == "You arrive at desk 1. On the desk 1, you see a mug 1."
    assert answers[-1] == ("You move the mug 1 to the drawer 1.", 1.0, True)
    assert session.won and session.done and type(answers[-1][1]) is float


def test_the_intro_begins_anew(session: OriginalSession) -> None:
    first = session.intro()
    session.step(PLAN[0])
    assert PLAN[1] in session.admissible()
    assert session.intro() == first and PLAN[1] not in session.admissible()


def test_the_sentence_is_what_the_grammar_would_say(session: OriginalSession) -> None:
    domain, grammar = package.package_texts()
    engine = package.original_engine()
    grammar_text = grammar.replace("UNKNOWN GOAL.", TINY.goal)
    with package.undisturbed():
        engine.load({"pddl_domain": domain, "grammar": grammar_text, "pddl_problem": PROBLEM})
        assert engine.reset().feedback == session.intro()


def test_a_sentence_is_never_run(session: OriginalSession, tmp_path: Path) -> None:
    sentence = f"""do {{open('{tmp_path}/made', 'w')}} #look.feedback# [x|y] "\\n"; \\ 'z' <a>."""
    assert session.start(replace(TINY, goal=sentence)) == INTRO + sentence
    assert not any(tmp_path.iterdir())
    assert session.step("look")[0].startswith("You are in the middle of a room.")


def test_odd_commands_do_nothing(session: OriginalSession) -> None:
    for command in ("", " ", "LOOK", "go  to desk 1", "\\x", "look\nlook", "\0", "\ud800", "\u5e8a",
                    "x" * 100_000, "{1/0}", "#look.feedback#"):  # fmt: skip
        assert session.step(command) == ("Nothing happens.", 0.0, False)
    assert session.step("  look\n")[0].startswith("You are in the middle")


@pytest.mark.parametrize("problem", ["", "(define", PROBLEM.replace("Desk_bar_1 loc", "x loc"),
                                     PROBLEM.replace("Mug_bar_1 MugType", "Mug_bar_1 CupType"),
                                     IMPOSSIBLE.problem])  # fmt: skip
def test_a_game_that_cannot_be_loaded_costs_nothing_else(
    problem: str, session: OriginalSession
) -> None:
    argv, stdout = sys.argv, sys.stdout
    with pytest.raises(DataError, match="expected a game that ALFWorld's engine can load"):
        session.start(replace(TINY, problem=problem))
    assert sys.argv is argv and sys.stdout is stdout
    with pytest.raises(EnvFailure, match="expected a running game"):
        session.step("look")
    assert session.start(TINY) == f"{INTRO}put a mug in drawer."


def test_the_process_is_left_as_it_was(session: OriginalSession) -> None:
    argv, stdout, state = sys.argv, sys.stdout, random.getstate()
    session.start(TINY)
    session.step("look")
    assert sys.argv is argv and sys.stdout is stdout and random.getstate() == state


def test_importing_leaves_folder_and_variable_alone(tmp_path: Path) -> None:
    code = (
        f"{OPEN} open_original(TINY); import alfworld.info; heavy = ('torch', 'cv2', 'spacy'); "
        "print(os.environ.get('ALFWORLD_DATA'), alfworld.info.ALFWORLD_DATA, alfworld.ALFWORLD_DATA"
        ", [m for m in heavy if m in sys.modules])"
    )
    home = str(tmp_path)
    default = f"{home}/.cache/alfworld"
    assert run(code, HOME=home) == f"None {default} {default} []"
    folder = f"{home}/own"
    assert run(code, HOME=home, ALFWORLD_DATA=folder) == f"{folder} {folder} {folder} []"
    assert not any(tmp_path.iterdir())


def test_importing_the_module_imports_no_package() -> None:
    heavy = "[m for m in ('alfworld', 'textworld', 'fast_downward') if m in sys.modules]"
    assert run(f"{OPEN} print({heavy})") == "[]"


def test_an_absent_package_is_named() -> None:
    code = (
        f"{OPEN} sys.modules['alfworld'] = None\n"
        "try: open_original(TINY)\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    assert 'pip install -e ".[alfworld]"' in run(code)


def test_a_grammar_finds_its_words_on_any_python(
    session: OriginalSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    textgen = sys.modules["textworld.envs.pddl.textgen"]
    monkeypatch.setattr(textgen.EvalSymbol, "derive", textgen.EvalSymbol.derive)
    package.name_what_is_derived(textgen)
    assert textgen.EvalSymbol.derive.__module__ == package.__name__
    session.start(TINY)
    assert session.intro() == f"{INTRO}put a mug in drawer."
    mug = {"variables": {"mug": "a mug", "json": "shadows the module", "self": "does not"}}
    derivations = [
        textgen.EvalSymbol(words, mug).derive() for words in ("mug", "json", "self.expression")
    ]
    assert [str(words[0]) for words in derivations] == [
        "a mug",
        "shadows the module",
        "self.expression",
    ]


def test_a_process_has_one_engine_and_one_holder(session: OriginalSession) -> None:
    with pytest.raises(EngineBusy, match="close that one"):
        LocalEngine()
    with pytest.raises(EngineBusy):
        open_original(TINY, worker=False)
    session.close()
    session.close()
    with pytest.raises(EnvFailure, match="closed"):
        session.step("look")
    with pytest.raises(EnvFailure, match="closed"):
        session.start(TINY)
    dropped = open_original(TINY, worker=False)
    assert dropped.intro().startswith(INTRO)
    del dropped
    gc.collect()
    LocalEngine().close()


def test_a_failed_opening_frees_the_engine() -> None:
    with pytest.raises(DataError):
        open_original(IMPOSSIBLE, worker=False)
    open_original(TINY, worker=False).close()


def test_a_snapshot_is_played_again(session: OriginalSession) -> None:
    session.step("nonsense")
    for command in PLAN[:2]:
        session.step(command)
    fork, text = pickle.loads(pickle.dumps(session.snapshot())), session.state_text()
    assert fork == (TINY, PLAN[:2])
    admissible = session.admissible()
    session.step("go to drawer 1")
    assert session.state_text() != text
    session.restore(fork)
    assert (session.state_text(), session.admissible()) == (text, admissible)
    session.start(replace(TINY, id="another"))
    session.restore(fork)
    assert (session.state_text(), session.game) == (text, TINY)
    assert [session.step(command) for command in PLAN[2:]][-1][1:] == (1.0, True)
    session.restore((TINY, PLAN))
    assert session.won


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_goes_on_alone(copier: object, session: OriginalSession) -> None:
    session.step(PLAN[0])
    assert callable(copier)
    with copier(session) as other_copy:
        assert other_copy.state_text() == session.state_text()
        other_copy.step(PLAN[1])
        assert PLAN[1] in session.admissible() and PLAN[1] not in other_copy.admissible()
