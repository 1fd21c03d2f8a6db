"""What a model is sent under the protocol of a paper: the exact messages, by both doors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.conversation import Layout, Prompt
from agentgym.core.env import TextEnv
from agentgym.episodes import read_episodes
from agentgym.errors import ConfigurationError
from agentgym.evaluation import Report, load_protocol, read_report
from agentgym.policies import ChatConfig, ChatPolicy
from agentgym.policies.play import play
from tests.envs.swe.boxed import needs_box
from tests.policies.endpoint import ChatServer, completion, texts

pytest.importorskip("openai")

Run = Callable[[ChatServer, str, str], Report]
GENERATED: dict[str, dict[str, Any]] = {
    "alfworld": {"data": None, "difficulty": "easy"},
    "webshop": {"data": None, "size": 600, "difficulty": "easy"},
    "search": {"questions": None, "size": 2000, "difficulty": "easy"},
    "swe": {"data": "bundled"},
    "textworld": {"data": None},
}
ACTIONS = {
    "alfworld": ["look", "inventory", "go to Sofa 9", "dance {task}", "look", "look"],
    "webshop": ["search[usb hub]", "click[next >]", "click[{observation}]", "click[< prev]",
                "search[lamp]", "click[back to search]"],
    "search": [f"<search>{words}</search>" for words in ("mentor", "{task}", "town", "book", "x",
                                                         "more")],
    "swe": ["ls", "echo {observation}", "cat none", "pwd", "false", "python -m pytest -q"],
    "textworld": ["look", "dance {task}", "inventory", "go east", "look", "go west"],
}  # fmt: skip


def by_function(server: ChatServer, protocol: str, env: str) -> Report:
    policy = ChatPolicy(ChatConfig("m", server.url), "never sent")
    return agentgym.evaluate(policy, env, "train", 1, protocol=protocol, horizon=6,
                             concurrency=1, env_kwargs=GENERATED[env])  # fmt: skip


def by_command(server: ChatServer, protocol: str, env: str) -> Report:
    pairs = [f"{name}={json.dumps(value)}" for name, value in GENERATED[env].items()]
    command = ["eval", env, "--policy", "chat", "--model", "m", "--base-url", server.url]
    more = ["--protocol", protocol, "--split", "train", "--num-tasks", "1", "--horizon", "6"]
    assert main([*command, *more, "--scale", "False", "--out", "out", "--env-kwargs", *pairs]) == 0
    return read_report("out")


@pytest.fixture(params=[by_function, by_command])
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    runner: Run = request.param
    return runner


def script(env: str, form: str) -> Callable[[dict[str, Any], int], Any]:
    return lambda body, number: completion(form.replace("ACT", ACTIONS[env][(number - 1) % 6]))


def play_again(name: str, report: Report, form: str) -> tuple[str, list[str], list[list[str]]]:
    """Play the same once more; return the task, and observations and admissible actions by turn."""
    env: Any = agentgym.make(name, **report.env_kwargs)
    base: TextEnv = env.unwrapped
    actions = iter(form.replace("ACT", action) for action in ACTIONS[name])

    class Script:
        def act(self, observation: str, info: Any) -> str:
            return next(actions)

    options = {"task_id": report.rows[0].task_id, "horizon": 6}
    moments = [*play(Script(), env, seed=0, options=options)]
    native = [
        [base.language.read(action).native for action in moment.info["admissible_actions"]]
        for moment in moments
    ]
    env.close()
    return moments[0].info["goal"], [moment.observation for moment in moments], native


TAGGED = "<think>click[this] <action>look</action></think>\n<action>ACT</action>"
HOUSE = """Choose your next command. First reason about where things stand, inside <think> \
</think>. Then write one of the possible commands inside <action> </action>.
"""
SHOP = """Choose your next action. First reason about where things stand and which action brings \
you closer to the right product, inside <think> </think>. Then write one of the possible actions \
inside <action> </action>.
"""


def test_verl_agent_in_alfworld(serve: Any, run: Run) -> None:
    server = serve(script("alfworld", TAGGED))
    report = run(server, "verl-agent", "alfworld")
    task, observations, admissible = play_again("alfworld", report, TAGGED)
    listed = [
        "\n ".join(f"'{action}'" for action in actions if action != "help")
        for actions in admissible
    ]
    assert "help" in admissible[0] and observations[4] == "Nothing happens."
    head = "You control a robot in a household and act by short commands."
    first = f"""{head}
What you see: {observations[0]}
Commands that are possible now: [{listed[0]}].

{HOUSE}"""
    second = f"""{head} Your task is to: {task}
You have taken 1 step(s) so far. The last 1 observation(s), each with the command that you gave: \
[Observation 1: '{observations[0]}', Action 1: 'look']
This is step 2. What you see: {observations[1]}
Commands that are possible now: [{listed[1]}].

{HOUSE}"""
    fifth = f"""{head} Your task is to: {task}
You have taken 4 step(s) so far. The last 2 observation(s), each with the command that you gave: \
[Observation 3: '{observations[2]}', Action 3: 'go to Sofa 9']
[Observation 4: '{observations[3]}', Action 4: 'dance {{task}}']
This is step 5. What you see: {observations[4]}
Commands that are possible now: [{listed[4]}].

{HOUSE}"""
    conversations = [texts(request["messages"]) for request in server.requests]
    assert [conversations[0], conversations[1], conversations[4]] == [
        [("user", prompt)] for prompt in (first, second, fifth)
    ]
    body = server.requests[0]
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.4, 1.0, 512)
    assert set(report.departures) == {"data", "horizon", "split"}
    assert report.policy_facts["prompt"].startswith("verl-agent ")
    assert report.rows[0].turns == 6 and report.protocol is not None


def test_verl_agent_in_webshop(serve: Any, run: Run) -> None:
    server = serve(script("webshop", TAGGED))
    report = run(server, "verl-agent", "webshop")
    task, observations, admissible = play_again("webshop", report, TAGGED)
    pages = []
    for observation in observations:
        parts = observation.split(" [SEP] ")
        pages.append(" [SEP] ".join(f"'{part}'" for part in parts[parts.index(task) + 1 :]))
    assert pages[0] == "'Search'" and pages[2] == pages[3]
    listed = ["\n".join(f"'{action}'," for action in actions) for actions in admissible]
    listed[0] = "'search[<your query>]',"
    head = f"You shop in an online store by search and click.\nYour task is to: {task}."
    first = f"""{head}
What you see: 'Search'.
Actions that are possible now:
[
{listed[0]}
].

{SHOP}"""
    second = f"""{head}
You have taken 1 step(s) so far. The last 1 observation(s), each with the action that you took: \
[Observation 1: ''Search'', Action 1: 'search[usb hub]']
This is step 2. What you see: {pages[1]}.
Actions that are possible now:
[
{listed[1]}
].

{SHOP}"""
    fifth = f"""{head}
You have taken 4 step(s) so far. The last 2 observation(s), each with the action that you took: \
[Observation 3: '{pages[2]}', Action 3: 'click[{{observation}}]']
[Observation 4: '{pages[3]}', Action 4: 'click[< prev]']
This is step 5. What you see: {pages[4]}.
Actions that are possible now:
[
{listed[4]}
].

{SHOP}"""
    conversations = [texts(request["messages"]) for request in server.requests]
    assert [conversations[0], conversations[1], conversations[4]] == [
        [("user", prompt)] for prompt in (first, second, fifth)
    ]


REACT = "Thought:\nhm {admissible}\n\nAction:\nACT"


@pytest.mark.parametrize("name", ["alfworld", "webshop"])
def test_agentgym(serve: Any, run: Run, name: str) -> None:
    server = serve(script(name, REACT))
    report = run(server, "agentgym", name)
    task, observations, admissible = play_again(name, report, REACT)
    layout = load_protocol("agentgym").setups[name].layout
    assert layout is not None
    env: Any = agentgym.make(name, **report.env_kwargs)
    rules = layout.opening[0].content.replace("{actions}", env.unwrapped.action_prompt())
    env.close()
    assert "Action: " in rules and task not in rules
    first = observations[0]
    if name == "alfworld":
        first += f"\nAVAILABLE ACTIONS: {','.join(admissible[0])}"
    expected = [("user", rules), ("assistant", layout.opening[1].content), ("user", first)]
    for turn in range(5):
        conversation = texts(server.requests[turn]["messages"])
        assert conversation == expected
        answer = REACT.replace("ACT", ACTIONS[name][turn])
        expected += [("assistant", answer), ("user", observations[turn + 1])]
    request = server.requests[0]
    assert request["temperature"] == 0.0 and "top_p" not in request
    assert report.env_kwargs["grammar"] == "react"


CONVERSATIONS = {
    "search-r1": ("search", "<think>now [1]</think>\nACT", {"temperature": 1.0, "max_tokens": 500}),
    "mini-swe-agent": ("swe", "THOUGHT: {task}\n\n```bash\nACT\n```", {"max_tokens": 8192}),
    "balrog": ("textworld", "ACT", {"temperature": 1.0, "max_tokens": 4096}),
}


@pytest.mark.parametrize(
    "protocol",
    [
        pytest.param(protocol, marks=needs_box if name == "swe" else ())
        for protocol, (name, *_) in CONVERSATIONS.items()
    ],
)
def test_conversations(serve: Any, run: Run, protocol: str) -> None:
    name, form, sampling = CONVERSATIONS[protocol]
    server = serve(script(name, form))
    report = run(server, protocol, name)
    _, observations, _ = play_again(name, report, form)
    layout = load_protocol(protocol).setups[name].layout
    assert layout is not None
    env: Any = agentgym.make(name, **report.env_kwargs)
    actions = env.unwrapped.action_prompt()
    env.close()
    expected = [(m.role, m.content.replace("{actions}", actions)) for m in layout.opening]
    expected.append(("user", layout.first.replace("{observation}", observations[0])))
    assert len(server.requests) == report.rows[0].turns == 6
    for turn in range(6):
        assert texts(server.requests[turn]["messages"]) == expected
        answer = form.replace("ACT", ACTIONS[name][turn])
        next_observation = observations[turn + 1] if turn < 5 else ""
        expected += [
            ("assistant", answer),
            ("user", layout.later.replace("{observation}", next_observation)),
        ]
    assert sampling.items() <= server.requests[0].items()
    assert ("temperature" in server.requests[0]) == ("temperature" in sampling)
    assert set(report.departures) <= {"data", "env.data", "horizon", "split", "num_tasks"}


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        ("search-r1", "<think>easy</think> <answer>nobody</answer>"),
        pytest.param("mini-swe-agent", "THOUGHT: done\n\n```submit\n```", marks=needs_box),
    ],
)
def test_an_answer_and_a_submission_end_an_episode(serve: Any, protocol: str, text: str) -> None:
    report = by_function(serve(lambda *_: completion(text)), protocol, CONVERSATIONS[protocol][0])
    [row] = report.rows
    assert (row.turns, row.success, row.invalid, row.error) == (1, False, 0, "")


def test_what_models_read_under_the_protocols_of_search_swe_and_textworld() -> None:
    search, swe, game = (load_protocol(p).setups[n].layout for p, (n, *_) in CONVERSATIONS.items())
    assert search and swe and game and not search.opening
    for tag in ("<think>", "<search>", "<information>", "<answer>"):
        assert tag in search.first and tag.replace("<", "</") in search.first
    assert search.first.endswith("\n\n{observation}\n") and search.later == "{observation}"
    assert [m.role for m in swe.opening] == ["system"] and "```bash\n" in swe.opening[0].content
    assert "```submit\n```" in swe.first and swe.window is None
    assert "view" not in swe.first + swe.opening[0].content
    assert [m.role for m in game.opening] == ["user"] and game.window == 16
    assert game.later.startswith("Observation:\n{observation}\n") and game.later.endswith("Action:")


def test_what_the_policy_is_told_counts_more(serve: Any, capsys: Any, tmp_path: Path) -> None:
    server = serve(script("alfworld", TAGGED))
    config = ChatConfig("m", server.url, temperature=1.0, instructions="Be brief.", max_tokens=9)
    policy = ChatPolicy(config, "never sent")
    report = agentgym.evaluate(policy, "alfworld", num_tasks=1, protocol="verl-agent", horizon=2,
                               concurrency=1, env_kwargs=GENERATED["alfworld"])  # fmt: skip
    roles = [(message["role"]) for message in server.requests[1]["messages"]]
    assert roles == ["system", "user"]
    assert server.requests[1]["messages"][0]["content"] == "Be brief."
    assert {k: v for k, v in report.departures.items() if k.startswith("policy")} == {
        "policy.temperature": (0.4, 1.0),
        "policy.max_tokens": (512, 9),
        "policy.instructions": ("", "Be brief."),
    }
    assert policy.config is config and policy.facts()["prompt"].startswith("default ")
    command = ["eval", "alfworld", "--policy", "chat", "--model", "m", "--base-url", server.url,
               "--protocol", "verl-agent", "--temperature", "0.9", "--num-tasks", "1",
               "--horizon", "2", "--scale", "False", "--env-kwargs", "data=null",
               "--out", str(tmp_path)]  # fmt: skip
    assert main(command) == 0
    assert server.requests[-1]["temperature"] == 0.9
    assert "departs: policy.temperature" in capsys.readouterr().out


def test_several_episodes_have_histories_of_their_own(serve: Any, tmp_path: Path) -> None:
    server = serve(lambda body, number: completion("<action>look</action>"))
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    report = agentgym.evaluate(policy, "alfworld", num_tasks=6, protocol="verl-agent", horizon=3,
                               concurrency=3, record=tmp_path / "episodes.jsonl",
                               env_kwargs=GENERATED["alfworld"])  # fmt: skip
    assert report.errors == 0 and len(server.requests) == 18
    prompts = [request["messages"][0]["content"] for request in server.requests]
    for episode in read_episodes(tmp_path / "episodes.jsonl"):
        first = f"[Observation 1: '{episode.start.observation}', Action 1: 'look']"
        episode_prompts = [text for text in prompts if first in text]
        assert sorted("This is step 3" in text for text in episode_prompts) == [False, True]
        assert episode.turns[0].raw_text == "<action>look</action>"


def test_a_prompt_of_ones_own_sends_text_only(serve: Any) -> None:
    server = serve(script("alfworld", TAGGED))
    layout = Layout("step", "{task}: {observation}", "{observation}")
    config = ChatConfig("m", server.url, tools=True)
    with pytest.raises(ConfigurationError, match="another grammar than tool_call"):
        ChatPolicy(config, "", Prompt(layout))
    policy = ChatPolicy(ChatConfig("m", server.url), "", Prompt(layout))
    policy.reset("o", {"goal": "win"})
    assert policy.messages("o") == [{"role": "user", "content": "win: o"}]
    assert policy.copy().messages("p") == [{"role": "user", "content": ": p"}]


def test_policies_that_read_no_prompt_play_under_a_protocol() -> None:
    for policy in ("random", "oracle", lambda observation, info: "<action>look</action>"):
        report = agentgym.evaluate(policy, "alfworld", num_tasks=2, protocol="verl-agent",
                                   horizon=5, env_kwargs=GENERATED["alfworld"])  # fmt: skip
        assert report.errors == 0 and report.invalid_share == 0.0
        assert report.horizon == 5 and len(report.figures()) == 7


def test_a_policy_of_ones_own_module_is_laid_out(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(lambda body, number: completion("<action>look</action>"))
    (tmp_path / "own_chat.py").write_text(
        "from agentgym.policies import ChatConfig, ChatPolicy\n"
        f"def make():\n    return ChatPolicy(ChatConfig('m', '{server.url}'), '')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    report = agentgym.evaluate("own_chat:make", "alfworld", num_tasks=1, protocol="verl-agent",
                               horizon=2, env_kwargs=GENERATED["alfworld"])  # fmt: skip
    assert report.errors == 0
    assert server.requests[0]["messages"][0]["content"].startswith("You control a robot")
    assert server.requests[1]["temperature"] == 0.4
