"""What policies of several threads share, what a report holds of them, and what nobody sees."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgym.conversation import DEFAULT
from agentgym.endpoints.limiter import RateLimiter
from agentgym.errors import ConfigurationError, PolicyFailure
from agentgym.policies import ChatConfig, ChatPolicy, Policy, begin
from agentgym.policies.play import play
from agentgym.support.redaction import HIDDEN, Redactor, public_url
from tests.policies.endpoint import KEY, completion, press_next, refusal, texts
from tests.toy import ToyEnv

pytest.importorskip("openai")


def test_copies_play_at_the_same_time_with_histories_of_their_own(serve):
    together = threading.Barrier(4, timeout=20)

    def patient(body, number):
        if number <= 4:
            together.wait()
        return press_next(body, number)

    server = serve(patient)
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    policies = [policy, *[policy.copy() for _ in range(3)]]
    assert all(isinstance(player, Policy) for player in policies)
    tasks = ["toy/red-red", "toy/blue-blue", "toy/gold-gold", "toy/green-green"]

    def episode(player: ChatPolicy, task: str) -> bool:
        moments = [*play(player, ToyEnv(), seed=1, options={"task_id": task})]
        return bool(moments[-1].info["success"])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(episode, policies, tasks))
    assert server.most_in_flight == 4
    for request in server.requests:
        text = " ".join(content for role, content in texts(request["messages"]) if role == "user")
        assert sum(colour in text for colour in ("red", "blue", "gold", "green")) == 1
    assert [player.prompt_tokens for player in policies] == [22] * 4


def test_a_copy_begins_anew(serve):
    server = serve(press_next)
    policy = ChatPolicy(ChatConfig("m", server.url, seed=1), "sys")
    policy.seed(5)
    policy.act("next is red", {})
    other_policy = policy.copy()
    assert (other_policy.last_output, other_policy.prompt_tokens) == (None, 0)
    other_policy.act("next is blue", {})
    system, user = texts(server.requests[1]["messages"])
    assert system[1].endswith("\nsys") and user == ("user", "next is blue")
    assert policy.last_output is not None and server.requests[1]["seed"] == 1


def test_seeds_depend_on_settings_episode_and_turn_and_on_nothing_else(serve):
    server = serve(press_next)

    def seeds(config_seed: int | None, episode: int | None) -> list[int | None]:
        policy = ChatPolicy(ChatConfig("m", server.url, seed=config_seed), "").copy()
        if episode is not None:
            policy.seed(episode)
        begin(policy, "next is red", {})
        requests_before = len(server.requests)
        for _ in range(3):
            policy.act("next is red", {})
        return [request.get("seed") for request in server.requests[requests_before:]]

    first = seeds(1, 7)
    assert first == seeds(1, 7) and len(set(first)) == 3
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in first)
    assert not set(first) & {*seeds(2, 7), *seeds(1, 8)}
    assert seeds(None, 7) == [None] * 3
    assert seeds(3, None) == [3] * 3


def test_facts_identify_the_policy_and_hold_no_secret(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    config = ChatConfig(
        "m",
        f"http://user:pass-word-1@localhost:9/v1/?api-key={KEY}#{KEY}",
        "MY_KEY",
        instructions=f"Play \ud800 with {KEY}.",
        temperature=0.5,
        seed=3,
        stream=True,
        extra={"top_k": 5, "user": KEY, KEY: [KEY]},
    )
    policy = ChatPolicy(config, "")
    facts = policy.facts()
    expected = {
        "kind": "chat",
        "model": "m",
        "endpoint": "http://localhost:9/v1",
        "sampling": {"temperature": 0.5, "top_p": None, "seed": 3},
        "prompt": f"default {DEFAULT.sha256}",
        "window": None,
        "tools": False,
        "stream": True,
        "invalid_reasons": False,
        "max_tokens": 4096,
        "instructions": f"Play ? with {HIDDEN}.",
    }
    assert {name: facts[name] for name in expected} == expected
    assert facts["extra"]["top_k"] == 5
    payload = json.dumps(facts, allow_nan=False, ensure_ascii=False).encode()
    assert json.loads(payload) == facts
    assert policy.copy().facts() == facts
    text = str(facts) + repr(policy)
    assert KEY not in text and "pass-word-1" not in text
    assert "pass-word-1" not in repr(ChatConfig("m", config.base_url))


def test_a_failure_shows_no_secret_of_the_address(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = "http://user:pass-word-1@127.0.0.1:9/v1"
    policy = ChatPolicy(ChatConfig("m", url, retries=0), "")
    with pytest.raises(PolicyFailure, match=r"at http://127\.0\.0\.1:9/v1, got") as caught:
        policy.act("look", {})
    assert "pass-word-1" not in str(caught.value)
    with pytest.raises(ConfigurationError) as refused:
        ChatConfig("m", "ftp://user:pass-word-1@host/v1?key=pass-word-1")
    assert "pass-word-1" not in str(refused.value) and "ftp://host/v1" in str(refused.value)


def test_the_key_is_read_from_the_named_variable_alone(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", " the-other-key-4712\n")
    server = serve(press_next)
    ChatPolicy(ChatConfig("m", server.url, "MY_KEY"), "").act("next is red", {})
    ChatPolicy(ChatConfig("m", server.url, "NO_KEY"), "").act("next is red", {})
    assert server.keys == ["Bearer the-other-key-4712", "Bearer none"]
    monkeypatch.setenv("MY_KEY", "two\nlines-4712")
    with pytest.raises(ConfigurationError, match="MY_KEY") as caught:
        ChatPolicy(ChatConfig("m", server.url, "MY_KEY"), "")
    assert "4712" not in str(caught.value)


@pytest.mark.parametrize("key", ["x", "EMPTY", "none"])
def test_placeholders_for_keys_do_not_garble_messages(serve, monkeypatch, key):
    server = serve(lambda body, number: refusal("next exit: nonetheless EMPTYing failed", 401))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(PolicyFailure, match="next exit: nonetheless EMPTYing failed"):
        ChatPolicy(ChatConfig("m", server.url), "").act("look", {})


def test_secrets_are_hidden_in_every_form():
    hide = Redactor("p@ss/word 12", "p@ss", "").hide
    assert hide("a p@ss/word 12 b p%40ss%2Fword%2012 c") == f"a {HIDDEN} b {HIDDEN} c"
    assert hide("my p@ss: p@ssage") == f"my {HIDDEN}: p@ssage"
    assert Redactor().hide("all") == "all"
    assert public_url("http://[broken?key=1") == "http://[broken"


def test_requests_begin_at_even_distances():
    clock, starts = [100.0], []

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    limiter = RateLimiter(120, lambda: clock[0], sleep)
    for pause in (0.0, 0.0, 0.3, 2.0, 0.0):
        clock[0] += pause
        limiter.wait()
        starts.append(clock[0])
    assert starts == [100.0, 100.5, 101.0, 103.0, 103.5]


def test_a_policy_and_its_copies_share_one_rate_and_retries_count(serve):
    server = serve(lambda body, number: refusal("busy", 503) if number == 2 else completion("a"))
    policy = ChatPolicy(ChatConfig("m", server.url, requests_per_minute=1200), "")
    policies = [policy.copy() for _ in range(4)]
    start = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda player: player.act("look", {}), policies))
    # No more than the limit, however slow the machine is: five requests, 50 ms between two.
    assert len(server.requests) == 5 and time.monotonic() - start >= 4 * 0.05
