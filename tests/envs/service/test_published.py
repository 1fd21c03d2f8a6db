"""tau-bench's tasks: a small database of its form, and the published files beside its own code."""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401
from agentgym.envs.service.published.files import read_problems
from agentgym.envs.service.published.problem import TABLES, Call, PublishedProblem, execute
from agentgym.envs.service.published.rows import Rows
from agentgym.envs.service.published.session import STOP, PublishedSession
from agentgym.envs.service.published.tools import TRANSFER
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from tests.envs.service.published_data import (
    CARD,
    GIFT,
    RETAIL,
    tau_bench,
    write_retail,
)
from tests.policies.endpoint import completion, refusal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_retail(tmp_path / "retail")


@pytest.fixture
def problem(folder: Path) -> PublishedProblem:
    return read_problems(folder, None)["test"][0]


def use(problem: PublishedProblem, *calls: tuple[str, dict[str, Any]]) -> tuple[Rows, list[bool]]:
    """Execute calls; returns the database and whether each was refused."""
    rows = Rows(problem.world.tables, {})
    domain = problem.world.domain
    return rows, [execute(domain, rows, Call(name, arguments))[1] for name, arguments in calls]


# -- through the environment -----------------------------------------------------------------------


def play(env: Any, seed: int = 0, **options: Any) -> tuple[str, float, dict[str, Any]]:
    observation, info = env.reset(seed=seed, options={"split": "test", **options})
    reward = 0.0
    while not info["stop_reason"]:
        observation, reward, _, _, info = env.step(env.unwrapped.oracle_action())
    return observation, float(reward), info


@pytest.mark.parametrize("index", [0, 1])
def test_the_oracle_solves_the_tasks(folder: Path, index: int) -> None:
    env = gymnasium.make("agentgym/Service-v0", data=folder)
    first, _ = env.reset(options={"split": "test", "index": index})
    assert first.startswith("# Policy\nBe kind.\nCustomer: You ")
    _, reward, info = play(env, index=index)
    assert (reward, info["stop_reason"]) == (1.0, "success")


@pytest.mark.parametrize(
    ("actions", "reward"),
    [
        (["respond[The answer is 1,020.5 for the lamp.]"], 0.0),
        (
            [
                "```cancel_pending_order\n<order_id>#W0000001</order_id>\n"
                "<reason>no longer needed</reason>\n```",
                "respond[Done.]",
            ],
            0.0,
        ),
        (["transfer_to_human_agents[no]"], 0.0),
    ],
)
def test_half_of_a_task_is_not_enough(folder: Path, actions: list[str], reward: float) -> None:
    env = gymnasium.make("agentgym/Service-v0", data=folder, domain="retail")
    env.reset(options={"split": "test", "index": 0})
    for action in actions:
        _, earned, ended, _, info = env.step(action)
    assert ended and earned == reward and info["stop_reason"] == "failure"


def test_the_oracle_goes_on_after_other_actions(folder: Path) -> None:
    env = gymnasium.make("agentgym/Service-v0", data=folder).unwrapped
    env.reset(options={"split": "test", "index": 0})
    reads = ["get_user_details[ann_oak_1]", "get_order_details[#W0000009]"]
    for turns_left, action in ((4, reads[0]), (3, reads[1])):
        assert env.step(action)[4]["oracle_turns"] == turns_left
        _, reward, _, _, info = env.step(env.oracle_action())
    while not info["stop_reason"]:
        _, reward, _, _, info = env.step(env.oracle_action())
    assert (reward, info["stop_reason"]) == (1.0, "success")


def test_snapshots_return_to_the_same_database(folder: Path) -> None:
    env = gymnasium.make("agentgym/Service-v0", data=folder).unwrapped
    env.reset(options={"split": "test", "index": 0})
    env.step(env.oracle_action())
    state = env.snapshot()
    while not env.step(env.oracle_action())[2]:
        pass
    env.restore(state)
    assert env.session.rows.differences() == {} and len(env.session.turns) == 1


def test_wrong_folders_and_arguments_are_one_sentence(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected data to be a checkout of tau-bench"):
        gymnasium.make("agentgym/Service-v0", data=tmp_path / "none")
    with pytest.raises(ConfigurationError, match="expected data to be the path of a folder, got 5"):
        gymnasium.make("agentgym/Service-v0", data=5)
    with pytest.raises(ConfigurationError, match="domain"):
        gymnasium.make("agentgym/Service-v0", data=folder, domain="telecom")
    with pytest.raises(ConfigurationError, match="difficulty"):
        gymnasium.make("agentgym/Service-v0", data=folder, difficulty="extreme")
    with pytest.raises(ConfigurationError, match="generator_seed"):
        gymnasium.make("agentgym/Service-v0", data=folder, generator_seed=-1)
    with pytest.raises(ConfigurationError, match="expected expert='oracle' with your own data"):
        gymnasium.make("agentgym/Service-v0", data=folder, expert="clerk")


def task_with(action: str) -> str:
    return f"x = [Task(user_id='a', instruction='b', actions=[Action(name={action})])]"


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("x = 1", "expected one list of tasks"),
        ("x = [", "expected Python with tasks"),
        ("x = [Task(user_id=exit(), instruction='', actions=[])]", "in line 1"),
        ("x = [Task(user_id='a', instruction='b')]", "in line 1"),
        ("x = [1]", "neither a call nor an object"),
        ("x = []", "expected tasks in .*tasks_test.py.*, got empty lists"),
        (task_with('"get_user_details", kwargs={}'), "get_user_details without user_id"),
        (task_with('"think", kwargs={"thought": {1, 2}}'), "set is not JSON serializable"),
    ],
)
def test_damaged_tasks_are_named_and_never_executed(
    tmp_path: Path, tasks: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_problems(write_retail(tmp_path / "retail", tasks), "retail")


# -- the judge and the customer --------------------------------------------------------------------


def test_outputs_are_looked_for_without_commas_of_the_message(problem: PublishedProblem) -> None:
    """A comma of an output stays, so that an output with one is never found, as in tau-bench."""
    assert problem.outputs == ("1020.5", "Lamp")
    assert problem.is_said(["it is 1,020.5", "for the LAMP"])
    comma = PublishedProblem(problem.world, "", "", (), ("1,020.5",))
    assert not comma.is_said(["1,020.5", "1020.5"])


def test_a_model_plays_the_customer(problem: PublishedProblem) -> None:
    questions: list[Any] = []
    answers = iter(("Hi, I am Ann.", "Yes.", f"{STOP} bye"))

    def customer(role: Any) -> str:
        questions.append(role.messages)
        return next(answers)

    session = PublishedSession(problem, customer)
    assert session.opening().endswith("Customer: Hi, I am Ann.")
    assert problem.instruction in questions[0][0]["content"]
    assert session.act("respond", ("Is it #W0000001?",)).observation == "Customer: Yes."
    assert [m["content"] for m in questions[1][2:]] == ["Hi, I am Ann.", "Is it #W0000001?"]
    assert not session.ended
    session.act("respond", ("Anything else?",))
    assert session.ended


def test_without_an_answer_of_the_model_there_is_no_score(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Any
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    answers = iter([completion("<think>Hm.</think>\nHi,\nI am Ann."), refusal("No.", 401)])
    server = serve(lambda body, number: next(answers))
    env = gymnasium.make(
        "agentgym/Service-v0", data=folder, user="chat:m", user_url=server.url
    ).unwrapped
    first, _ = env.reset(options={"split": "test", "index": 0})
    assert first.endswith("Customer: Hi, I am Ann.")
    with pytest.raises(EnvFailure, match="expected the model that plays the customer to answer"):
        env.step("respond[Hello!]")


def test_tasks_change_with_policy_and_database(folder: Path, tmp_path: Path) -> None:
    other = write_retail(tmp_path / "other")
    (other / "wiki.md").write_text("# Policy\nBe strict.\n", encoding="utf-8")
    digests = [
        gymnasium.make("agentgym/Service-v0", data=data).unwrapped.tasks.task("test", 0).digest()
        for data in (folder, other)
    ]
    assert digests[0] != digests[1]


# -- tools -----------------------------------------------------------------------------------------


def test_retail_tools_change_what_they_should(problem: PublishedProblem) -> None:
    item = {"item_ids": ["2000000001"], "new_item_ids": ["2000000002"]}
    rows, refused = use(
        problem,
        ("cancel_pending_order", {"order_id": "#W0000001", "reason": "no longer needed"}),
        ("exchange_delivered_order_items",
         {"order_id": "#W0000002", **item, "payment_method_id": CARD}),
        ("modify_pending_order_items",
         {"order_id": "#W0000003", **item, "payment_method_id": GIFT}),
    )  # fmt: skip
    assert refused == [False] * 3
    assert rows.get("users", "ann_oak_1")["payment_methods"][GIFT]["balance"] == 28.5
    assert rows.get("orders", "#W0000002")["exchange_price_difference"] == 2.0
    changed = rows.get("orders", "#W0000003")
    assert changed["items"][0]["options"] == {"colour": "blue"}
    assert changed["status"] == "pending (item modified)"
    assert RETAIL["users"]["ann_oak_1"]["payment_methods"][GIFT]["balance"] == 10


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cancel_pending_order", {"order_id": "#W0000002", "reason": "no longer needed"}),
        ("cancel_pending_order", {"order_id": "#W0000001", "reason": "bored"}),
        ("get_order_details", {"order_id": ["#W0000001"]}),
        ("calculate", {"expression": "9**9**9"}),
        ("calculate", {"expression": "(" * 300}),
        ("calculate", {"expression": "1/0"}),
        ("modify_pending_order_payment",
         {"order_id": "#W0000001", "payment_method_id": GIFT}),
        ("return_delivered_order_items",
         {"order_id": "#W0000002", "item_ids": ["1"], "payment_method_id": GIFT}),
        ("exchange_delivered_order_items",
         {"order_id": "#W0000002", "item_ids": ["2000000001"], "new_item_ids": ["2000000003"],
          "payment_method_id": CARD}),
        ("exchange_delivered_order_items",
         {"order_id": "#W0000002", "item_ids": 3, "new_item_ids": {}, "payment_method_id": CARD}),
        ("get_user_details", {}),
    ],
)  # fmt: skip
def test_what_the_database_refuses_changes_nothing(
    problem: PublishedProblem, name: str, arguments: dict[str, Any]
) -> None:
    rows, refused = use(problem, (name, arguments))
    assert refused == [True] and rows.differences() == {}


@pytest.mark.parametrize("item", ["1e999", "[" * 150 + "]" * 150, "9" * 5000])
def test_json_that_other_parsers_refuse_is_an_answer(folder: Path, item: str) -> None:
    env = gymnasium.make("agentgym/Service-v0", data=folder)
    env.reset(options={"split": "test", "index": 0})
    observation, *_, info = env.step(
        "```return_delivered_order_items\n<order_id>#W0000002</order_id>\n"
        f"<item_ids>[{item}]</item_ids>\n<payment_method_id>{GIFT}</payment_method_id>\n```"
    )
    assert observation.startswith(("Error: ", "invalid: ")) and not info["stop_reason"]


def test_sums(problem: PublishedProblem) -> None:
    rows = Rows(problem.world.tables, {})
    assert execute("retail", rows, Call("calculate", {"expression": " (1 + 2.5) * -2"})) == (
        "-7.0",
        False,
    )


# -- the published files ---------------------------------------------------------------------------


@pytest.mark.parametrize("domain", TABLES)
def test_the_oracle_solves_published_tasks(domain: str) -> None:
    env = gymnasium.make("agentgym/Service-v0", data=tau_bench(), domain=domain)
    for index in range(0, 50, 5):
        _, reward, _ = play(env, index=index)
        assert reward == 1.0


@pytest.fixture
def original(monkeypatch: pytest.MonkeyPatch) -> Path:
    """tau-bench's own code, without the client of language models, which no tool uses."""
    folder = tau_bench()
    litellm: Any = ModuleType("litellm")
    litellm.completion = None
    monkeypatch.setitem(sys.modules, "litellm", litellm)
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("domain", TABLES)
def test_solving_actions_do_the_same_as_in_the_original(original: Path, domain: str) -> None:
    """Observations, refusals and rows of all tasks, and the hash of the database of some."""
    base = importlib.import_module("tau_bench.envs.base")
    data = importlib.import_module(f"tau_bench.envs.{domain}.data").load_data()
    tools = {
        tool.get_info()["function"]["name"]: tool
        for tool in importlib.import_module(f"tau_bench.envs.{domain}.tools").ALL_TOOLS
    }
    problems = [p for tasks in read_problems(original, domain).values() for p in tasks]
    assert len(problems) == {"retail": 635, "airline": 50}[domain]
    for number, problem in enumerate(problems):
        rows = Rows(problem.world.tables, {})
        original_tables: dict[str, Any] = {table: dict(rows) for table, rows in data.items()}
        for table, key in problem.replayed().changed:  # what may change is not shared
            if key in original_tables[table]:
                original_tables[table][key] = copy.deepcopy(original_tables[table][key])
        for call in problem.actions:
            if call.name == TRANSFER:
                continue
            arguments = copy.deepcopy(dict(call.arguments))
            original_text = tools[call.name].invoke(data=original_tables, **arguments)
            text, refused = execute(domain, rows, call)
            assert original_text.startswith("Error") if refused else original_text == text
        expected = {
            (table, key): str(base.to_hashable(original_tables[table].get(key)))
            for table, key in rows.changed
        }
        unchanged = {key: str(base.to_hashable(data[key[0]].get(key[1]))) for key in expected}
        assert rows.differences() == {
            key: value for key, value in expected.items() if value != unchanged[key]
        }
        if number % 100 == 0:
            assert base.consistent_hash(base.to_hashable(original_tables)) == rows.digest()
