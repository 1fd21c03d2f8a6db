"""Trails."""

import pytest
from undotrail import NothingToDo, Snapshots, Trail


def add(state, event):
    """Append the name of an event to a text."""
    return state + event.data.get("text", event.kind)


def trail_of(*kinds, **options):
    """A trail whose state is the kinds of its events in a row."""
    trail = Trail(add, "", **options)
    for kind in kinds:
        trail.record(kind)
    return trail


def test_initial_state():
    """Before the first event the state is the initial one."""
    assert trail_of().state == ""


def test_record():
    """Each event changes the state."""
    assert trail_of("a", "b", "c").state == "abc"


def test_record_returns_the_event():
    """Recording returns the event with its number and data."""
    event = trail_of("a").record("b", text="x")
    assert (event.number, event.kind, event.data) == (2, "b", {"text": "x"})


def test_undo():
    """Undoing returns the state before the last event."""
    assert trail_of("a", "b").undo() == "a"


def test_undo_several_steps():
    """Several steps can be undone at once."""
    trail = trail_of("a", "b", "c")
    trail.undo(2)
    assert (trail.state, trail.position) == ("a", 1)


def test_undo_everything():
    """Undoing everything leads to the initial state."""
    assert trail_of("a", "b").undo(2) == ""


def test_undo_too_far():
    """Undoing more steps than there are is refused and changes nothing."""
    trail = trail_of("a")
    with pytest.raises(NothingToDo, match=r"cannot undo 2 steps"):
        trail.undo(2)
    assert trail.state == "a"


def test_redo():
    """What was undone can be done again."""
    trail = trail_of("a", "b", "c")
    trail.undo(2)
    assert (trail.redo(), trail.redo()) == ("ab", "abc")


def test_redo_too_far():
    """Doing again more than was undone is refused."""
    trail = trail_of("a", "b")
    trail.undo()
    with pytest.raises(NothingToDo, match=r"cannot redo 2 steps"):
        trail.redo(2)


def test_can_undo_and_redo():
    """A trail tells whether something can be undone or done again."""
    trail = trail_of("a")
    before = (trail.can_undo, trail.can_redo)
    trail.undo()
    assert (before, (trail.can_undo, trail.can_redo)) == ((True, False), (False, True))


def test_record_after_undo():
    """Recording after an undo drops what was undone."""
    trail = trail_of("a", "b")
    trail.undo()
    trail.record("c")
    assert (trail.state, trail.can_redo, len(trail.log)) == ("ac", False, 2)


def test_state_at():
    """The state after any number of events can be computed."""
    trail = trail_of("a", "b", "c")
    assert [trail.state_at(position) for position in range(4)] == ["", "a", "ab", "abc"]


def test_state_at_after_undo():
    """The state after events that were undone can be computed, too."""
    trail = trail_of("a", "b")
    trail.undo()
    assert trail.state_at(2) == "ab"


@pytest.mark.parametrize("position", [-1, 3])
def test_state_at_beyond(position):
    """The state after more events than there are is an IndexError."""
    with pytest.raises(IndexError, match=f"there are 2 events, not {position}"):
        trail_of("a", "b").state_at(position)


def test_group_is_one_step():
    """Events recorded within a group are undone and done again together."""
    trail = trail_of("a")
    with trail.group():
        trail.record("b")
        trail.record("c")
    assert (trail.undo(), trail.redo()) == ("a", "abc")


def test_groups_beside_each_other():
    """Two groups that follow each other are two steps."""
    trail = trail_of()
    for kinds in ("ab", "cd"):
        with trail.group():
            for kind in kinds:
                trail.record(kind)
    assert (trail.undo(), trail.undo(), trail.redo()) == ("ab", "", "ab")


def test_events_after_a_group():
    """An event recorded after a group is a step of its own."""
    trail = trail_of()
    with trail.group():
        trail.record("a")
    trail.record("b")
    trail.record("c")
    assert trail.undo() == "ab"


def test_error_within_a_group():
    """An error within a group takes back what was recorded in it."""
    trail = trail_of("a", snapshots=Snapshots(1))
    with pytest.raises(ZeroDivisionError), trail.group():
        trail.record("b")
        raise ZeroDivisionError
    assert (trail.state, len(trail.log), trail.snapshots.positions) == ("a", 1, [1])


def test_event_after_an_error_within_a_group():
    """After an error within a group events are no longer grouped."""
    trail = trail_of("a")
    with pytest.raises(ZeroDivisionError), trail.group("label"):
        raise ZeroDivisionError
    event = trail.record("b")
    assert (event.group, event.label) == (0, "")


def test_nested_groups():
    """Groups cannot be nested."""
    trail = trail_of()
    message = "groups cannot be nested"
    with pytest.raises(RuntimeError, match=message), trail.group(), trail.group():
        pass


def test_undo_labels():
    """The steps that can be undone are named by their label or kind, the last one first."""
    trail = trail_of("a")
    with trail.group("paste"):
        trail.record("b")
        trail.record("c")
    trail.record("d")
    trail.undo()
    assert trail.undo_labels() == ["paste", "a"]


def test_marks():
    """A position that was marked can be gone to by its name."""
    trail = trail_of("a")
    trail.mark("draft")
    trail.record("b")
    assert (trail.goto("draft"), trail.position) == ("a", 1)


def test_unknown_mark():
    """Going to a name that no position has is a KeyError."""
    with pytest.raises(KeyError, match=r"draft"):
        trail_of().goto("draft")


def test_marks_of_dropped_events():
    """The marks behind a position are dropped with the events there, that of the position stays."""
    trail = trail_of("a")
    trail.mark("here")
    trail.record("b")
    trail.mark("gone")
    trail.undo()
    trail.record("c")
    assert trail.marks == {"here": 1}


def test_no_branches_by_default():
    """Events that are dropped are not kept unless asked for."""
    trail = trail_of("a")
    trail.undo()
    trail.record("b")
    assert trail.branches == []


def test_branches():
    """On request events that are dropped are kept as a branch."""
    trail = trail_of("a", "b", "c", keep_branches=True)
    trail.undo(2)
    trail.record("d")
    assert [[event.kind for event in branch] for branch in trail.branches] == [["b", "c"]]


def test_switch():
    """Switching to a branch makes its events count and those they replace a branch."""
    trail = trail_of("a", "b", "c", keep_branches=True)
    trail.undo(2)
    trail.record("d")
    assert trail.switch(0) == "abc"
    assert [[event.kind for event in branch] for branch in trail.branches] == [["d"]]


def test_switch_with_snapshots():
    """Switching to a branch forgets remembered states of what it replaces."""
    trail = trail_of("a", "b", keep_branches=True, snapshots=Snapshots(1))
    trail.undo(1)
    trail.record("d")
    assert (trail.switch(0), trail.state_at(2)) == ("ab", "ab")


@pytest.mark.parametrize("branch", [-1, 0])
def test_switch_to_unknown_branch(branch):
    """Switching to a branch that does not exist is an IndexError."""
    with pytest.raises(IndexError, match=f"there are 0 branches, no number {branch}"):
        trail_of("a").switch(branch)


def test_old_snapshots_do_not_count():
    """A state that was remembered before an undo does not count after other events."""
    trail = trail_of("a", "b", snapshots=Snapshots(2))
    trail.undo()
    trail.record("c")
    assert trail.state_at(2) == "ac"


def test_snapshots_save_work():
    """A state far back is computed from the nearest remembered one."""
    calls = []
    trail = Trail(lambda state, event: calls.append(event.number) or state + 1, 0, Snapshots(2))
    for _ in range(5):
        trail.record("x")
    calls.clear()
    assert (trail.state_at(5), calls) == (5, [5])
