"""``openenv:URL``: environments of OpenEnv's servers, whatever the server does.

The server here is written by hand; `tests/conformance` has one of OpenEnv's own.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

pytest.importorskip("websockets", reason="websockets is in .ci/peers")

from agentgym.certification import Status, certify
from agentgym.core.guard import GuardedEnv
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure
from agentgym.interop.imported_env import ImportedEnv
from agentgym.interop.openenv.imported import make
from agentgym.registration.making import resolve
from tests.cli.test_commands import run
from tests.servers import serve_in_thread

TEXT = {
    "action": {"properties": {"text": {"type": "string"}, "metadata": {}}, "required": ["text"]},
    "observation": {"properties": {"text": {"type": "string"}, "done": {}, "reward": {}}},
}
MOVE = {
    "action": {
        "properties": {
            "side": {"$ref": "#/$defs/Side"},
            "steps": {"type": "integer", "default": 1},
        },
        "required": ["side"],
        "$defs": {"Side": {"enum": ["left", "right"], "type": "string"}},
    },
    "observation": {"properties": {"place": {"type": "integer"}, "map": {"type": "string"}}},
}
SPLITS = {"train": 5, "test": 3}


class Fake:
    """A server of one kind of schema, with one fault in its turns or its facts."""

    def __init__(self, fault: str = "", schema: Any = TEXT, *, listed: bool = True) -> None:
        self.fault, self.schema, self.listed = fault, schema, listed
        self.token = ""
        self.resets: list[dict[str, Any]] = []
        self.sessions, self.most_sessions = 0, 100

    async def facts(self, request: Request) -> Response:
        path = request.url.path
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return JSONResponse({"error": "who?"}, 401)
        if self.fault == "html":
            return HTMLResponse("<html>welcome</html>")
        if path == "/schema":
            return JSONResponse({} if self.fault == "no schema" else self.schema)
        if path == "/list_environments":
            return JSONResponse(["fake"])
        if not self.listed:
            return JSONResponse({"detail": "no"}, 501)
        if path == "/fake/splits":
            return JSONResponse([{"name": name, "type": name} for name in SPLITS])
        query = await request.json()
        if path == "/fake/num_tasks":
            number: Any = "many" if self.fault == "sizes" else SPLITS[query["split"]]
            return JSONResponse({"num_tasks": number})
        return JSONResponse({"task": {"id": f"it {query['index']}", "goal": "say yes"}})

    async def play(self, socket: WebSocket) -> None:
        await socket.accept()
        if self.sessions >= self.most_sessions:
            data = {"message": "at capacity", "code": "CAPACITY_REACHED"}
            await socket.send_json({"type": "error", "data": data})
            return await socket.close()
        self.sessions += 1
        try:
            while True:
                message = await socket.receive_json()
                if message["type"] == "close":
                    return await socket.close()
                if message["type"] == "reset":
                    self.resets.append(message["data"])
                    await socket.send_text(json.dumps(self.begun(message["data"])))
                else:
                    await self.step(socket, message["data"])
        except WebSocketDisconnect:
            pass
        finally:
            self.sessions -= 1

    def begun(self, options: dict[str, Any]) -> dict[str, Any]:
        place = len(self.resets) if self.fault == "seeds differ" else options["seed"]
        if self.fault == "seeds alike":
            place = 0
        text = {"text": f"place {place}"} if self.schema is TEXT else {"place": place, "map": "_"}
        answer = {"observation": text, "reward": None, "done": False}
        return {"type": "observation", "data": answer}

    async def step(self, socket: WebSocket, action: dict[str, Any]) -> None:
        text: Any = {"text": json.dumps(action)}
        answer: dict[str, Any] = {"observation": text, "reward": 0.5, "done": False}
        answer["metadata"] = {"legal_moves": ["yes", "no"]}
        if action.get("text") == "yes":
            answer |= {"reward": 1.0, "done": True}
        match self.fault if self.fault != "picky" else action.get("text"):
            case "dies" | "breaks it":
                return await socket.close(1011)
            case "hangs":
                await asyncio.sleep(600)
            case "garbage":
                return await socket.send_text("<html>busy</html>")
            case "large":
                return await socket.send_text(json.dumps("x" * (1 << 23)))
            case "refuses" | "is refused":
                answer = {"message": "the shop is closed", "code": "EXECUTION_ERROR"}
                return await socket.send_json({"type": "error", "data": answer})
            case "nan" | "is not scored":
                answer["reward"] = float("nan")
            case "words":
                answer["reward"] = "much"
            case "done":
                answer["done"] = "no"
            case "fields":
                answer["observation"] = {"other": 1}
            case "metadata":
                answer["metadata"] = {"success": True, "score": 120.0, "action_valid": False}
            case "ours":
                answer["metadata"] = {"action_valid": False, "stop_reason": "", "score": 0.25}
            case "unpaid":
                answer |= {"reward": None, "done": True}
            case "list":
                answer = {"observation": [], "reward": 0.0, "done": False}
        await socket.send_text(json.dumps({"type": "observation", "data": answer}))


@contextmanager
def served(fake: Fake) -> Iterator[str]:
    routes = [
        Route("/{path:path}", fake.facts, methods=["GET", "POST"]),
        WebSocketRoute("/ws", fake.play),
    ]
    app = Starlette(routes=routes)
    with serve_in_thread(app, lifespan="off", timeout_graceful_shutdown=1) as url:
        yield url


@contextmanager
def opened(fake: Fake, **options: Any) -> Iterator[ImportedEnv]:
    with served(fake) as url:
        env = make(url, **options)
        try:
            yield env
        finally:
            env.close()


def test_tasks_are_those_of_the_server() -> None:
    fake = Fake()
    with opened(fake, room="blue") as env:
        assert {split: env.tasks.len(split) for split in env.tasks.splits} == SPLITS
        observation, info = env.reset(seed=5, options={"split": "test", "index": 2})
        assert fake.resets[-1] == {
            "seed": fake.resets[-1]["seed"], "room": "blue", "split": "test", "index": 2,
        }  # fmt: skip
        assert observation == f"place {fake.resets[-1]['seed']}"
        assert info["goal"] == "say yes" and info["admissible_actions"] == []
        assert env.reset(seed=5, options={"split": "test", "index": 2})[0] == observation
        text, reward, terminated, _, info = env.step("no")
        assert (json.loads(text), reward, terminated) == ({"text": "no"}, 0.5, False)
        assert sorted(info["admissible_actions"]) == ["no", "yes"]
        _, reward, terminated, _, info = env.step("yes")
        assert (reward, terminated, info["success"], info["score"]) == (1.0, True, True, 1.0)
        assert env.tasks.panel("test", 3).sha256 == env.tasks.panel("test", 3).sha256
        assert env.tasks.task("test", 1).content["task"]["id"] == "it 1"
        assert not any("seed" in limit for limit in env.limits)


@pytest.mark.parametrize(
    ("fault", "words"),
    [("", ""), ("seeds differ", "does not fix the task"), ("seeds alike", "may ignore the seed")],
)
def test_whether_seeds_count_is_told(fault: str, words: str) -> None:
    fake = Fake(fault, listed=False)
    with opened(fake, sizes={"test": 4}) as env:
        assert env.tasks.len("test") == 4
        env.reset(seed=0, options={"split": "test", "index": 3})
        assert fake.resets[-1] == {"seed": env.task.content["seed"]}
        limits = [limit for limit in env.limits if "seed" in limit]
        assert len(limits) == bool(words) and words in "".join(limits)
        assert ("seed_counts" in env.task.content) == (fault == "seeds differ")


NESTED = {
    "action": {
        "$defs": {
            "Point": {
                "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
                "required": ["x", "y"],
                "type": "object",
            },
            "Pen": {"enum": ["up", "down"], "type": "string"},
        },
        "properties": {
            "to": {"anyOf": [{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Pen"}]},
            "path": {"items": {"$ref": "#/$defs/Point"}, "type": "array"},
            "kind": {"const": "draw"},
            "metadata": {"type": "object"},
            **{f"o{n}": {"anyOf": [{"type": "integer"}, {"type": "null"}]} for n in range(6)},
        },
        "required": ["to", "kind"],
    },
    "observation": MOVE["observation"],
}


def test_actions_may_be_nested_and_have_many_fields() -> None:
    fields = {"to": {"x": 1, "y": 2.5}, "kind": "draw", "path": [{"x": 0, "y": 0}]}
    fields |= {f"o{n}": n for n in range(6)}
    with opened(Fake(schema=NESTED), grammar="tool_call") as env:
        env.reset(seed=0)
        for action in (fields, {**fields, "to": "up"}):
            call = json.dumps({"name": "act", "arguments": action})
            observation, *_, info = env.step(f"<tool_call>{call}</tool_call>")
            assert info["action_valid"] and json.loads(json.loads(observation)["text"]) == action
        assert '{"x": number, "y": number} or "up" or "down"' in env.action_prompt()


@pytest.mark.parametrize(
    ("fault", "valid", "score"), [("", True, 0.5), ("metadata", True, 0.5), ("ours", False, 0.25)]
)
def test_metadata_of_others_is_not_ours(fault: str, valid: bool, score: float) -> None:
    with opened(Fake(fault)) as env:
        env.reset(seed=0)
        *_, terminated, _, info = env.step("no")
        assert (terminated, info["success"]) == (False, False)
        assert (info["action_valid"], info["score"]) == (valid, score)


def test_actions_of_several_fields_are_called() -> None:
    with opened(Fake(schema=MOVE)) as env:
        assert env.action_specs[0].param("side").enum == ("left", "right")  # type: ignore[union-attr]
        observation, _ = env.reset(seed=0)
        assert set(json.loads(observation)) == {"place", "map"}
        assert not env.step("left")[4]["action_valid"]
        env.reset(seed=0)
        env.close()
    with opened(Fake(schema=MOVE), observation_field="map", grammar="tool_call") as env:
        assert env.reset(seed=0)[0] == "_"


FAULTS = {
    "dies": "the server at",
    "hangs": "took more than 1 seconds",
    "garbage": "got status 200 and '<html>busy</html>'",
    "large": "the server at",
    "refuses": "the shop is closed",
    "nan": "NaN, which is no number",
    "words": "expected a number as reward, got 'much'",
    "done": "expected done to be true or false",
    "fields": "expected an observation with text",
    "unpaid": "expected a reward by the end",
    "list": "expected an observation with text",
}


@pytest.mark.parametrize("before", [[], ["yes and no"], ["no", "no"]])
@pytest.mark.parametrize("action", ["breaks it", "is refused", "is not scored"])
def test_an_action_on_which_the_server_fails_is_a_wrong_one(action: str, before: list[str]) -> None:
    with opened(Fake("picky")) as env:
        env.reset(seed=0)
        for word in before:
            assert not env.step(word)[2]
        _, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["success"]) == (0.0, True, False)
        assert info["stop_reason"] == "action_error" and info["details"]["reason"]
        assert env.reset(seed=0)[0].startswith("place")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_the_episode_and_pays_nothing(fault: str) -> None:
    fake = Fake(fault)
    with opened(fake, timeout=1 if fault == "hangs" else 60) as env:
        guarded = GuardedEnv(env)
        guarded.reset(seed=0)
        with pytest.raises(EnvFailure, match=FAULTS[fault]):
            guarded.step("no")
        assert guarded.reset(seed=0)[0].startswith("place")
    deadline = time.monotonic() + 30
    while fake.sessions and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not fake.sessions


@pytest.mark.parametrize(
    ("fake", "options", "error", "words"),
    [
        (Fake("html"), {}, EnvFailure, "<html>welcome</html>"),
        (Fake("no schema"), {}, EnvFailure, "/schema"),
        (Fake("sizes"), {}, EnvFailure, "number of tasks"),
        (Fake(), {"timeout": -1}, ConfigurationError, "timeout"),
        (Fake(), {"action_field": "x"}, ConfigurationError, "action_field to be one of text"),
        (Fake(), {"observation_field": "x"}, ConfigurationError, "observation_field"),
    ],
)
def test_what_cannot_be(
    fake: Fake, options: dict[str, Any], error: type[AgentGymError], words: str
) -> None:
    with served(fake) as url, pytest.raises(error, match=words):
        make(url, **options)


@pytest.mark.slow
def test_a_server_with_one_session_can_be_certified() -> None:
    fake = Fake(listed=False)
    fake.most_sessions = 1
    checks = ("seed_control", "idle", "again", "interleaved", "process", "unbroken")
    with served(fake) as url:
        certificate = certify(f"openenv:{url}", checks, num_tasks=4)
    statuses = {result.check: result.status for result in certificate.results}
    assert statuses.pop("interleaved") is Status.NOT_APPLICABLE
    assert "max_concurrent_envs" in certificate["interleaved"].summary
    assert set(statuses.values()) == {Status.PASS}, certificate.markdown()


def test_a_token_stands_in_no_message_and_no_record(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake("dies")
    fake.token = "a token of some length"
    with served(fake) as url:
        with pytest.raises(EnvFailure, match="set AGENTGYM_OPENENV_TOKEN"):
            make(url)
        monkeypatch.setenv("AGENTGYM_OPENENV_TOKEN", fake.token)
        flags = ("--env-kwargs", "horizon=3", "--no-scale", "--split", "test", "--num-tasks", "2")
        _, output, errors = run(capsys, "eval", f"openenv:{url}", *flags, "--out", str(tmp_path))
        assert "2 failed" in output or "broken" in output + errors
        texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
        assert not [text for text in (output, errors, *texts) if fake.token in text]
    with pytest.raises(ConfigurationError, match="without users, passwords"):
        resolve("openenv:http://someone:secret@127.0.0.1:8000")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "http://", "http://a b"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(
        ConfigurationError, match="expected the address of a running OpenEnv server"
    ):
        make(url)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(EnvFailure, match="expected OpenEnv's server at"):
        make("http://127.0.0.1:9")


def test_every_door_knows_the_name(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with served(Fake()) as url:
        name = f"openenv:{url}"
        flags = ("--env-kwargs", "horizon=3", "--no-scale", "--split", "test", "--num-tasks", "3")
        code, output, errors = run(capsys, "eval", name, *flags, "--out", str(out))
        assert code == 0, errors
        code, _, errors = run(capsys, "replay", str(out))
        assert code == 2 and f"--trust env={name}" in errors
        assert run(capsys, "replay", str(out), "--trust", f"env={name}")[0] == 0
        assert run(capsys, "view", str(out), "--out", str(tmp_path / "page.html"))[0] == 0
        checks = ("--checks", "expert", "again")
        output = run(capsys, "certify", name, "--split", "test", "--num-tasks", "2", *checks)[1]
        assert "there is no expert" in output
        monkeypatch.setattr(sys, "stdin", io.StringIO("no\nyes\n"))
        code, output, _ = run(capsys, "play", name)
        assert code == 0 and "place" in output
        pytest.importorskip("torch")
        from trainers.cli import main

        assert main(["--env", name, "--dry-run"]) == 0
