from __future__ import annotations

from agentgym.support.nested import flat, nested


def test_names_with_dots_and_nested_mappings_are_the_same() -> None:
    values = {"steps": 3, "rl": {"beta": 0.1, "deep": {"er": None}}}
    assert flat(values) == {"steps": 3, "rl.beta": 0.1, "rl.deep.er": None}
    assert nested(flat(values)) == values
    onto = {"rl": {"beta": 0.2, "groups": 4}}
    assert nested({"rl.beta": 0.1}, onto) is onto and onto == {"rl": {"beta": 0.1, "groups": 4}}
