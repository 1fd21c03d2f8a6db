"""The server: who is answered, what a visit is, and what is recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.envs.webshop.browser import Visits, serve
from agentgym.episodes import read_episodes
from agentgym.errors import ConfigurationError
from agentgym.registration.making import make_env
from tests.envs.webshop.browser.shops import SMALL, TOKEN, Shop

Serve = Callable[..., Shop]


@pytest.fixture
def server(shop: Serve) -> Iterator[Shop]:
    """A server on which every refused request leaves no visit behind."""
    yield (served := shop())
    assert len(served.visits) == 0


def buy(served: Shop, state: dict[str, Any]) -> dict[str, Any]:
    """Shop as the expert does."""
    env = served.env()
    task = state["task"]
    _, info = env.reset(seed=task["seed"], options={k: task[k] for k in ("split", "index")})
    while not state["stop_reason"]:
        action = env.demonstrator().act("", info)
        observation, _, _, _, info = env.step(action)
        state = served.act(state, action)
        assert state["observation"] == observation
        assert state["admissible"] == info["admissible_actions"]
    return state


def test_the_page_and_its_files(server: Shop) -> None:
    status, data, headers = server.request("GET", f"/{TOKEN}/")
    assert status == 200 and b"agentgym" in data
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
    assert b"http://" not in data and b"https://" not in data, "nothing comes from a network"
    for name in ("shop.css", "dom.js", "page.js", "agent.js", "app.js"):
        status, data, headers = server.request("GET", f"/{TOKEN}/static/{name}")
        assert status == 200 and headers["x-content-type-options"] == "nosniff"
        assert b"innerHTML" not in data and b"https://" not in data
    for name in ("x.js", "..%2fserver.py", "%2e%2e/server.py", "shop.html"):
        assert server.request("GET", f"/{TOKEN}/static/{name}")[0] == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1"},
        {"Host": "user@127.0.0.1:{port}"},
        {"Host": "[::1"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
)
def test_requests_of_others_are_refused(server: Shop, headers: dict[str, str]) -> None:
    request_headers = {name: value.format(port=server.port) for name, value in headers.items()}
    server.headers.update(request_headers)
    status, data, answered = server.request("POST", f"/{TOKEN}/api/begin", {})
    assert status == 403 and json.loads(data)["error"]
    assert "content-security-policy" in answered


@pytest.mark.parametrize(
    "token", ["", "x", TOKEN[:-1], TOKEN + "x", "%00", "\u00e9".encode().hex()]
)
def test_without_the_token_there_is_nothing(server: Shop, token: str) -> None:
    for path in (f"/{token}", f"/{token}/", f"/{token}/static/app.js"):
        status, data, _ = server.request("GET", path)
        assert status == 403 and b"agentgym serve" in data
    assert server.request("POST", f"/{token}/api/begin", {})[0] == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_the_names_of_this_machine_are_good(shop: Serve, host: str) -> None:
    served = shop()
    place = f"{host}:{served.port}"
    served.headers.update(
        {"Host": place, "Origin": f"http://{place}", "Sec-Fetch-Site": "same-origin"}
    )
    assert served.ask("begin")["turn"] == 0


def test_a_link_from_elsewhere_opens_the_page_only(server: Shop) -> None:
    named = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert server.request("GET", f"/{TOKEN}/", **named)[0] == 200


@pytest.mark.parametrize(
    ("endpoint", "body", "status", "words"),
    [
        ("begin", b"{", 400, "JSON object"),
        ("begin", b"[]", 400, "JSON object"),
        ("begin", b"[" * 50_000, 400, "JSON object"),
        ("begin", b" " * 70_000, 413, "at most"),
        ("begin", {"session": 5}, 400, "session"),
        ("begin", {"split": "nowhere"}, 404, "split"),
        ("begin", {"split": "test", "index": 10**9}, 404, "index"),
        ("begin", {"split": "test", "index": -1}, 404, "index"),
        ("begin", {"split": 5}, 400, "split"),
        ("begin", {"task_id": "webshop/x"}, 404, "task"),
        ("begin", {"task_id": "x", "split": "test"}, 400, "either"),
        ("begin", {"seed": "x"}, 400, "seed"),
        ("begin", {"seed": -1}, 400, "seed"),
        ("look", {}, 400, "session"),
        ("look", {"session": "x"}, 410, "closed"),
        ("act", {"session": "x", "turn": 0, "action": "y"}, 410, "closed"),
        ("act", {"session": "x", "turn": True, "action": "y"}, 400, "turn"),
        ("act", {"session": "x", "turn": 0}, 400, "action"),
        ("act", {"session": "x", "turn": 0, "action": ["y"]}, 400, "action"),
        ("act", {"session": "x", "turn": 0, "search": None}, 400, "search"),
        ("sell", {}, 404, "request of the page"),
    ],
)
def test_bad_requests_are_told_apart(
    server: Shop, endpoint: str, body: Any, status: int, words: str
) -> None:
    response_status, data, _ = server.request("POST", f"/{TOKEN}/api/{endpoint}", body)
    assert (response_status, words in json.loads(data)["error"]) == (status, True), data


def test_a_wrong_choice_of_a_task_ends_no_episode(shop: Serve) -> None:
    served = shop()
    state = served.act(served.ask("begin"), "search[rug]")
    status, _ = served.post("begin", session=state["session"], split="test", index=10**9)
    assert status == 404 and len(served.visits) == 1
    assert served.act(state, "click[back to search]")["turn"] == 2


def test_tasks_are_chosen_by_place_by_id_and_by_seed(shop: Serve) -> None:
    served = shop(visits={"split": "valid", "seed": 3})
    first = served.ask("begin")
    assert (first["task"]["split"], first["task"]["seed"]) == ("valid", 3)
    env = served.env()
    env.reset(seed=3, options={"split": "valid"})
    assert first["task"]["id"] == env.task.id
    placed = served.ask("begin", session=first["session"], split="test", index=5, seed=8)
    assert placed["task"] == {
        "id": env.tasks.task("test", 5).id, "split": "test", "index": 5, "seed": 8,
    }  # fmt: skip
    named = served.ask("begin", task_id=placed["task"]["id"])
    assert named["task"]["index"] == 5 and named["goal"] == placed["goal"]
    assert placed["splits"] == {name: env.tasks.len(name) for name in env.tasks.splits}
    assert len(served.visits) == 2 and placed["session"] == first["session"] != named["session"]


def test_odd_words_are_searched_and_odd_actions_are_turns(shop: Serve) -> None:
    served = shop(horizon=100)
    state = served.ask("begin")
    for words in ("<script>alert(1)</script>", "a]b[c", "\x00\x1b[31m", "<think>x", "\ud800 rug",
                  "x" * 5000, "\u202e rug", "😀", "a\nb"):  # fmt: skip
        body = {"session": state["session"], "turn": state["turn"], "search": words}
        state = served.ask("act", **body)
        assert state["kind"] == "results" and state["turns"][-1]["valid"], words
    for words in ("", " \n ", "[]"):
        body = {"session": state["session"], "turn": state["turn"], "search": words}
        assert served.post("act", **body)[0] == 400
    for action in ("", "click[", "x" * 8000, "<think>", "click[\x00]", "\udfff"):
        state = served.act(state, action)
        assert not state["turns"][-1]["valid"]
    body = {"session": state["session"], "turn": state["turn"], "action": "x" * 9000}
    assert served.post("act", **body)[0] == 413


def test_a_page_that_lags_behind_does_nothing(shop: Serve) -> None:
    served = shop()
    state = served.ask("begin")
    served.act(state, "search[rug]")
    status, answer = served.post("act", session=state["session"], turn=0, action="search[lamp]")
    assert status == 409 and "turn 1" in answer["error"]
    assert served.ask("look", session=state["session"])["query"] == "rug"


def test_nothing_happens_after_the_end(shop: Serve) -> None:
    served = shop(horizon=1)
    state = served.act(served.ask("begin"), "search[rug]")
    assert state["stop_reason"] == "horizon" and state["admissible"] == []
    assert all(part["action"] is None for part in state["page"]) and state["others"] == []
    status, answer = served.post("act", session=state["session"], turn=1, action="search[rug]")
    assert status == 409 and "over" in answer["error"]


def test_visits_are_bounded_and_idle_ones_closed(shop: Serve) -> None:
    clock = [0.0]
    served = shop(visits={"limit": 3, "idle": 100.0, "clock": lambda: clock[0]})
    sessions = [served.ask("begin")["session"] for _ in range(3)]
    served.ask("look", session=sessions[0])
    fourth = served.ask("begin")["session"]
    assert len(served.visits) == 3
    assert served.post("look", session=sessions[1])[0] == 410, "it was idle for longest"
    clock[0] = 60.0
    served.ask("look", session=fourth)
    clock[0] = 120.0
    served.ask("look", session=fourth)
    assert len(served.visits) == 1
    renewed = served.ask("begin", session=sessions[0])
    assert renewed["session"] not in sessions, "an id is the server's to choose"


def test_visits_do_not_disturb_each_other(shop: Serve, tmp_path: Path) -> None:
    served = shop(visits={"record": tmp_path / "demos.jsonl"})
    problems: list[BaseException] = []

    def person(index: int) -> None:
        try:
            for turn in range(3):
                place = {"split": "test", "index": 3 * index + turn}
                assert buy(served, served.ask("begin", **place))["success"]
        except BaseException as problem:
            problems.append(problem)

    people = [threading.Thread(target=person, args=(index,)) for index in range(6)]
    for thread in people:
        thread.start()
    for thread in people:
        thread.join()
    assert problems == []
    episodes = list(read_episodes(tmp_path / "demos.jsonl"))
    assert sorted(int(episode.task_id.rsplit("/")[-1]) for episode in episodes) == list(range(18))


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"observation_mode": "text_rich", "grammar": "tool_call", "reward": "strict"},
        {"observation_mode": "compact", "difficulty": "medium", "size": 200},
        {"observation_mode": "compact", "grammar": "xml"},
    ],
)
def test_demonstrations_replay_and_can_be_learned_from(
    shop: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], kwargs: dict[str, Any]
) -> None:
    file = tmp_path / "new" / "demos.jsonl"
    served = shop(visits={"record": file}, **kwargs)
    state = served.ask("begin", split="test", index=2, seed=4)
    assert state["record"] == {"file": "demos.jsonl", "written": 0, "waiting": 0, "problem": ""}
    state = buy(served, state)
    assert state["success"] and state["record"]["written"] == 1
    answer = served.act(served.ask("begin", session=state["session"]), "nothing of the kind")
    restarted = served.ask("begin", session=answer["session"], split="test", index=3)
    assert buy(served, restarted)["record"]["written"] == 2, "what is left early is not recorded"
    episodes = list(read_episodes(file))
    assert [episode.policy for episode in episodes] == ["human"] * 2
    assert [episode.seed for episode in episodes] == [4, 0]
    assert main(["replay", str(file)]) == 0
    assert "2 equal" in capsys.readouterr().out.replace("\n", " ")
    sft = tmp_path / "sft.jsonl"
    assert main(["export", str(file), str(sft), "--to", "sft", "--text", "action"]) == 0
    rows = [json.loads(line) for line in sft.read_text().splitlines()]
    assert len(rows) == 2 and rows[0]["messages"][0]["role"] == "system"


def test_an_episode_that_cannot_be_written_waits(
    shop: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "demos.jsonl"
    served = shop(visits={"record": file}, horizon=1)
    file.unlink()
    file.mkdir()
    state = served.act(served.ask("begin"), "search[rug]")
    assert state["record"]["waiting"] == 1 and "demos.jsonl" in state["record"]["problem"]
    file.rmdir()
    state = served.act(served.ask("begin"), "search[lamp]")
    assert state["record"] == {"file": "demos.jsonl", "written": 2, "waiting": 0, "problem": ""}
    actions = [episode.turns[0].action for episode in read_episodes(file)]
    assert actions == ["search[rug]", "search[lamp]"]


def visits_of(**kwargs: Any) -> Visits:
    return Visits(lambda: make_env("agentgym/WebShop-v0", SMALL, "--env-kwargs"), **kwargs)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("content", ["a diary\n", '{"format": "other"}\n', "\xff"])
def test_a_file_of_something_else_is_kept(tmp_path: Path, content: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(ConfigurationError, match="--record"):
        visits_of(record=file)
    assert file.read_text(encoding="latin-1") == content


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected a file"):
        visits_of(record=tmp_path)
    with pytest.raises(ConfigurationError, match="split"):
        visits_of(split="nowhere")
    with pytest.raises(ConfigurationError, match="seed"):
        visits_of(seed=-1)
    for host in ("0.0.0.0", "192.0.2.1", "example.org"):
        with pytest.raises(ConfigurationError, match="only this machine"):
            serve(visits_of(), host=host, port=0)
    with pytest.raises(ConfigurationError, match="port"):
        serve(visits_of(), port=70_000)
