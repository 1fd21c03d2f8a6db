"""Definitions as text."""

import pytest
from statewalk import Definition, DefinitionError
from statewalk.text import dumps, loads


def test_loads_several_sources():
    """Several sources in front of an arrow are separated by commas."""
    definition = loads("start: a\na, b --go--> c")
    assert [(t.source, t.event, t.target) for t in definition.transitions] == [
        ("a", "go", "c"),
        ("b", "go", "c"),
    ]


def test_loads_star():
    """A star in front of an arrow stands for any state."""
    assert loads("start: a\n* --go--> c").transitions[0].source == "*"


def test_comments_and_empty_lines():
    """Comments and empty lines of a text do not count."""
    assert loads("# door\n\nstart: a  # here\n").initial == "a"


def test_final_states():
    """The line of final states may come before the transitions that lead to them."""
    assert loads("start: a\nfinal: b, c\na --go--> b").final == {"b", "c"}


def test_start_twice():
    """A second start line is refused with its number."""
    with pytest.raises(DefinitionError, match=r"line 2: the start is given twice"):
        loads("start: a\nstart: b")


def test_start_not_first():
    """A transition before the start line is refused."""
    with pytest.raises(DefinitionError, match=r"line 1: the first line is"):
        loads("a --go--> b\nstart: a")


def test_start_missing():
    """A text without a start line is refused."""
    with pytest.raises(DefinitionError, match=r"there is no line"):
        loads("# nothing")


@pytest.mark.parametrize("line", ["a -> b", "a --go--> *", "a --go-- b"])
def test_unreadable_line(line):
    """A line that is no transition is refused with its number."""
    with pytest.raises(DefinitionError, match=r"line 3: cannot read"):
        loads("start: a\n\n" + line)


def test_dumps():
    """A definition is written with its start, its final states and one transition per line."""
    definition = Definition("a")
    definition.add("go", "a", "b")
    definition.add("stop", "*", "c", guard=lambda context: True)
    definition.finish("c", "b")
    assert dumps(definition) == ("start: a\nfinal: b, c\na --go--> b\n* --stop--> c  # guarded\n")


def test_dumps_without_final_states():
    """A definition without final states is written without a line for them."""
    assert dumps(loads("start: a\na --x--> b")) == "start: a\na --x--> b\n"
