"""What a file of a specification may say, and what is said of one that is wrong."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentgym.authoring.synth.facts import Fact, Misread, Vocabulary
from agentgym.authoring.synth.making import make
from agentgym.authoring.synth.specification import read
from agentgym.errors import AgentGymError, DataError
from agentgym.registration.making import make_env, resolve

LAMPS: dict[str, Any] = {
    "name": "lamps",
    "summary": "Turn lamps on.",
    "types": {"lamp": {"names": ["red", "blue", "green", "white", "dim"], "count": 3}},
    "facts": {"lit": {"of": "lamp", "start": "no"}, "near": {"is": "lamp"}},
    "tools": {
        "go": {"does": "Go.", "takes": {"a": "lamp"}, "then": "near = a", "answer": "At {near}."},
        "light": {
            "does": "Light the lamp here.", "when": "not lit(near)", "then": "lit(near)",
            "answer": "{near} is lit.",
        },
    },
    "goals": [{"each": {"a": "lamp", "b": "lamp"}, "want": ["lit(a)", "lit(b)"],
               "words": "Light {a} and {b}."}],
}  # fmt: skip
"""A specification in which a fact is asked of the value of another."""
WRONG = [
    (("name",), "Lamps!", "expected name of .* lower-case letters.* got 'Lamps!'"),
    (("types", "lamp", "count"), 9, r"expected types.lamp.count .* from 1 to 5, got 9"),
    (("types", "lamp", "colour"), "red", "expected types.lamp .* keys count, names, got 'colour'"),
    (("types", "lamp", "names"), ["red", "red", "blue"], "names that all differ, got 'red'"),
    (("types", "lamp", "names"), ["red", True], r"names\[1\] .* a text .* got True; YAML reads"),
    (("facts", "lit", "of"), "lump", r"expected facts.lit.of .* two types of lamp, got \['lump'\]"),
    (("facts", "lit", "start"), False, "expected facts.lit.start .* got False; YAML reads"),
    (("facts", "lit", "is"), ["not"], "types and words"),
    (("tools", "go", "takes"), {"lit": "lamp"}, "takes.lit .* named like no type, fact"),
    (("tools", "go", "say"), "go", "a native template must name each of"),
    (("tools", "go", "then"), "near = far", r"then\[0\] .*'far' is none of a, lit, near"),
    (("tools", "go", "then"), "near != a", "write = in place of !="),
    (("tools", "go", "then"), "near = lit(a)", "near is one of lamp, never yes, no"),
    (("tools", "go", "then"), "lit(lit(a))", r"lit is about \(lamp\), not \(yes\|no\)"),
    (("tools", "go", "then"), "__import__('os')", "is none of|means nothing"),
    (("tools", "go", "when"), [{"fact": "lit(a", "else": "x"}], r"when\[0\].fact .*a \) is miss"),
    (("tools", "go", "when"), [{"else": "x"}], r"when\[0\].fact .* a text of 1 to 2000"),
    (("tools", "go", "answer"), "{a.__class__}", "expected tools.go.answer .* facts in braces"),
    (("tools", "go", "chance"), [{"percent": 40, "answer": "x"}], "percents add up to 100, got 40"),
    (("goals",), [], r"expected goals .* to be filled, got \[\]"),
    (("goals", 0, "want"), ["near"], "near has values: write near = VALUE"),
    (("tasks",), {"turns": [5, 2]}, r"expected tasks.turns .* from 1 to 100, got \[5, 2\]"),
    (("observe",), {"start": [{"tell": "{a}"}]}, r"observe.start\[0\].tell .*'a' is none of"),
    (("tasks",), {"turns": [9, 20]}, "at least 4 among 24 draws, got 0: .* other than 9 to 20"),
    (("goals", 0, "want"), ["lit(a)", "not lit(a)"], "cannot be reached for sure|contradict"),
]  # fmt: skip


def write_file(folder: Path, content: Any) -> Path:
    file = folder / "lamps.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return file


def test_facts_of_facts_and_the_way_that_a_person_takes(tmp_path: Path) -> None:
    env = make(str(write_file(tmp_path, LAMPS)), turns=[2, 4])
    _, info = env.reset(seed=0, options={"split": "test", "index": 0})
    while not info["stop_reason"]:
        turns_left, reward = info["oracle_turns"], 0.0
        observation, reward, _, _, info = env.step(str(env.oracle_action()))
        assert info["oracle_turns"] == turns_left - 1
    assert observation.endswith(" is lit.") and reward == 1.0 and info["success"]


@pytest.mark.parametrize(("place", "value", "message"), WRONG)
def test_what_is_wrong_is_named(tmp_path: Path, place: Any, value: Any, message: str) -> None:
    content = copy.deepcopy(LAMPS)
    part: Any = content
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(DataError, match=f"(?s){message}"):
        make(str(write_file(tmp_path, content)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nname: b\n", "the key 'name' comes twice"),
        ("a: &x [1]\nb: *x\n", "a reference .* is not allowed"),
        ("[" * 3000, "expected a specification in YAML"),
        ("!!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("just a text", "expected the top of .* a mapping of names, got 'just a text'"),
        ("#" * (1 << 19), "more than 262,144 bytes"),
    ],
)
def test_a_file_is_plain_data(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(write_file(tmp_path, text))


def test_a_search_that_explodes_is_refused_with_a_number(tmp_path: Path) -> None:
    content = copy.deepcopy(LAMPS)
    names = [f"lamp {letter}" for letter in "abcdefghijklm"]
    content["types"]["lamp"] = {"names": names, "count": 13}
    with pytest.raises(DataError, match=r"at most 5,000 states .* got more with 13 of lamp"):
        make(str(write_file(tmp_path, content)))


def test_the_example_of_the_page_makes_tasks(tmp_path: Path) -> None:
    page = (
        Path(__file__).parents[3] / "agentgym" / "authoring" / "synth" / "README.md"
    ).read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]
    assert make(str(write_file(tmp_path, text))).tasks.oracle_turns is not None


def test_names_that_open_nothing() -> None:
    for name, message in (("warehous", "perhaps|warehouse"), ("nowhere.yaml", "No such file")):
        with pytest.raises(AgentGymError, match=message):
            make_env(resolve(f"synth:{name}")[1], {}, "--env-kwargs")


@given(st.text(alphabet="lit nearabnot()=!,'", max_size=24))
def test_a_text_is_a_fact_or_misread(text: str) -> None:
    lit = Fact("lit", ("lamp",), ("yes", "no"), ("no",))
    vocabulary = Vocabulary({"lit": lit, "near": Fact("near", (), ("lamp",), ("lamp",))}, {})
    try:
        equation = vocabulary.equation(text, {"a": "lamp"})
    except Misread as error:
        assert str(error)
    else:
        assert equation.left.fact in ("lit", "near")
