"""Inform texts with brackets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.inform.brackets import compile_text, paragraphs, plain_text, say
from agentgym.errors import DataError


@dataclass
class TextContext:
    """A view of two things."""

    states: dict[str, str] = field(default_factory=dict)
    inside: dict[str, list[str]] = field(default_factory=dict)

    def state_of(self, entity: str, state: str) -> bool:
        """Locked things are closed too."""
        state_now = self.states.get(entity, "closed")
        if state == "closed":
            return state_now != "open"
        return state_now != "locked" if state == "unlocked" else state_now == state

    def contents(self, holder: str) -> list[str]:
        """Return what a thing holds."""
        return self.inside.get(holder, [])

    def listing(self, entities: list[str], article: str) -> str:
        """List names."""
        return " & ".join(f"{article} {entity}".strip() for entity in entities)

    def printed_name(self, entity: str) -> str:
        """Return a name."""
        return f"<{entity}>"


LITERAL = st.text(alphabet="ab ,.!", max_size=6)
CONDITION = st.sampled_from(
    ["c_0 is open", "c_0 is closed", "c_0 is locked", "open", "locked", "there is something in the "
     "c_0", "there is nothing on the s_0", "the c_0 contains nothing", "c_0 is open and there is "
     "something in the c_0"]
)  # fmt: skip
STAGES = st.builds(
    TextContext,
    st.fixed_dictionaries({
        name: st.sampled_from(["open", "closed", "locked"]) for name in ("c_0", "s_0")
    }),
    st.fixed_dictionaries({
        name: st.lists(st.sampled_from("xyz"), max_size=2) for name in ("c_0", "s_0")
    }),
)  # fmt: skip


def holds(condition: str, context: TextContext) -> bool:
    """Judge a condition of a thing ``c_0``, another way than the module does."""
    if " and " in condition:
        return all(holds(part, context) for part in condition.split(" and "))
    if "something" in condition or "nothing" in condition:
        name = "s_0" if "s_0" in condition else "c_0"
        return bool(context.inside[name]) == ("something" in condition)
    state, entity_state = condition.split()[-1], context.states["c_0"]
    return entity_state == state or (state == "closed" and entity_state == "locked")


@st.composite
def texts(draw: st.DrawFn, depth: int = 2) -> tuple[str, list[Any]]:
    """Draw a source and its parts: literals, or (conditions, branches)."""
    source, parts = draw(LITERAL), list[Any]()
    parts.append(source)
    for _ in range(draw(st.integers(0, 2)) if depth else 0):
        conditions = draw(st.lists(CONDITION, min_size=1, max_size=3))
        branches = [draw(texts(depth=depth - 1)) for _ in conditions]
        for place, (condition, branch) in enumerate(zip(conditions, branches, strict=True)):
            source += f"[{'else if' if place else 'if'} {condition}]{branch[0]}"
        last = draw(st.none() | texts(depth=depth - 1))
        source += f"[otherwise]{last[0]}[end if]" if last else "[end if]"
        parts.append((conditions, branches, last))
        literal = draw(LITERAL)
        source += literal
        parts.append(literal)
    return source, parts


def expected(parts: list[Any], context: TextContext) -> str:
    """Say parts the plain way."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        conditions, branches, last = part
        branch = next((b for c, b in zip(conditions, branches, strict=True) if holds(c, context)),
                      last)  # fmt: skip
        text += expected(branch[1], context) if branch else ""
    return text


@settings(deadline=None)
@given(texts(), STAGES)
def test_nested_conditions(text: tuple[str, list[Any]], context: TextContext) -> None:
    """The first branch that holds is said, else the last, at any depth."""
    source, parts = text
    assert say(compile_text(source), context, "c_0") == expected(parts, context)


@settings(deadline=None)
@given(LITERAL)
def test_literals_stay(text: str) -> None:
    """A text without brackets and apostrophes is said as it stands."""
    assert say(compile_text(text), TextContext()) == text


@pytest.mark.parametrize(
    ("source", "expected_text"),
    [
        ("[a list of things in the c_0]", "a x & a y"),
        ("[the list of things on the c_0]", "the x & the y"),
        ("[list of things in c_0]", "x & y"),
        ("[is-are a list of things in the c_0]", "are a x & a y"),
        ("one[line break]two", "one\ntwo"),
        ("The [noun] is shaky.", "The <c_0> is shaky."),
        ("a [if closed]lid", "a lid"),
    ],
)
def test_substitutions(source: str, expected_text: str) -> None:
    """The substitutions that TextWorld's grammars use."""
    context = TextContext(inside={"c_0": ["x", "y"]})
    assert say(compile_text(source), context, "c_0") == expected_text


@pytest.mark.parametrize(
    "source",
    ["[if c_0 is green]x[end if]", "[the time of day]", "x[end if]", "a [ b"],
)
def test_what_is_not_textworlds_is_refused(source: str) -> None:
    """An unknown or unbalanced bracket is an error of the game's data."""
    with pytest.raises(DataError):
        compile_text(source)


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("It's the washroom's", "It's the washroom's"),
        ("'quoted'", '"quoted"'),
        ("the boys' room", 'the boys" room'),
        ("'Cooking: A Modern Approach (3rd Ed.)'", '"Cooking: A Modern Approach (3rd Ed.)"'),
    ],
)
def test_apostrophes(source: str, printed: str) -> None:
    """Inform prints an apostrophe at the edge of a word as a double quotation mark."""
    assert plain_text(source) == printed


def test_paragraphs() -> None:
    """In a room's description one line break is a space and two are a paragraph."""
    assert paragraphs("a.\n\n b\nc \n d\n\n\n\ne") == "a.\n\nb c d\n\ne"
