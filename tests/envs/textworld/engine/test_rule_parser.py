from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.logic import Atom
from agentgym.envs.textworld.engine.rule_parser import parse
from agentgym.errors import DataError
from tests.envs.textworld.engine.games import LOGIC


def test_types_rules_and_commands() -> None:
    logic = parse(LOGIC)
    assert logic.parents["f"] == ("o",) and logic.parents["r"] == ()
    names = [rule.name for rule in logic.rules]
    assert names == sorted(names) and len(names) == 10
    assert logic.reverses["take"] == "drop" and logic.reverses["drop"] == "take"
    assert logic.commands["insert"] == "insert {o} into {c}"


def test_kept_conditions_come_first_afterwards() -> None:
    (rule,) = (rule for rule in parse(LOGIC).rules if rule.name == "take")
    assert rule.preconditions == (Atom("at", ("P", "r")), Atom("at", ("o", "r")))
    assert rule.postconditions == (Atom("at", ("P", "r")), Atom("in", ("o", "I")))
    assert rule.types == {"P": "P", "r": "r", "o": "o", "I": "I"}


def test_aliases_are_expanded() -> None:
    (rule,) = (rule for rule in parse(LOGIC).rules if rule.name == "go/west")
    assert Atom("east_of", ("r", "r'")) in rule.preconditions
    nested = """
    type a { predicates { both(a, b) = one(a) & two(b); two(b) = three(b, x: a); }
             rules { r :: $both(a, b) -> four(a); } }
    type b { }
    """
    (rule,) = parse(nested).rules
    assert rule.preconditions == (Atom("one", ("a",)), Atom("three", ("b", "x")))
    assert rule.types == {"a": "a", "b": "b", "x": "a"}


def test_negation_is_a_predicate_of_its_own() -> None:
    (rule,) = parse("type a { rules { r :: !one(a) & !not_two(a) -> one(a); } }").rules
    assert rule.preconditions == (Atom("not_one", ("a",)), Atom("two", ("a",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type a", "'{', got 'the end'"),
        ("type a { } type a { }", "one declaration of the type 'a'"),
        ("type a { x { } }", "one of predicates, rules"),
        ("type a { rules { r :: p(a) -> q(a) } }", "';', got '}'"),
        ("type a { rules { r :: p(a) -> q(a); r :: p(a) -> q(a); } }", "one rule 'r'"),
        ("type a { rules { r :: p(x: a) -> q(x); } }", "the type 'a' for 'x'"),
        ("type a {\n\n % }", "line 3"),
        (
            "type a { predicates { p(a) = q(a); q(a) = p(a); } rules { r :: p(a) -> s(a); } }",
            "cycle",
        ),
        (
            "type a { rules { r :: p(a) -> q(a); } "
            'inform7 { commands { r :: "do {b}" :: "doing"; } } }',
            "got b",
        ),
        ('type a { inform7 { code :: "x"; } }', "a block"),
        ("type a { inform7 { what { } } }", "one of type, predicates"),
    ],
)
def test_errors_say_what_and_where(text: str, message: str) -> None:
    with pytest.raises(DataError, match="expected") as caught:
        parse(text)
    assert message in str(caught.value)


WORDS = st.text("abcdefgh_", min_size=1, max_size=6).map(lambda word: f"n{word}")
ATOMS = st.tuples(WORDS, st.lists(st.tuples(WORDS, st.sampled_from("xyz")), max_size=3))


@st.composite
def rules(draw: st.DrawFn) -> tuple[str, list[tuple[bool, str, list[str]]], dict[str, str]]:
    """Draw the conditions of a rule, each placeholder of one type throughout."""
    types: dict[str, str] = {}
    conditions = []
    for name, args in draw(st.lists(ATOMS, min_size=1, max_size=4)):
        for arg, kind in args:
            types.setdefault(arg, kind)
        conditions.append((draw(st.booleans()), name, [arg for arg, _ in args]))
    return draw(WORDS), conditions, types


@settings(max_examples=60, deadline=None)
@given(rule=rules(), space=st.sampled_from(["", " ", "\n  ", " # note; }\n"]))
def test_what_is_written_is_read(
    rule: tuple[str, list[tuple[bool, str, list[str]]], dict[str, str]], space: str
) -> None:
    name, conditions, types = rule
    atoms = [
        f"{'$' * keep}{predicate}{space}({f',{space}'.join(f'{a}:{types[a]}' for a in args)})"
        for keep, predicate, args in conditions
    ]
    text = f"type x {{ rules {{ {name} ::{space}{f'{space}&'.join(atoms)} -> end(){space}; }} }}"
    (parsed,) = parse(text).rules
    expected = [Atom(predicate, tuple(args)) for _, predicate, args in conditions]
    assert (parsed.name, list(parsed.preconditions), parsed.types) == (name, expected, types)
    preserved = [atom for (keep, _, _), atom in zip(conditions, expected, strict=True) if keep]
    assert list(parsed.postconditions) == [*preserved, Atom("end", ())]


@settings(max_examples=200, deadline=None)
@given(st.text("typerules{}():;,&$->=!\"'# \nabr/", max_size=80))
@example('type a { inform7 { code :: """ } }')
@example("__import__('os')")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except DataError as error:
        assert "line" in str(error)


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, len(LOGIC)), junk=st.sampled_from(["", "}", "{", ";", '"', "type"]))
def test_damaged_logic_is_read_or_refused(cut: int, junk: str) -> None:
    for text in (LOGIC[:cut] + junk, LOGIC[:cut] + junk + LOGIC[cut + 7 :]):
        try:
            parse(text)
        except DataError as error:
            # The line that makes no sense, or the command that does not fit its rule.
            assert "line" in str(error) or "placeholders of the rule" in str(error)
