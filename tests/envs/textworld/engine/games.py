"""A game small enough to know by heart, in the JSON of TextWorld.

A shed lies east of a yard. In the yard stands a closed box with a coin in it; a plum lies on the
ground. Whoever carries the coin into the shed wins; whoever eats the plum has failed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld

LOGIC = """
# Where things are.
type r {
    predicates {
        at(P, r);
        at(t, r);
        free(r, r);
        east_of(r, r);
        west_of(r, r') = east_of(r', r);
    }
    rules {
        go/east :: at(P, r) & $east_of(r', r) & $free(r, r') -> at(P, r');
        go/west :: at(P, r) & $west_of(r', r) & $free(r, r') -> at(P, r');  # The way back.
        look :: at(P, r) -> at(P, r);
    }
    reverse_rules { go/east :: go/west; look :: look; }
    constraints { r1 :: at(P, r) & at(P, r') -> fail(); }
    inform7 {
        type { kind :: "room"; }
        predicates { at(P, r) :: "The player is in {r}"; }
        commands {
            go/east :: "go east" :: "going east";
            go/west :: "go west" :: "going west";
            look :: "look" :: "looking";
        }
        code :: \"\"\"
            # Not a comment: "quoted" source.
        \"\"\";
    }
}
type P { }
type I {
    rules {
        take :: $at(P, r) & at(o, r) -> in(o, I);
        drop :: $at(P, r) & in(o, I) -> at(o, r);
        take/c :: $at(P, r) & $at(c, r) & $open(c) & in(o, c) -> in(o, I);
        insert :: $at(P, r) & $at(c, r) & $open(c) & in(o, I) -> in(o, c);
    }
    reverse_rules { take :: drop; take/c :: insert; }
    inform7 {
        commands {
            take :: "take {o}" :: "taking {o}";
            drop :: "drop {o}" :: "dropping {o}";
            take/c :: "take {o} from {c}" :: "removing {o} from {c}";
            insert :: "insert {o} into {c}" :: "inserting {o} into {c}";
        }
    }
}
type t { }
type o : t { }
type f : o {
    rules { eat :: in(f, I) -> eaten(f); }
    inform7 { commands { eat :: "eat {f}" :: "eating {f}"; } }
}
type c : t {
    rules {
        open/c :: $at(P, r) & $at(c, r) & closed(c) -> open(c);
        close/c :: $at(P, r) & $at(c, r) & open(c) -> closed(c);
    }
    reverse_rules { open/c :: close/c; }
    inform7 {
        commands {
            open/c :: "open {c}" :: "opening {c}";
            close/c :: "close {c}" :: "closing {c}";
        }
    }
}
"""
TYPES = {"P": "P", "I": "I", "r_0": "r", "r_1": "r", "c_0": "c", "o_0": "o", "f_0": "f"}
NAMES = {"r_0": "yard", "r_1": "shed", "c_0": "box", "o_0": "coin", "f_0": "plum"}
FACTS = (
    ("at", "P", "r_0"),
    ("at", "c_0", "r_0"),
    ("at", "f_0", "r_0"),
    ("closed", "c_0"),
    ("east_of", "r_1", "r_0"),
    ("free", "r_0", "r_1"),
    ("free", "r_1", "r_0"),
    ("in", "o_0", "c_0"),
)
WALKTHROUGH = ("open box", "take coin from box", "go east")


def fact(*parts: str) -> dict[str, Any]:
    """Write a fact as TextWorld does."""
    name, *entities = parts
    return {"name": name, "arguments": [{"name": e, "type": TYPES[e]} for e in entities]}


def event(
    conditions: Iterable[Sequence[str]], actions: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Write an event as TextWorld does."""
    facts = [fact(*condition) for condition in conditions]
    trigger = {"name": "trigger", "preconditions": facts, "postconditions": facts}
    return {"commands": [], "actions": list(actions), "condition": trigger}


def quest(
    wins: Sequence[dict[str, Any]] = (), fails: Sequence[dict[str, Any]] = (), **more: Any
) -> dict[str, Any]:
    """Write a quest as TextWorld does; it pays 1 if it can be won."""
    quest = {"desc": "", "reward": int(bool(wins)), "commands": [], "win_events": list(wins)}
    return quest | {"fail_events": list(fails), "optional": False, "repeatable": False} | more


def game(quests: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Write the game with given quests."""
    infos = [[e, {"id": e, "type": TYPES[e], "name": NAMES.get(e)}] for e in TYPES]
    return {
        "version": 1,
        "world": [fact(*parts) for parts in FACTS],
        "grammar": {},
        "quests": list(quests),
        "infos": infos,
        "KB": {"logic": LOGIC, "text_grammars_path": ""},
        "metadata": {},
        "objective": "Bring the coin to the shed.",
    }


def actions(commands: Iterable[str]) -> list[dict[str, Any]]:
    """Write the actions of commands from the start of the game as TextWorld does."""
    world = GameWorld.of(game())
    machine = Machine(world)
    rules = {rule.name: rule for rule in world.logic.rules}
    entries = []
    for command in commands:
        action = machine.command(command)
        assert action is not None, command
        rule = rules[action.name]
        reverse = world.logic.reverses.get(rule.name)
        facts_before, facts_after = (
            [fact(atom.name, *(action.bindings[arg] for arg in atom.args)) for atom in atoms]
            for atoms in (rule.preconditions, rule.postconditions)
        )
        fields = {name: f"{{{entity}}}" for name, entity in action.bindings.items()}
        templates = [
            None if name is None else world.logic.commands[name].format(**fields)
            for name in (rule.name, reverse)
        ]
        entries.append(
            {
                "name": rule.name,
                "preconditions": facts_before,
                "postconditions": facts_after,
                "command_template": templates[0],
                "reverse_name": reverse,
                "reverse_command_template": templates[1],
            }
        )
        machine.apply(action)
    return entries


def treasure() -> dict[str, Any]:
    """Write the game of the module's docstring, with its plan."""
    goal = event([("in", "o_0", "I"), ("at", "P", "r_1")], actions(WALKTHROUGH))
    eaten = event([("eaten", "f_0")])
    return copy.deepcopy(game([quest([goal], reward=3), quest(fails=[eaten])]))


def play(machine: Machine, *commands: str) -> Machine:
    """Carry out commands that must be admissible."""
    for command in commands:
        action = machine.command(command)
        assert action is not None, (command, machine.admissible())
        machine.apply(action)
    return machine
