"""What the page is made of: nothing of a record is markup, and all of it can be read again."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.cli import main
from agentgym.episodes import Episode, RecordedState, read_episodes
from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation import EpisodeResult
from agentgym.viewer import find_run, render_page
from agentgym.viewer.html_data import CHUNK_CHARS, SIMPLE_CHARS, Chunks, block, to_json
from agentgym.viewer.pairs import pair_rows
from tests.episodes.test_episodes import episodes as any_episode
from tests.toy import TOY_ID
from tests.viewer.records import HOSTILE, episode, hostile, make_episodes, turn, write


class Parsed(HTMLParser):
    """The elements of a page, and the content of those with an id."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.title = ""
        self.policy = ""
        self._open: list[tuple[str, dict[str, Any]]] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self._open.append((tag, dict(attrs)))
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts[-1] = self.scripts[-1][0], self.scripts[-1][1] + data
        elif self._open and self._open[-1][0] == "title":
            self.title += data

    def kinds(self) -> dict[str, str]:
        return {a["id"]: a["type"] for a, _ in self.scripts if "id" in a}

    def read(self, name: str) -> str:
        [(attributes, content)] = [script for script in self.scripts if script[0].get("id") == name]
        if attributes["type"] == "application/json":
            return content
        return zlib.decompress(base64.b64decode(content, validate=True)).decode("ascii")

    def rows(self) -> list[list[dict[str, Any]]]:
        return json.loads(self.read("rows"))

    def body(self, row: dict[str, Any]) -> dict[str, Any]:
        chunk, line = row["at"]
        return json.loads(self.read(f"chunk-{chunk}").split("\n")[line])


def page_of(folder: Path, *sides: Any, limit: int | None = None) -> Parsed:
    paths = [write(folder / f"run{i}.jsonl", episodes) for i, episodes in enumerate(sides)]
    return Parsed(render_page([find_run(path) for path in paths], max_episodes=limit))


def skeleton(page: Parsed) -> list[str]:
    return [tag for tag in page.tags if tag != "script"]


json_text = st.text(max_size=30) | st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join)


@settings(max_examples=200, deadline=None)
@given(value=json_text)
def test_any_text_stays_inside_its_element_and_reads_back(value: str) -> None:
    parsed = Parsed(f"<p></p>{block('facts', to_json(value), 'application/json')}<b>".encode())
    assert parsed.tags == ["p", "script", "b"]
    assert json.loads(parsed.read("facts")) == value


@settings(max_examples=40, deadline=None)
@given(sample=any_episode)
def test_any_episode_reads_back(tmp_path_factory: Any, sample: Episode) -> None:
    folder = tmp_path_factory.mktemp("page")
    page = page_of(folder, [sample])
    [[row]] = page.rows()
    body = page.body(row)
    assert skeleton(page) == skeleton(page_of(folder, [episode()]))
    assert row["task"] == sample.task_id and row["turns"] == len(sample.turns)
    assert row["score"] == pytest.approx(sample.score, nan_ok=True)
    assert body["start"]["observation"] == sample.start.observation
    assert [t["executed"] for t in body["turns"]] == [t.executed for t in sample.turns]
    assert [t["after"]["observation"] for t in body["turns"]] == [
        t.after.observation for t in sample.turns
    ]
    assert [t.get("raw_text") for t in body["turns"]] == [t.raw_text for t in sample.turns]
    shared = json.loads(page.read("facts"))["shared"][body["shared"]]
    assert shared.get("env_kwargs", {}) == sample.env_kwargs


@pytest.mark.parametrize("copies", [1, 400])
def test_hostile_episodes_add_no_element_and_read_back(tmp_path: Path, copies: int) -> None:
    page = page_of(tmp_path, [hostile()] * copies)
    assert skeleton(page) == skeleton(page_of(tmp_path, [episode()]))
    assert all(("id" in attributes) or not attributes for attributes, _ in page.scripts)
    assert len([a for a, _ in page.scripts if not a]) == 1, "one script runs: ours"
    body = page.body(page.rows()[0][-1])
    assert [t["executed"] for t in body["turns"]] == list(HOSTILE)
    assert body["details"]["error"] == "\n".join(HOSTILE)


def test_hostile_names_of_files_are_inert(tmp_path: Path) -> None:
    name = "{{data}}{{script}} <img onerror=x> & </title><script>.jsonl".replace("/", "\u2215")
    page = Parsed(render_page([find_run(write(tmp_path / name, [episode()]))]))
    assert page.title == name
    assert skeleton(page) == skeleton(page_of(tmp_path, [episode()]))


@pytest.mark.slow
def test_small_pages_are_readable_and_large_ones_packed(tmp_path: Path) -> None:
    assert set(page_of(tmp_path, make_episodes(3)).kinds().values()) == {"application/json"}
    large = page_of(tmp_path, make_episodes(3000))
    kinds = large.kinds()
    assert kinds["chunk-0"] == kinds["chunk-1"] == kinds["rows"] == "application/zlib"
    rows = large.rows()[0]
    for index in (0, 1499, 2999):
        assert large.body(rows[index])["options"]["task_id"] == f"toy/{index}"


@pytest.mark.parametrize(
    "chars", [10, CHUNK_CHARS - 1, CHUNK_CHARS, SIMPLE_CHARS, SIMPLE_CHARS + 1]
)
def test_chunks_of_every_size_hold_their_lines(chars: int) -> None:
    lines = [to_json("x" * chars), to_json("end"), to_json(1)]
    chunks = Chunks()
    places = [chunks.add(line) for line in lines]
    page = Parsed("".join(chunks.blocks()).encode())
    contents = [page.read(f"chunk-{chunk}").split("\n")[line] for chunk, line in places]
    assert contents == lines


def test_nothing_is_loaded_and_nothing_else_may_run(tmp_path: Path) -> None:
    write(tmp_path / "run.jsonl", [episode()])
    text = render_page([find_run(tmp_path / "run.jsonl")])
    page = Parsed(text)
    [script] = [content for attributes, content in page.scripts if not attributes]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in page.policy and f"script-src 'sha256-{digest}'" in page.policy
    assert "unsafe" not in page.policy and "require-trusted-types-for 'script'" in page.policy
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags)
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert sink not in script
    assert re.findall(r"https?://[^\"']+", text.decode()) == ["http://www.w3.org/2000/svg"]


def test_numbers_that_json_lacks_do_not_break_the_page(tmp_path: Path) -> None:
    odd = replace(turn(1), after=RecordedState("x", 0.5, float("nan"), "k", None))
    path = tmp_path / "run.jsonl"
    line = episode(turns=[turn(1)]).to_line()
    path.write_text(line.replace('"potential": 0.1', '"potential": NaN'))
    page = Parsed(render_page([find_run(path)]))
    [[row]] = page.rows()
    assert odd.after.potential != odd.after.potential
    assert page.body(row)["turns"][0]["after"]["potential"] == "nan"


def test_rows_sum_up_what_the_list_shows(tmp_path: Path) -> None:
    turns = [
        turn(1, action_valid=False, finish_reason="length"),
        turn(2, finish_reason="stop", prompt_tokens=None, completion_tokens=None),
    ]
    sample = episode(turns=turns, stop_reason="error", details={"error": "HTTP 500", "more": 1})
    [[row]] = page_of(tmp_path, [sample]).rows()
    assert (row["turns"], row["invalid"], row["tokens"]) == (2, 1, 111)
    assert row["terms"] == {"task": pytest.approx(0.6), "turn_cost": pytest.approx(-0.1)}
    assert row["paying"] == ["task", "turn_cost"] and row["finish"] == ["length", "stop"]
    assert (row["error"], row["stop"], row["key"]) == ("HTTP 500", "error", "1")
    unknown = episode(turns=[turn(1, prompt_tokens=None, completion_tokens=None)])
    assert page_of(tmp_path, [unknown]).rows()[0][0]["tokens"] is None
    thought = {"unused_outputs": [{"prompt_tokens": 100, "finish_reason": "length"}]}
    for some in ([turn(1, finish_reason="stop")], []):  # it counts as in reports
        sample = episode(turns=some, extra=thought)
        [[row]] = page_of(tmp_path, [sample]).rows()
        result = EpisodeResult.of(sample)
        assert row["tokens"] == result.prompt_tokens + result.completion_tokens >= 100
        assert row["finish"] == list(result.finish_reasons)


def test_broken_lines_are_counted_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = episode().to_line().encode()
    path.write_bytes(good + b"\xff\xfe\n" + good + b"{}\n\n" + good[:100])
    run = find_run(path)
    page = Parsed(render_page([run]))
    assert [row["key"] for row in page.rows()[0]] == ["1", "2"]
    [source] = json.loads(page.read("facts"))["runs"][0]["sources"]
    assert (source["episodes"], source["skipped"]) == (2, 3)
    assert source["reason"].startswith("line 2: expected a file of episodes in UTF-8")
    assert run.sources[0].skipped == 3


def test_records_skip_lines_with_a_word(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\xff\n" + episode().to_line().encode())
    skipped: list[tuple[int, str]] = []
    records = read_episodes(
        path, strict=False, on_skipped=lambda line, error: skipped.append((line, str(error)))
    )
    assert [record.task_id for record in records] == ["toy/1"]
    [(line, reason)] = skipped
    assert line == 1 and "UTF-8" in reason


@pytest.mark.parametrize("content", ["", "\n\n", "{}\n"])
def test_no_episode_is_an_error_that_says_what_to_do(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(
        DataError, match=r"at least one episode in .*run\.jsonl, got none"
    ) as failed:
        render_page([find_run(path)])
    assert ("line 1" in str(failed.value)) == (content == "{}\n")
    assert "agentgym eval --out FOLDER" in str(failed.value)


def test_a_run_folder_shows_what_was_evaluated_and_the_training(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "web"
    (run / "eval_episodes" / "alfworld").mkdir(parents=True)
    write(run / "episodes.jsonl", make_episodes(2))
    write(run / "eval_episodes" / "trained.jsonl", make_episodes(3))
    write(run / "eval_episodes" / "alfworld" / "trained.jsonl", make_episodes(1))
    page = Parsed(render_page([find_run(run)]))
    assert page.title == "web"
    keys = ["alfworld/trained:1", "trained:1", "trained:2", "trained:3", "training:1", "training:2"]
    assert [row["key"] for row in page.rows()[0]] == keys
    limited = Parsed(render_page([find_run(run)], max_episodes=2))
    assert [row["key"] for row in limited.rows()[0]] == [key for key in keys if key != "trained:3"]
    cut = {s["part"]: s["cut"] for s in json.loads(limited.read("facts"))["runs"][0]["sources"]}
    assert cut == {"alfworld/trained": False, "trained": True, "training": False}
    file = write(tmp_path / "runs" / "episodes.jsonl", make_episodes(1))
    [source] = find_run(file.parent).sources
    assert source.part == ""
    with pytest.raises(DataError, match=r"holds episodes\.jsonl"):
        find_run(tmp_path / "runs" / "web" / "eval_episodes" / "alfworld")


def row(task: str, seed: int | None = 0, part: str = "", **options: Any) -> dict[str, Any]:
    return {"task": task, "seed": seed, "part": part, "options": options}


def test_pairs_are_of_one_task_and_rather_of_one_seed() -> None:
    first = [row("a"), row("b", 1), row("b", 2), row("c"), row("")]
    second = [row("c", 9), row("b", 2), row("b", 3), row("a", training_step=7), row(""), row("d")]
    assert pair_rows(first, second) == [
        (0, 3, "seed"),
        (1, 2, "task"),
        (2, 1, "seed"),
        (3, 0, "task"),
    ]


def test_samples_of_a_task_are_paired_in_order_and_options_count() -> None:
    first = [row("a", horizon=5), row("a", horizon=9), row("a", horizon=9)]
    second = [row("a", horizon=9), row("a", horizon=9)]
    assert pair_rows(first, second) == [(1, 0, "seed"), (2, 1, "seed")]


def test_parts_of_two_run_folders_are_paired_by_name() -> None:
    first = [row("a", part="trained"), row("a", part="warm-start")]
    second = [row("a", part="warm-start"), row("a", part="oracle")]
    assert pair_rows(first, second) == [(1, 0, "seed")]
    assert pair_rows(first, [row("a", part="")]) == [(0, 0, "seed")]


def test_two_runs_know_their_pairs(tmp_path: Path) -> None:
    page = page_of(tmp_path, make_episodes(3), [*list(make_episodes(5))[1:]])
    first, second = page.rows()
    assert [summary.get("pair") for summary in first] == [None, 0, 1]
    assert [summary.get("pair") for summary in second] == [1, 2, None, None]
    assert first[1]["paired_by"] == "seed" and "options" not in first[0]


def run_view(capsys: Any, *argv: str) -> tuple[int, str, str]:
    code = main(["view", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_writes_beside_the_input(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "run.jsonl", make_episodes(3))
    with path.open("a") as file:
        file.write("{torn")
    code, out, _ = run_view(capsys, str(path))
    assert code == 0 and "3 episodes" in out and "1 line could not be read" in out
    page = tmp_path / "run.html"
    assert str(page) in out and len(Parsed(page.read_bytes()).rows()[0]) == 3
    assert run_view(capsys, str(path), "--max-episodes", "2")[0] == 0, "an older page is replaced"
    assert len(Parsed(page.read_bytes()).rows()[0]) == 2
    other_page = write(tmp_path / "b.jsonl", make_episodes(3))
    assert run_view(capsys, str(path), str(other_page))[0] == 0
    assert len(Parsed((tmp_path / "run-vs-b.html").read_bytes()).rows()) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "b.jsonl", "run-vs-b.html", "run.html", "run.jsonl",
    ]  # fmt: skip


def test_the_page_of_a_folder_is_in_it(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    for name in ("web-a", "web-b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "episodes.jsonl", make_episodes(1))
    for _ in range(2):  # the shell fills in the same paths again
        paths = sorted(map(str, tmp_path.glob("web-*")))
        assert run_view(capsys, *paths)[0] == 0
        assert run_view(capsys, paths[0])[0] == 0
    pages = ["episodes.jsonl", "view-vs-web-b.html", "view.html"]
    assert sorted(file.name for file in (tmp_path / "web-a").iterdir()) == pages
    monkeypatch.chdir(tmp_path / "web-b")
    assert run_view(capsys, ".", "../web-a")[0] == 0
    assert run_view(capsys, "../web-a", ".")[0] == 0
    assert sorted(file.name for file in (tmp_path / "web-a").iterdir()) == pages
    assert (tmp_path / "web-b/view-vs-web-a.html").exists()


@pytest.mark.parametrize("argv", ["view web.html", "compare web.html ."])
def test_a_page_is_no_input(tmp_path: Path, capsys: Any, monkeypatch: Any, argv: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("web.html").write_text("<p>")
    assert main(argv.split()) == 2
    message = capsys.readouterr().err
    assert "got web.html, a page for the browser" in message and "Expecting value" not in message


def test_a_folder_of_several_evaluations_is_one_run_of_parts(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "several"
    policies = ("--policy", "random", "--policy", "oracle")
    assert main(["eval", TOY_ID, *policies, "--num-tasks", "2", "--out", str(out)]) == 0
    names = json.loads((out / "leaderboard.json").read_text())["folders"]
    code, output, _ = run_view(capsys, str(out))
    assert code == 0 and "several: 4 episodes of 2 files" in output
    page = Parsed((out / "view.html").read_bytes())
    assert [row["part"] for row in page.rows()[0]] == [names[0]] * 2 + [names[1]] * 2
    (out / names[0] / "episodes.jsonl").unlink()
    assert "several: 2 episodes" in run_view(capsys, str(out))[1]


@pytest.mark.parametrize("inner", ["{}", "suite/{}"])
def test_folders_of_episodes_are_named(tmp_path: Path, capsys: Any, inner: str) -> None:
    (tmp_path / "more").mkdir()
    for number in range(22):
        folder = tmp_path / inner.format(f"run-{number:02}")
        folder.mkdir(parents=True)
        write(folder / "episodes.jsonl", make_episodes(1))
    code, _, err = run_view(capsys, str(tmp_path))
    first, last = (tmp_path / inner.format(name) for name in ("run-00", "run-19"))
    assert code == 2 and f"name one or two of these, which do: {first}, " in err
    assert err.endswith(f"{last} and 2 more\n") and "more," not in err


def test_the_command_opens_the_page_if_asked(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = str(write(tmp_path / "run.jsonl", make_episodes(1)))
    run_view(capsys, path)
    assert opened == []
    run_view(capsys, path, "--open")
    assert opened == [(tmp_path / "run.html").as_uri()]


def test_what_is_not_ours_is_not_overwritten(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "report.jsonl", make_episodes(1))
    report = tmp_path / "report.html"
    report.write_text("<p>a report</p>")
    code, _, err = run_view(capsys, str(path))
    assert code == 2 and "--out" in err and report.read_text() == "<p>a report</p>"
    old_text = path.read_bytes()
    code, _, err = run_view(capsys, str(path), "--out", str(path))
    assert code == 2 and "another file" in err and path.read_bytes() == old_text


@pytest.mark.parametrize("argv", [(), ("a", "b", "c"), ("gone",), ("one", "--max-episodes", "0")])
def test_bad_arguments_are_explained(tmp_path: Path, capsys: Any, argv: tuple[str, ...]) -> None:
    write(tmp_path / "one", make_episodes(1))
    paths = [word if word[:2] == "--" or word == "0" else str(tmp_path / word) for word in argv]
    try:
        code = main(["view", *paths])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2 and capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))


def test_more_than_two_runs_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="one run or two"):
        render_page([])
