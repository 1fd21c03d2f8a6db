"""The player of the long task knows what its prompt says, and nothing else."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from agentgym.support.random_stream import Stream

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
OPENING = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, "
    "a cabinet 1, and a diningtable 1.\n\nYour task is to: put two dishsponge in diningtable."
)
CARRIES = (
    ("go to cabinet 2", "You arrive at cabinet 2. The cabinet 2 is closed."),
    ("open cabinet 2", "You open the cabinet 2. The cabinet 2 is open. In it, you see an egg 1, "
     "and a dishsponge 3."),
    ("take dishsponge 3 from cabinet 2", "You pick up the dishsponge 3 from the cabinet 2."),
)  # fmt: skip


@pytest.fixture
def long_task(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, imported as Python does that runs it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("long_task")


def prompt_of(*turns: tuple[str, str]) -> str:
    """A prompt of SmolLM2 with some turns after the opening."""
    messages = [("system", "Answer."), ("user", OPENING)]
    messages += [pair for a, o in turns for pair in (("assistant", a), ("user", o))]
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)


def test_the_player_acts_on_what_it_reads(long_task: ModuleType) -> None:
    expected = ["open cabinet 2", "take dishsponge 3 from cabinet 2", "go to diningtable 1"]
    for count, action in enumerate(expected, 1):
        memory = long_task.Memory(prompt_of(*CARRIES[:count]))
        assert memory.next_action(Stream("one")) == action
    arrived = ("go to diningtable 1", "You arrive at diningtable 1. On the diningtable 1, you see "
               "nothing.")  # fmt: skip
    memory = long_task.Memory(prompt_of(*CARRIES, arrived))
    assert memory.next_action(Stream("one")) == "move dishsponge 3 to diningtable 1"


@pytest.mark.parametrize("kept", ["summarise {}", "your notes:\n1. {}"])
def test_what_it_writes_down_replaces_the_turns(long_task: ModuleType, kept: str) -> None:
    memory = long_task.Memory(prompt_of(*CARRIES))
    written = kept.format(memory.words())
    newest = "You pick up the dishsponge 3 from the cabinet 2."
    turn = (written, newest) if kept.startswith("summarise") else ("recall", written)
    reread = long_task.Memory(prompt_of(turn))
    assert (reread.searched, reread.seen, reread.held) == (
        memory.searched, memory.seen, memory.held,
    )  # fmt: skip
    assert reread.next_action(Stream("one")) == "go to diningtable 1"


def test_without_them_it_looks_again(long_task: ModuleType) -> None:
    chosen = {long_task.Memory(prompt_of()).next_action(Stream(f"{i}")) for i in range(40)}
    assert chosen == {"go to cabinet 1", "go to cabinet 2", "go to diningtable 1"}


def test_ids_that_differ_are_counted(long_task: ModuleType) -> None:
    assert long_task.count_differing([1, 2, 3], [1, 5]) == 2
