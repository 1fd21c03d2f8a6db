"""Data sets in the published forms, through `data=`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.errors import DataError

GSM8K = {"question": "Tom has 40 figs and eats 2. How many are left?", "answer": "40-2=38\n#### 38"}
MATH = {
    "problem": "What is half of $x$ if $x = 1$?", "level": "Level 1", "type": "Algebra",
    "solution": r"It is $\frac{x}{2}$, so $\boxed{\frac{1}{2}}$.",
}  # fmt: skip
AIME = {"ID": "2024-I-1", "Problem": "Find the number.", "Solution": "...", "Answer": 204}
AIME_TEXT = {"id": 60, "problem": "Find the root.", "answer": r"2\sqrt{3}", "year": "2024"}
RIGHT = ("38", "0.5", "204", "sqrt(12)")


def make(path: Path) -> TextEnv:
    env = gymnasium.make("agentgym/MathPython-v0", data=str(path)).unwrapped
    assert isinstance(env, TextEnv)
    return env


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet"])
def test_the_published_forms(tmp_path: Path, ending: str) -> None:
    rows: list[dict[str, Any]] = [GSM8K, MATH, AIME, AIME_TEXT]
    for number, row in enumerate(rows):
        file = tmp_path / f"set{number}.{ending}"
        if ending == "parquet":
            parquet = pytest.importorskip("pyarrow.parquet")
            table = pytest.importorskip("pyarrow").Table.from_pylist([row])
            parquet.write_table(table, file)
        else:
            file.write_text(json.dumps(row if ending == "jsonl" else [row]))
        env = make(file)
        (split,) = env.tasks.splits
        assert env.tasks.name == f"math/set{number}" and env.tasks.len(split) == 1
        for answer, success in ((RIGHT[number], True), ("7", False)):
            observation, info = env.reset(seed=0)
            assert observation == info["goal"] == row.get("question", row.get("problem")) or number
            info = env.step(f"answer[{answer}]")[4]
            assert info["success"] is success and info["details"]["failed"] is False
        env.reset(seed=0)
        assert env.step(str(env.demonstrator_action()))[4]["success"]
    assert env.tasks.task(split, 0).content["kind"] == "listed"


SVAMP = {
    "Body": "A van holds 9 crates and a truck 40.", "Question": "How many more fit in the truck?",
    "Answer": 31.0,
}  # fmt: skip
ASDIV = {
    "body": "Lee bakes 12 rolls.",
    "question": "How many are left of them?",
    "answer": "9 (rolls)",
}
SAT = {"question": "Which is $f(2)$?", "options": "A) $3$ B) $5$ C) $7$ D) $9$", "Answer": "C"}
MMLU = {"question": "What is 2 + 3?", "choices": ["4", "5", "6", "7"], "answer": 1}
AQUA = {"question": "How far?", "options": ["A)8 km", "B)9 km"], "rationale": "so", "correct": "B"}
CLOZE = {"passage": "Let $a = 6$.", "question": "What is $a$?", "options": None, "answer": "6"}
TWO = {"problem": "A wheel turns 8 times.", "question": "How often in an hour?", "answer": 480}


@pytest.mark.parametrize(
    ("row", "parts", "right", "wrong_answer"),
    [
        (SVAMP, ["A van holds 9 crates and a truck 40.", "How many more"], "31", "9"),
        (ASDIV, ["Lee bakes 12 rolls.", "How many are left"], "9", "12"),
        (SAT, ["Which is $f(2)$?", "C) $7$", "Answer with the letter"], "(C)", "7"),
        (MMLU, ["What is 2 + 3?", "A) 4", "B) 5", "D) 7"], "B", "1"),
        (AQUA, ["How far?", "A) 8 km", "B) 9 km"], "b", "A"),
        (CLOZE, ["Let $a = 6$.", "What is $a$?"], "6", "5"),
        (TWO, ["A wheel turns 8 times.", "How often in an hour?"], "480", "8"),
    ],
)
def test_a_problem_is_shown_whole(
    tmp_path: Path, row: Any, parts: list[str], right: str, wrong_answer: str
) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(row))
    env = make(file)
    for answer, success in ((right, True), (wrong_answer, False)):
        observation, _ = env.reset(seed=0)
        places = [observation.find(part) for part in parts]
        assert -1 not in places and places == sorted(places)
        assert env.step(f"answer[{answer}]")[4]["success"] is success
    env.reset(seed=0)
    assert env.step(str(env.oracle_action()))[4]["success"]


def test_splits_are_those_of_rows_and_files(tmp_path: Path) -> None:
    rows = [{**GSM8K, "question": f"What is {n} + 1?", "answer": n + 1} for n in range(200)]
    file = tmp_path / "all.jsonl"
    file.write_text("\n".join(map(json.dumps, [*rows, rows[0], {**AIME_TEXT, "split": "dev"}])))
    env = make(file)
    sizes = [env.tasks.len(split) for split in env.tasks.splits]
    assert env.tasks.splits == ("train", "valid", "test") and sum(sizes) == 201 and sizes[0] > 140
    assert env.tasks.find(env.tasks.task("valid", sizes[1] - 1).id).goal == AIME_TEXT["problem"]
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "train.jsonl").write_text(json.dumps(GSM8K))
    (folder / "test.jsonl").write_text(json.dumps(MATH))
    assert make(folder).tasks.splits == ("train", "test")
    (folder / "dev.jsonl").write_text(json.dumps(MATH))
    with pytest.raises(DataError, match=r"expected disjoint splits, got .* in test"):
        make(folder)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1], "expected an object"),
        ({"answer": 1}, "expected a question as problem or question, got None"),
        ({"problem": "Why?"}, r"expected an answer, or a solution with \\boxed"),
        ({"problem": "Why?", "solution": "so"}, r"expected an answer, or a solution"),
        ({"problem": "Why?", "answer": [1]}, "expected an answer as a text or a number"),
        ({"problem": "Why?", "answer": "#### "}, "expected an answer of 1 to"),
        ({"problem": "Why?", "answer": True}, "expected an answer as a text or a number, got True"),
        ({"problem": "Why?", "answer": float("nan")}, "an answer as a text or a number, got nan"),
        ({**SAT, "Answer": "E"}, "letter, the place .* of 4 options, got 'E'"),
        ({**MMLU, "answer": 4}, "letter, the place"),
        ({**SAT, "options": "see the figure"}, "a list of 2 to 26 texts"),
        ({**MMLU, "image": "1.png"}, "in words alone"),
        ("not JSON", "line 1"),
        ('[{"problem": "Why?", "answer": 1}]', "got a list: rename it to bad.json"),
        ('[\n{"problem": "Why?", "answer": 1}\n]', "got a list: rename it to bad.json"),
    ],
)
def test_rows_that_cannot_be_used(tmp_path: Path, row: Any, message: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(row if isinstance(row, str) else json.dumps(row))
    with pytest.raises(DataError, match=message):
        make(file)
    with pytest.raises(DataError, match="which does not exist"):
        make(tmp_path / "nowhere")
