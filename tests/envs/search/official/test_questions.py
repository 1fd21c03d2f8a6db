"""Question sets of others, from the forms in which they are published."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401
from agentgym.envs.search.official.files import question_name, read_questions
from agentgym.envs.search.official.records import read_record
from agentgym.envs.search.question import Question
from agentgym.errors import ConfigurationError, DataError, DependencyNotInstalled
from tests.envs.search.library import CountingRetriever

FLASHRAG = {
    "id": "test_0",
    "question": "who got the first nobel prize in physics",
    "golden_answers": ["Wilhelm Conrad Röntgen", "Röntgen", "Röntgen"],
    "metadata": {"split": "nobody's"},
}
SEARCH_R1 = {
    "id": "train_7",
    "question": "who got the first nobel prize in physics",
    "golden_answers": ["ignored"],
    "data_source": "nq",
    "prompt": [{"role": "user", "content": "Answer. Question: who?\n"}],
    "ability": "fact-reasoning",
    "reward_model": {"style": "rule", "ground_truth": {"target": ["Wilhelm Conrad Röntgen"]}},
    "extra_info": {"split": "test", "index": 7},
}


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in names}


def test_a_record_of_flashrag() -> None:
    question, split = read_record(FLASHRAG)
    assert question.text == "who got the first nobel prize in physics?"
    assert question.answers == ("Wilhelm Conrad Röntgen", "Röntgen")
    assert (question.kind, question.hops, question.gold, split) == ("", 0, (), None)


def test_a_record_of_search_r1() -> None:
    question, split = read_record(SEARCH_R1)
    assert question.answers == ("Wilhelm Conrad Röntgen",)
    assert (question.kind, split) == ("nq", "test")
    assert read_record(without(SEARCH_R1, "question"))[0].text == "who?"
    assert read_record(without(SEARCH_R1, "reward_model"))[0].answers == ("ignored",)


def test_a_record_of_ones_own() -> None:
    question, _ = read_record(
        {"question": " When?  ", "answers": 1934, "gold": ["p1", 2], "hops": 2, "split": "dev"}
    )
    assert question == Question("When?", ("1934",), "", 2, ("p1", "2"))


NQ = {"question": "who sings?", "answer": ["Kit", "K. Sorrel"]}
HOTPOT = {"_id": "5a7", "question": "Is it?", "answer": "yes", "type": "comparison", "context": []}
MUSIQUE = {"id": "2hop__1", "question": "Where?", "answer": "UK", "answer_aliases": ["Britain"]}
TRIVIA = {"Question": "Who?", "Answer": {"Value": "Kit", "Aliases": ["Kit Sorrel"], "Type": "x"}}
POPQA = {"question": "Who?", "possible_answers": '["Kit", "Sorrel"]', "prop": "author"}


@pytest.mark.parametrize(
    ("record", "answers", "kind"),
    [
        (NQ, ("Kit", "K. Sorrel"), ""),
        (HOTPOT, ("yes",), "comparison"),
        (MUSIQUE, ("UK", "Britain"), ""),
        ({**MUSIQUE, "answerable": True, "is_impossible": None}, ("UK", "Britain"), ""),
        (TRIVIA, ("Kit", "Kit Sorrel"), ""),
        (POPQA, ("Kit", "Sorrel"), ""),
        ({**NQ, "answer": "[sic]"}, ("[sic]",), ""),
        ({**NQ, "answer": "[7, 9]"}, ("[7, 9]",), ""),
        ({**NQ, "answer": '["Kit"]'}, ('["Kit"]',), ""),
        ({**NQ, "answers": '["Kit", "Sorrel"]'}, ("Kit", "Sorrel"), ""),
        ({**NQ, "answer": True}, ("yes", "true"), ""),
        ({**NQ, "answer": [False]}, ("no", "false"), ""),
        ({**NQ, "answer": 3.5}, ("3.5",), ""),
        ({**NQ, "answer": 1994.0}, ("1994",), ""),
        ({**NQ, "choices": ["Kit", "Lou"], "answer": 1}, ("B", "Lou"), ""),
        ({**NQ, "options": "A) Kit B) Lou", "answer": "A"}, ("A", "Kit"), ""),
    ],
)
def test_records_are_read_as_their_authors_wrote_them(
    tmp_path: Path, record: Any, answers: tuple[str, ...], kind: str
) -> None:
    questions = write(tmp_path / "set.jsonl", record)
    env = gymnasium.make("agentgym/Search-v0", corpus=CountingRetriever(), questions=questions)
    for answer in answers:
        env.reset(seed=0)
        assert env.step(f"<answer>{answer}</answer>")[4]["success"]
    assert read_record(record)[0].kind == kind


def test_options_and_stories_are_shown_and_evidence_is_not() -> None:
    row = {**NQ, "body": "Kit and Lou sing.", "context": "Kit sings.", "choices": ["Kit", "Lou"]}
    text = read_record({**row, "answer": 0})[0].text
    assert text.startswith("Kit and Lou sing.\nwho sings?\nA) Kit\nB) Lou\n")
    assert "Kit sings." not in text


def test_lines_in_a_json_file_and_a_list_in_lines_are_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "hotpot.json", HOTPOT, HOTPOT)
    with pytest.raises(DataError, match=r"got JSON lines: rename it to hotpot\.jsonl"):
        read_questions(path)
    with pytest.raises(DataError, match=r"got dict; if it .* rename it to hotpot\.jsonl"):
        read_questions(write(path, HOTPOT))
    path = tmp_path / "hotpot.jsonl"
    path.write_text(json.dumps([HOTPOT], indent=1))
    with pytest.raises(DataError, match=r"got a list: rename it to hotpot\.json"):
        read_questions(path)
    packed = tmp_path / "hotpot.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps([HOTPOT]).encode()))
    with pytest.raises(DataError, match=r"got a list: unpack it to hotpot\.json"):
        read_questions(packed)


@pytest.mark.parametrize("content", [[HOTPOT, HOTPOT], {"Version": 1, "Data": [HOTPOT, HOTPOT]}])
def test_json_files(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "hotpot_dev.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    (questions,) = read_questions(path).values()
    assert questions == (read_record(HOTPOT)[0],) * 2 and question_name(path) == "hotpot_dev"
    for bad_part, part in (
        ("{", "JSON object"),
        ('{"a": 1}', "list of records"),
        ("[1]", "record 0"),
    ):
        path.write_text(bad_part)
        with pytest.raises(DataError, match=part):
            read_questions(path)


@pytest.mark.parametrize(
    ("record", "part"),
    [
        (without(FLASHRAG, "golden_answers"), "expected answers in golden_answers, got None"),
        ({**FLASHRAG, "golden_answers": []}, "expected answers"),
        ({**FLASHRAG, "golden_answers": ["", " "]}, "expected answers"),
        ({**FLASHRAG, "golden_answers": [None]}, "list of texts"),
        ({**FLASHRAG, "golden_answers": {"a": 1}}, "list of texts"),
        ({**FLASHRAG, "question": " "}, "expected a question"),
        ({"golden_answers": ["x"], "prompt": ["text"]}, "expected a question"),
        ({**FLASHRAG, "golden_answers": float("nan")}, "list of texts"),
        ({**FLASHRAG, "choices": ["Röntgen", "Curie"]}, "letter, the place"),
        ({**FLASHRAG, "image": "x.png"}, "in words alone"),
        ({**FLASHRAG, "hops": "two"}, "hops"),
        ({**MUSIQUE, "answerable": False}, "can be answered, got answerable=False"),
        ({**MUSIQUE, "Answerable": "false"}, "can be answered"),
        ({**FLASHRAG, "is_impossible": True}, "can be answered"),
        ({**FLASHRAG, "metadata": {"unanswerable": 1}}, "can be answered"),
        ({**FLASHRAG, "hops": True}, "hops"),
        ({**FLASHRAG, "split": "dawn"}, "expected a split among"),
        ([1, 2], "expected an object"),
        (None, "expected an object"),
    ],
    ids=str,
)
def test_a_record_that_cannot_be_used_is_named(tmp_path: Path, record: Any, part: str) -> None:
    path = write(tmp_path / "set.jsonl", FLASHRAG, record)
    with pytest.raises(DataError, match=f"{part}.*line 2"):
        read_questions(path)


def test_the_file_tells_the_split_or_a_hash_deals_it(tmp_path: Path) -> None:
    records = [{**FLASHRAG, "question": f"what is number {n}"} for n in range(400)]
    path = write(tmp_path / "set.jsonl", *records, {**FLASHRAG, "split": "validation"})
    sets = read_questions(path)
    assert list(sets) == ["train", "valid", "test"]
    assert sets["valid"][-1].text.startswith("who got")
    assert 290 <= len(sets["train"]) <= 350 and 20 <= len(sets["test"]) <= 60
    assert sets == read_questions(path)
    upper = {**FLASHRAG, "question": "What is Number 7!"}
    sets = read_questions(write(path, *records, upper))
    of = {question.text: split for split, some in sets.items() for question in some}
    assert of["What is Number 7!?"] == of["what is number 7?"]


def test_a_folder_has_a_file_for_each_split(tmp_path: Path) -> None:
    folder = tmp_path / "nq"
    folder.mkdir()
    write(folder / "train.jsonl", FLASHRAG, {**FLASHRAG, "split": "test"})
    write(folder / "dev.jsonl", FLASHRAG)
    (folder / "test.jsonl.gz").write_bytes(gzip.compress(json.dumps(FLASHRAG).encode()))
    write(folder / "other.jsonl", {})
    sets = read_questions(folder)
    assert {split: len(questions) for split, questions in sets.items()} == {
        "train": 2, "valid": 1, "test": 1,
    }  # fmt: skip
    write(folder / "val.jsonl", FLASHRAG)
    with pytest.raises(DataError, match="one file for each split"):
        read_questions(folder)
    assert question_name(folder) == "nq" and question_name("x/hotpotqa.jsonl.gz") == "hotpotqa"


def test_only_splits_with_questions_are_there(tmp_path: Path) -> None:
    assert list(read_questions(write(tmp_path / "a.jsonl", SEARCH_R1))) == ["test"]


def test_parquet_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "test.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([SEARCH_R1, SEARCH_R1]), path)
    assert read_questions(path) == {"test": (read_record(SEARCH_R1)[0],) * 2}
    bad = {**SEARCH_R1, "reward_model": {"style": "rule", "ground_truth": {"target": []}}}
    parquet.write_table(pyarrow.Table.from_pylist([SEARCH_R1, bad]), path)
    with pytest.raises(DataError, match=r"expected answers .*record 1"):
        read_questions(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="expected a parquet file"):
        read_questions(path)


def test_parquet_columns_of_bytes_hold_no_answers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "test.parquet"
    record = {"question": "Where?", "golden_answers": b"Paris"}
    parquet.write_table(pyarrow.Table.from_pylist([record]), path)
    with pytest.raises(DataError, match=r"list of texts, got b'Paris'.*record 0"):
        read_questions(path)


def test_parquet_needs_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name="pyarrow")

    monkeypatch.setattr("agentgym.errors.importlib.import_module", absent)
    path = tmp_path / "test.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(DependencyNotInstalled, match="pip install"):
        read_questions(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for content, part in (
        (b'{"question": ', "expected a JSON object in .*line 1"),
        (b"[" * 100_000, "expected a JSON object"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"\n \n", "expected questions in"),
    ):
        path = tmp_path / "set.jsonl"
        path.write_bytes(content)
        with pytest.raises(DataError, match=part):
            read_questions(path)
    damaged = tmp_path / "set.jsonl.gz"
    damaged.write_bytes(gzip.compress(json.dumps(FLASHRAG).encode() * 99)[:-20])
    with pytest.raises(DataError, match="cannot be read"):
        read_questions(damaged)
    for path, part in (
        (tmp_path / "nowhere", "which does not exist"),
        (tmp_path, "holds none of them"),
        (write(tmp_path / "set.txt", FLASHRAG), "that ends with"),
    ):
        with pytest.raises(DataError, match=part):
            read_questions(path)
    with pytest.raises(ConfigurationError, match="the path of a file or folder"):
        read_questions(7)  # type: ignore[arg-type]
