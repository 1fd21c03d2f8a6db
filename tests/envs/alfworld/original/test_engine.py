"""What reaches the real engine; needs none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.alfworld.original.engine import LONGEST_COMMAND, one_line

ADMISSIBLE = ("look", "go to desk 1", "take mug 1 from desk 1", "use desklamp 1")
near = st.builds(
    lambda command, place, more: command[:place] + more + command[place:],
    st.sampled_from(ADMISSIBLE),
    st.integers(0, 30),
    st.text(max_size=3) | st.sampled_from(["\n", "\0", "\\", " " * 5000, "\ud800", "\u00a0"]),
)


@given(st.text() | near)
def test_a_command_is_one_short_printable_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() and len(line) <= LONGEST_COMMAND
    assert one_line(line) == line


@given(st.text() | near)
def test_cleaning_makes_nothing_admissible_and_spoils_nothing(text: str) -> None:
    # The engine itself strips a command and looks it up.
    assert (one_line(text) in ADMISSIBLE) == (text.strip() in ADMISSIBLE)


def test_what_is_cut_cannot_become_admissible() -> None:
    assert one_line("look" + " " * LONGEST_COMMAND + "x") not in ADMISSIBLE
