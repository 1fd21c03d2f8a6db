"""Definitions."""

import pytest
from statewalk import Definition, DefinitionError


@pytest.mark.parametrize("initial", ["", "*"])
def test_initial_state_must_be_a_state(initial):
    """A definition cannot begin in a state without a name or in any state."""
    with pytest.raises(DefinitionError, match=r"cannot begin in"):
        Definition(initial)


def test_several_sources_at_once():
    """One call of add with a list of sources adds a transition for each of them."""
    definition = Definition("a")
    definition.add("go", ["a", "b"], "c")
    assert [t.source for t in definition.transitions] == ["a", "b"]


def test_target_is_a_single_state():
    """The star is refused as the target of a transition."""
    with pytest.raises(DefinitionError, match=r"single state"):
        Definition("a").add("go", "a", "*")


def test_same_event_twice_without_guard():
    """A second transition for an event and a state that are already taken is refused."""
    definition = Definition("a")
    definition.add("go", "a", "b")
    with pytest.raises(DefinitionError, match=r"already taken"):
        definition.add("go", "a", "c")


def test_same_event_after_a_guarded_one():
    """A transition may be added behind a guarded one for the same event and state."""
    definition = Definition("a")
    definition.add("go", "a", "b", guard=lambda context: False)
    definition.add("go", "a", "c")
    assert len(definition.transitions) == 2


def test_same_event_from_another_state():
    """The same event may lead out of different states."""
    definition = Definition("a")
    definition.add("go", "a", "b")
    definition.add("go", "b", "a")
    assert len(definition.transitions) == 2


def test_final_state_with_a_way_out():
    """A state that a transition leaves cannot be declared final."""
    definition = Definition("a")
    definition.add("go", "a", "b")
    with pytest.raises(DefinitionError, match=r"'a' cannot be final"):
        definition.finish("a")


def test_no_way_out_of_a_final_state():
    """A transition that leaves a final state is refused."""
    definition = Definition("a")
    definition.finish("b")
    with pytest.raises(DefinitionError, match=r"'b' is final"):
        definition.add("go", "b", "a")


def test_states_in_order_of_mention():
    """The states of a definition come with the initial one first and then as they are mentioned."""
    definition = Definition("m")
    definition.add("x", "*", "z")
    definition.add("y", "b", "m")
    definition.finish("f")
    assert definition.states == ["m", "z", "b", "f"]


def test_events_once():
    """Every event of a definition is listed once, in the order of mention."""
    definition = Definition("a")
    definition.add("go", "a", "b")
    definition.add("back", "b", "a")
    definition.add("go", "b", "c")
    assert definition.events == ["go", "back"]


def test_outgoing_named_before_any():
    """Transitions from a named state are tried before those from any state."""
    definition = Definition("a")
    definition.add("go", "*", "x")
    definition.add("go", "a", "y")
    assert [t.target for t in definition.outgoing("a")] == ["y", "x"]


def test_outgoing_of_a_final_state():
    """Not even a transition from any state leaves a final state."""
    definition = Definition("a")
    definition.add("go", "*", "b")
    definition.finish("b")
    assert definition.outgoing("b") == []
