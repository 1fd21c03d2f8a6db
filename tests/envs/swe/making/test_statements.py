"""Issues: what they tell, and what they never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.making.statements import (
    ScriptOutcome,
    Symptom,
    hidden_words,
    release_statement,
    report,
    statement,
)
from agentgym.support.random_stream import Stream

CLEAR = Symptom(
    "The lowest price wins.",
    "from prices import cheapest\n\ncheapest({})",
    "cheapest",
    ScriptOutcome("'tea'"),
    ScriptOutcome("'milk'"),
)


def compose(*symptoms: Symptom, seed: int = 0) -> str:
    return statement("prices", symptoms, Stream("test", seed))


def test_an_issue_has_title_example_result_and_rule():
    for seed in range(20):
        text = compose(CLEAR, seed=seed)
        title, _, body = text.partition("\n\n")
        assert title and "\n" not in title
        assert f"```python\n{CLEAR.script}\n```" in body
        assert "`'tea'`" in body and "`'milk'`" in body
        assert body.index("'tea'") < body.index("'milk'")
        assert text.count("The lowest price wins") == 1
        assert text.endswith("\n") and "{" not in text.replace("cheapest({})", "")


def test_the_seed_chooses_the_words():
    assert compose(CLEAR) == compose(CLEAR)
    assert len({compose(CLEAR, seed=seed) for seed in range(30)}) > 15


@pytest.mark.parametrize(
    ("outcome", "expected", "words"),
    [
        (ScriptOutcome("", "KeyError: 'a'"), ScriptOutcome("3"), ["KeyError: 'a'", "`3`"]),
        (ScriptOutcome("3"), ScriptOutcome("", "KeyError: 'a'"), ["`3`", "`KeyError: 'a'`"]),
        (ScriptOutcome("None"), ScriptOutcome("", "KeyError: 'a'"), ["KeyError: 'a'"]),
        (
            ScriptOutcome("", "TypeError: b"),
            ScriptOutcome("", "KeyError: 'a'"),
            ["TypeError: b", "KeyError: 'a'"],
        ),
        (ScriptOutcome("", "KeyError: 'a'"), ScriptOutcome(""), ["KeyError: 'a'"]),
        (ScriptOutcome("", "KeyError: 'a'"), ScriptOutcome("None"), ["KeyError: 'a'"]),
        (ScriptOutcome("1\n2\n3"), ScriptOutcome("1\n3"), ["```\n1\n2\n3\n```", "```\n1\n3\n```"]),
        (ScriptOutcome(""), ScriptOutcome("1"), ["nothing", "`1`"]),
    ],
)
def test_results(outcome, expected, words):
    for seed in range(10):
        text = compose(Symptom("It holds.", "f()", "f", outcome, expected), seed=seed)
        for word in words:
            assert word in text
        assert "None" not in text


def test_what_is_raised_is_no_result():
    symptom = Symptom(
        "", "f()", "f", ScriptOutcome("", "TypeError: b"), ScriptOutcome("", "KeyError: 'a'")
    )
    texts = [compose(symptom, seed=seed) for seed in range(30)]
    assert not any("result" in text.partition("\n\n")[2].lower() for text in texts)
    assert any("Actual error: `TypeError: b`" in text for text in texts)


def test_further_rules_are_not_taken_for_what_happens():
    for seed in range(30):
        lead = compose(CLEAR, Symptom("A rule."), seed=seed).split("\n\n- A rule.")[0]
        assert " not" in lead.rpartition("\n\n")[2]


def test_long_results_are_cut():
    text = compose(
        Symptom("", "f()", "f", ScriptOutcome("\n".join("x" * 30)), ScriptOutcome("y" * 9999))
    )
    assert "\n..." in text and len(text) < 1500


def test_further_symptoms_are_told_once():
    symptoms = [Symptom(f"Rule {number} holds.") for number in (1, 1, 2, 3, 4)]
    text = compose(CLEAR, *symptoms)
    assert [text.count(f"- Rule {number} holds.") for number in (1, 2, 3, 4)] == [1, 1, 1, 0]


def test_without_a_script_the_sentence_and_the_message_are_told():
    text = compose(Symptom("The lowest price wins.", message="Failed: DID NOT RAISE KeyError"))
    assert "The lowest price wins" in text and "No KeyError was raised." in text


def test_a_script_that_shows_nothing_is_not_shown():
    same_symptom = Symptom("It holds.", "f()", "f", ScriptOutcome("1"), ScriptOutcome("1"))
    assert "f()" not in compose(same_symptom) and "It holds" in compose(same_symptom)


def test_what_cannot_be_told_makes_no_issue():
    assert compose() == ""
    assert compose(Symptom("", "", "", message="see _private")) == ""


@pytest.mark.parametrize(
    "secret", ["_helper", "test_total", "TestTotal", "/testbed/a.py", "0x7f2a3b4c5d6e"]
)
def test_secrets_are_left_out(secret):
    everywhere = Symptom(
        f"It holds {secret}.",
        "f()",
        secret,
        ScriptOutcome("", f"KeyError: {secret}"),
        ScriptOutcome("1"),
        secret,
    )
    for seed in range(10):
        text = compose(everywhere, CLEAR, seed=seed)
        assert secret not in text and text
    text = compose(everywhere)
    assert secret not in text and "KeyError" in text
    assert secret not in compose(
        Symptom("It holds.", f"f({secret})", "f", ScriptOutcome("1"), ScriptOutcome("2"))
    )


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.integers(0, 99))
def test_any_words_give_a_text_or_none(first, two, three, seed):
    symptom = Symptom(first, two, "", ScriptOutcome(three), ScriptOutcome(first), two)
    text = compose(symptom, seed=seed)
    assert text == "" or text.endswith("\n")


def test_an_issue_for_a_release_tells_its_changelog():
    text = release_statement("lib", "1.2", ["Accept `x`.", "Fix _y."], [CLEAR], Stream("r", 1))
    assert "- Accept `x`." in text and "_y" not in text and "lib" in text and "1.2" in text
    assert CLEAR.script in text
    assert release_statement("lib", "1.2", [], [CLEAR], Stream("r", 1)).count(CLEAR.script) == 1


def test_hidden_words():
    assert hidden_words("a _b c") == ["_b"]
    assert hidden_words("a_b, __init__ 'x_' 1_000") == []


def several_reports(*symptoms: Symptom, request: str = "") -> dict[str, str]:
    """A report in every style that a hundred seeds draw."""
    return dict(report("prices", symptoms, Stream("test", seed), request) for seed in range(100))


RAISED = Symptom(
    "Prices are added up.",
    "from prices import total\n\ntotal(\n    [2, 3])",
    "total",
    ScriptOutcome(error="KeyError: 2"),
    ScriptOutcome("5"),
)
SILENT = Symptom(
    "A discount is taken off.",
    "from prices import total\n\ntotal([4], 1)",
    "total",
    ScriptOutcome("4"),
    ScriptOutcome("3"),
    part=1,
)


def test_issues_are_written_in_several_styles():
    reports = several_reports(RAISED)
    assert reports.keys() == {"example", "no expectation", "traceback", "words"}
    assert "`5`" in reports["example"] and "`5`" not in reports["no expectation"]
    lines = 'File "example.py", line 3, in <module>\n    total(\n  [...]\nKeyError: 2'
    assert lines in reports["traceback"] and "`5`" not in reports["traceback"]
    assert "```" not in reports["words"] and "Prices are added up" in reports["words"]


def test_a_fault_that_raises_nothing_has_no_traceback():
    assert several_reports(SILENT).keys() == {"example", "no expectation", "words"}


def test_every_part_of_a_fault_is_told():
    for text in several_reports(RAISED, SILENT).values():
        assert "KeyError" in text or "Prices are added up" in text
        assert "`4`" in text or "A discount is taken off" in text


def test_a_part_that_cannot_be_told_makes_no_issue():
    assert several_reports(RAISED, Symptom(part=1)) == {"": ""}


def test_what_is_asked_for_is_said():
    request = "the parameter `off` of `total` should be called `discount`"
    [text] = several_reports(SILENT, request=request).values()
    assert request.partition(" ")[2] in text and "total([4], 1)" in text
    [feature] = several_reports(SILENT, request="`total`").values()
    assert "`total`" in feature and "- A discount is taken off." in feature


def test_an_issue_of_a_regression_is_any_other_and_names_both_releases():
    for seed in range(20):
        _, plain_text = report("prices", [CLEAR], Stream("test", seed))
        _, extended = report("prices", [CLEAR], Stream("test", seed), releases=("1.3", "1.4"))
        suffix = extended.removeprefix(plain_text)
        assert suffix != extended and "1.3" in suffix and "1.4" in suffix
