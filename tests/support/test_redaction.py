"""No secret that is given by a name or in an address reaches a file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.cli import main
from agentgym.envs.search import corpus as corpora
from agentgym.episodes import Recorder, read_episodes, replay
from agentgym.errors import ConfigurationError
from agentgym.evaluation import evaluate
from agentgym.support.redaction import (
    HIDDEN,
    for_others,
    hide_secrets,
    holds_hidden,
    is_secret,
    without_users,
)
from agentgym.trust import trusting
from tests.toy import TOY_ID, ToyEnv

SECRET, PASSWORD = "sk-live-8f3a1c77", "hunter2hunter2"
OWN = """
def policy(observation, info, api_key="", nested=None, endpoint=""):
    assert api_key and nested["tokens"]["access_token"]
    return f"press {observation.split()[-1]}"
"""


def on_disk(folder: Path) -> str:
    return "".join(file.read_text() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "apiKey", "OPENAI_API_KEY", "x-api-key", "token", "hf_token", "accessToken",
     "password", "db-password", "client_secret", "Authorization", "credentials", "api_keys",
     "basic_auth", "token_2", "auth_header", "primary_key", "secret_url", "tool_token"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert hide_secrets({"a": [{name: SECRET}]}) == {"a": [{name: HIDDEN}]}


@pytest.mark.parametrize(
    "name",
    ["max_tokens", "turn_tokens", "stop_token_ids", "tokenizer", "keyboard", "author", "monkey",
     "top_k", "answer_keys", "authored_by", "sort_key", "stop_token", "eosToken", "cookie_policy",
     "auth_mode", "api_key_env", "password_file", ""],
)  # fmt: skip
def test_names_that_are_none(name: str) -> None:
    assert not is_secret(name) and hide_secrets({name: 7}) == {name: 7}


def test_what_is_hidden_and_what_is_not() -> None:
    fields = {"url": f"see postgres://me:{PASSWORD}@host/db?a=b@c", "password": None, "token": True}
    assert hide_secrets(fields) == {**fields, "url": f"see postgres://{HIDDEN}@host/db?a=b@c"}
    assert hide_secrets({"headers": {"Authorization": SECRET}}) == {
        "headers": {"Authorization": HIDDEN}
    }
    assert hide_secrets({"token": {"value": SECRET}}) == {"token": HIDDEN}
    assert without_users({"a": [f"http://u:{PASSWORD}@h:1/x"]}) == {"a": ["http://h:1/x"]}
    assert without_users("http://h/x@y") == "http://h/x@y"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (f"api_key={SECRET}", f"api_key={HIDDEN}"),
        (f"shop.api_key={SECRET}", f"shop.api_key={HIDDEN}"),
        (f'headers={{"Authorization": "{SECRET}"}}', f'headers={{"Authorization": "{HIDDEN}"}}'),
        (f"url=http://h/?api_key={SECRET}&k=3", f"url=http://h/?api_key={HIDDEN}&k=3"),
        (f"http://h/?k=3&token={SECRET}#top", f"http://h/?k=3&token={HIDDEN}#top"),
        ('query={"a": [1,  2]}', 'query={"a": [1,  2]}'),
        ("difficulty=easy", "difficulty=easy"),
    ],
)
def test_arguments_of_the_command_line(argument: str, expected: str) -> None:
    assert for_others([argument]) == [expected]
    assert holds_hidden({"a": [expected]}) is (argument != expected)


def test_options_of_ones_own_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_secrets.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)

    def run(secret: str) -> None:
        nested = {"tokens": {"access_token": secret}, "kept": 1}
        options = {
            "api_key": secret, "nested": nested, "endpoint": f"http://me:{PASSWORD}@host/v1"
        }  # fmt: skip
        policy = {"policy": "own_secrets:policy", "policy_kwargs": options}
        plan = {"num_tasks": 3, "environments": [TOY_ID], "policies": ["random", policy]}
        (tmp_path / "plan.yaml").write_text(json.dumps(plan))
        assert main(["eval", "--config", "plan.yaml"]) == 2
        error = capsys.readouterr().err
        assert secret not in error and PASSWORD not in error
        flags = shlex.split(error.partition("; if you trust that, add ")[2].partition(" (in Py")[0])
        assert main(["eval", "--config", "plan.yaml", *flags]) == 0

    run(SECRET)
    text = on_disk(tmp_path / "runs")
    assert SECRET not in text and PASSWORD not in text
    [facts] = [
        row["policy_facts"]["options"]
        for file in (tmp_path / "runs").rglob("leaderboard.json")
        for row in json.loads(file.read_text())["rows"]
        if row["policy_facts"]
    ]
    assert facts == {
        "api_key": HIDDEN,
        "endpoint": f"http://{HIDDEN}@host/v1",
        "nested": {"tokens": {"access_token": HIDDEN}, "kept": 1},
    }
    run("sk-another")  # a key that was renewed makes no other evaluation
    assert len([*(tmp_path / "runs").iterdir()]) == 1
    output = capsys.readouterr()
    assert SECRET not in output.out + output.err


def test_further_fields_of_a_request_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    from agentgym.policies import ChatConfig, ChatPolicy

    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    extra = {"gateway_token": SECRET, "top_k": 3}
    policy = ChatPolicy(ChatConfig("m", "http://127.0.0.1:9/v1", extra=extra), "")
    assert policy.facts()["extra"] == {"gateway_token": HIDDEN, "top_k": 3}
    assert policy._request("red", {})["extra_body"] == extra


def test_the_user_of_a_search_server_is_not_recorded_and_the_record_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn")
    from tests.retrieval.servers import running

    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(corpora, "_libraries", {})
    small: dict[str, Any] = {"size": 1000, "difficulty": "easy", "shared_corpus": True}
    local: Any = gymnasium.make("agentgym/Search-v0", **small)
    with running(local.unwrapped.tasks.library.retriever("train")) as url:
        address = url.replace("http://", f"http://me:{PASSWORD}@")
        kwargs = {**small, "retriever_url": address}
        out = tmp_path / "out"
        report = evaluate("oracle", "agentgym/Search-v0", num_tasks=2, env_kwargs=kwargs, out=out)
        assert PASSWORD not in on_disk(out) + str(report)
        assert report.env_kwargs["retriever_url"] == url
        with trusting(f"retriever_url={url}"):
            for episode in read_episodes(out / "episodes.jsonl"):
                assert episode.not_stored == () and replay(episode).equal


class Locked(ToyEnv):
    """Needs a key."""

    def __init__(self, api_key: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert api_key == SECRET


def test_a_record_without_a_secret_argument_says_what_is_missing(tmp_path: Path) -> None:
    gymnasium.register("agentgym-test/Locked-v0", entry_point=Locked)
    try:
        env = gymnasium.make("agentgym-test/Locked-v0", api_key=SECRET)
        recorder = Recorder(env, tmp_path / "e.jsonl")
        recorder.reset(seed=0)
        recorder.step("press red")
        recorder.end("stopped")
        assert SECRET not in on_disk(tmp_path)
        [episode] = read_episodes(tmp_path / "e.jsonl")
        assert episode.env_kwargs == {"api_key": HIDDEN} and episode.not_stored == ("api_key",)
        with pytest.raises(ConfigurationError, match="its record does not contain api_key"):
            replay(episode)
        assert replay(episode, env).equal
    finally:
        del gymnasium.registry["agentgym-test/Locked-v0"]
