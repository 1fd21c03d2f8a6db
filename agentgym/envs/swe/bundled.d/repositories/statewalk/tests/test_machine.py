"""Machines."""

import pytest
from statewalk import Definition, Machine, NotAllowed, Step


def turnstile():
    """A gate that takes coins."""
    definition = Definition("locked")
    definition.add("coin", "locked", "open", guard=lambda context: context.get("value", 1) >= 1)
    definition.add("push", "open", "locked", action=lambda context: context.update(passed=True))
    definition.add("kick", "*", "broken")
    definition.finish("broken")
    return definition


def test_begins_in_the_initial_state():
    """A new machine is in the initial state of its definition."""
    assert Machine(turnstile()).state == "locked"


def test_send_returns_the_new_state():
    """Sending an event returns the state that is reached."""
    assert Machine(turnstile()).send("coin") == "open"


def test_any_source():
    """A transition from any state can be taken from the initial state."""
    assert Machine(turnstile()).send("kick") == "broken"


def test_unknown_event():
    """Sending an event that the definition does not have says so."""
    with pytest.raises(NotAllowed, match=r"'fly' is not allowed in state .locked.: there is"):
        Machine(turnstile()).send("fly")


def test_event_of_another_state():
    """Sending an event that does not leave the present state says so."""
    with pytest.raises(NotAllowed, match=r"no transition leaves this state"):
        Machine(turnstile()).send("push")


def test_guard_objects():
    """An event whose guard objects is refused with that reason."""
    with pytest.raises(NotAllowed, match=r"a guard objects"):
        Machine(turnstile()).send("coin", value=0)


def test_final_state_refuses():
    """Nothing can be sent to a machine in a final state."""
    machine = Machine(turnstile())
    machine.send("kick")
    with pytest.raises(NotAllowed, match=r"the state is final"):
        machine.send("kick")


def test_error_carries_state_and_event():
    """The error of a refused event has the state and the event as attributes."""
    with pytest.raises(NotAllowed) as info:
        Machine(turnstile()).send("push")
    assert (info.value.state, info.value.event) == ("locked", "push")


def test_refused_values_are_taken_back():
    """Values sent with a refused event are not left in the context."""
    machine = Machine(turnstile(), {"value": 5})
    with pytest.raises(NotAllowed):
        machine.send("coin", value=0, extra=1)
    assert machine.context == {"value": 5}


def test_accepted_values_stay():
    """Values sent with an accepted event stay in the context."""
    machine = Machine(turnstile())
    machine.send("coin", value=2)
    assert machine.context == {"value": 2}


def test_context_is_shared():
    """The machine works on the very dictionary it is given, even if that is empty."""
    context = {}
    Machine(turnstile(), context).run("coin", "push")
    assert context == {"passed": True}


def test_first_guard_that_agrees():
    """Of several transitions for an event the first whose guard agrees is taken."""
    definition = Definition("a")
    definition.add("go", "a", "b", guard=lambda context: context["n"] > 10)
    definition.add("go", "a", "c", guard=lambda context: context["n"] > 5)
    definition.add("go", "a", "d")
    assert Machine(definition, {"n": 7}).send("go") == "c"


def test_order_of_actions():
    """Functions are called in the order: leaving, transition, entering."""
    definition = Definition("a")
    definition.add("go", "a", "b", action=lambda context: context["log"].append("go"))
    definition.on_enter("b", lambda context: context["log"].append("enter b"))
    definition.on_leave("a", lambda context: context["log"].append("leave a"))
    machine = Machine(definition, {"log": []})
    machine.send("go")
    assert machine.context["log"] == ["leave a", "go", "enter b"]


def test_two_functions_for_a_state():
    """Several functions attached to entering a state are all called."""
    definition = Definition("a")
    definition.add("go", "a", "b")
    definition.on_enter("b", lambda context: context.update(one=1))
    definition.on_enter("b", lambda context: context.update(two=2))
    machine = Machine(definition)
    machine.send("go")
    assert machine.context == {"one": 1, "two": 2}


def test_can():
    """A machine tells which events it would accept without taking them."""
    machine = Machine(turnstile())
    assert (machine.can("coin"), machine.can("push"), machine.state) == (True, False, "locked")


def test_allowed_in_order_of_definition():
    """The allowed events are listed in the order of their definition."""
    machine = Machine(turnstile())
    machine.send("coin")
    assert machine.allowed() == ["push", "kick"]


def test_done():
    """A machine is done in a final state and not before."""
    machine = Machine(turnstile())
    before = machine.done
    machine.send("kick")
    assert (before, machine.done) == (False, True)


def test_run_stops_at_a_refused_event():
    """Running several events stops quietly at the first that is refused."""
    assert Machine(turnstile()).run("coin", "coin", "push") == "open"


def test_reset():
    """After a reset the machine is in its initial state without history and with its context."""
    machine = Machine(turnstile(), {"value": 3})
    machine.send("coin")
    machine.reset()
    assert (machine.state, machine.history, machine.context) == ("locked", [], {"value": 3})


def test_history():
    """The history lists event, source and target of every step, oldest first."""
    machine = Machine(turnstile())
    machine.run("coin", "push")
    assert machine.history == [Step("coin", "locked", "open"), Step("push", "open", "locked")]


def test_history_is_limited():
    """A history with a limit keeps the latest steps."""
    machine = Machine(turnstile(), limit=2)
    machine.run("coin", "push", "kick")
    assert [step.event for step in machine.history] == ["push", "kick"]


def test_limit_of_zero():
    """A machine with a limit of zero remembers nothing."""
    machine = Machine(turnstile(), limit=0)
    machine.send("coin")
    assert machine.history == []


def test_negative_limit():
    """A negative limit is refused."""
    with pytest.raises(ValueError, match=r"limit cannot be negative"):
        Machine(turnstile(), limit=-1)


def test_visits():
    """The visits of a state are the steps that led to it."""
    machine = Machine(turnstile())
    machine.run("coin", "push", "coin")
    assert (machine.visits("open"), machine.visits("locked")) == (2, 1)


def test_back_restores_the_state():
    """Undoing the last step brings the machine back to the state before it."""
    machine = Machine(turnstile())
    machine.send("coin")
    assert machine.back() == "locked"


def test_back_restores_the_context():
    """Undoing a step takes back what its action did to the context."""
    machine = Machine(turnstile())
    machine.run("coin", "push")
    machine.back()
    assert machine.context == {}


def test_back_restores_nested_values():
    """Undoing a step takes back changes inside lists of the context, too."""
    definition = Definition("a")
    definition.add("go", "a", "a", action=lambda context: context["items"].append(1))
    machine = Machine(definition, {"items": []})
    machine.send("go")
    machine.back()
    assert machine.context == {"items": []}


def test_back_several_steps():
    """Undoing two of three steps leaves the first in the history."""
    machine = Machine(turnstile())
    machine.run("coin", "push", "coin")
    machine.back(2)
    assert (machine.state, len(machine.history)) == ("open", 1)


@pytest.mark.parametrize("steps", [0, 2])
def test_back_too_far(steps):
    """Undoing no step or more steps than there are is refused."""
    machine = Machine(turnstile())
    machine.send("coin")
    with pytest.raises(ValueError, match=f"cannot undo {steps} of 1 steps"):
        machine.back(steps)
