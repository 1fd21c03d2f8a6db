"""tau2-bench's tasks: a small database of its form, and the published files beside its own code."""

from __future__ import annotations

import copy
import importlib
import json
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
from agentgym.errors import DataError
from tests.envs.service.published_data import CARD, GIFT, RETAIL, checkout

FIND = {"name": "find_user_id_by_email", "arguments": {"email": "ann@example.com"}}
CANCEL = {
    "name": "cancel_pending_order",
    "arguments": {"order_id": "#W0000001", "reason": "no longer needed"},
}
ADDRESS = dict.fromkeys(("address1", "address2", "city", "state", "country", "zip"), "1")
FLIGHTS: dict[str, Any] = {
    "flights": {
        number: {
            "flight_number": number, "origin": origin, "destination": destination,
            "scheduled_departure_time_est": leaves, "scheduled_arrival_time_est": arrives,
            "dates": {
                f"2024-05-{day}": {
                    "status": "available", "available_seats": {"economy": day},
                    "prices": {"economy": 10 * day},
                }
                for day in (20, 21)
            },
        }
        for number, origin, destination, leaves, arrives in (
            ("HAT001", "SFO", "JFK", "20:00:00", "01:00:00+1"),
            ("HAT002", "JFK", "BOS", "09:00:00", "10:00:00"),
        )
    },
    "reservations": {},
    "users": {
        "ann_oak_1": {
            "payment_methods": {CARD: {"source": "credit_card", "id": CARD}}, "reservations": [],
        }
    },
}  # fmt: skip
BOOKING = {
    "user_id": "ann_oak_1", "origin": "SFO", "destination": "JFK", "flight_type": "one_way",
    "cabin": "economy", "flights": [{"flight_number": "HAT001", "date": "2024-05-20", "x": 1}],
    "passengers": [{"first_name": "Ann", "last_name": "Oak", "dob": "1990-01-01"}],
    "payment_methods": [{"payment_id": CARD, "amount": 200}], "total_baggages": 0,
    "nonfree_baggages": 0, "insurance": "no",
}  # fmt: skip


def task(name: str, *actions: dict[str, Any], basis: str = "NL_ASSERTION", **more: Any) -> Any:
    instructions = {
        "task_instructions": "Be brief.", "domain": "retail", "known_info": "You are Ann Oak.",
        "reason_for_call": "Cancel #W0000001.", "unknown_info": None,
    }  # fmt: skip
    criteria = {
        "actions": [{"action_id": "0", "info": None, **action} for action in actions],
        "communicate_info": ["1020.5"], "nl_assertions": ["The agent is kind."],
        "reward_basis": ["DB", basis],
    }  # fmt: skip
    scenario = {"persona": None, "instructions": instructions}
    return {"id": name, "user_scenario": scenario, "evaluation_criteria": criteria, **more}


def write_domain(folder: Path, tables: Any = RETAIL, *tasks: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "db.json").write_text(json.dumps(tables), encoding="utf-8")
    (folder / "policy.md").write_text("# Policy\nBe kind.\n", encoding="utf-8")
    entries = tasks or (task("7", FIND, CANCEL, basis="COMMUNICATE"), task("8", FIND, CANCEL))
    (folder / "tasks.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def use(folder: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[Rows, list[str]]:
    """Execute calls; returns the database and what they show."""
    world = read_problems(folder, None)["test"][0].world
    rows = Rows(world.tables, {})
    return rows, [execute(world.domain, rows, Call(*call))[0] for call in calls]


@pytest.mark.parametrize("place", ["retail", "data/tau2/domains/retail"])
def test_the_oracle_solves_the_tasks_of_a_checkout(tmp_path: Path, place: str) -> None:
    write_domain(tmp_path / place)
    (tmp_path / place / "split_tasks.json").write_text('{"train": ["8"], "test": ["7"]}')
    env = gymnasium.make(
        "agentgym/Service-v0", data=tmp_path / place if place == "retail" else tmp_path
    )
    for split in ("train", "test"):
        first, info = env.reset(options={"split": split, "index": 0})
        said = "You are Ann Oak.\nCancel #W0000001.\nBe brief."
        assert first == f"# Policy\nBe kind.\nCustomer: {said}"
        while not info["stop_reason"]:
            _, reward, _, _, info = env.step(env.unwrapped.oracle_action())
        assert (reward, info["stop_reason"]) == (1.0, "success")


def test_a_task_is_judged_by_its_basis(tmp_path: Path) -> None:
    """What is to be said counts with COMMUNICATE alone; statements would need a model."""
    spoken_task, stated_task = read_problems(write_domain(tmp_path / "retail"), None)["test"]
    assert (spoken_task.outputs, spoken_task.unjudged) == (("1020.5",), 0)
    assert (stated_task.outputs, stated_task.unjudged) == ((), 1)
    env = gymnasium.make("agentgym/Service-v0", data=tmp_path / "retail")
    tasks = env.unwrapped.tasks
    kinds = [tasks.task("test", index).content["kind"] for index in (0, 1)]
    assert kinds == ["change", "change+unjudged"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluation_criteria": None}, "expected tasks of tau2-bench in .*tasks.json"),
        ({"initial_state": {"initialization_actions": []}}, "initial_state"),
        ({"user_scenario": 3}, "user_scenario"),
    ],
)
def test_damaged_tasks_are_named(tmp_path: Path, changes: Any, message: str) -> None:
    folder = write_domain(tmp_path / "retail", RETAIL, task("7", FIND, **changes))
    with pytest.raises(DataError, match=message):
        read_problems(folder, None)


@pytest.mark.parametrize(
    "tasks", [[task("7", FIND, basis="ENV_ASSERTION")], [task("7", {**FIND, "arguments": {}})]]
)
def test_tasks_that_need_more_are_refused(tmp_path: Path, tasks: Any) -> None:
    with pytest.raises(DataError, match="expected tasks of tau2-bench"):
        read_problems(write_domain(tmp_path / "retail", RETAIL, *tasks), None)


def test_splits_without_their_tasks_are_named(tmp_path: Path) -> None:
    folder = write_domain(tmp_path / "retail")
    (folder / "split_tasks.json").write_text('{"train": ["9"], "test": []}')
    with pytest.raises(DataError, match=r"expected train and test with ids of tasks in .*'9'"):
        read_problems(folder, None)


def test_retail_tools_differ_where_they_should(tmp_path: Path) -> None:
    item = {"item_ids": ["2000000001"], "payment_method_id": GIFT}
    rows, outputs = use(
        write_domain(tmp_path / "retail"),
        ("get_item_details", {"item_id": "2000000002"}),
        ("modify_pending_order_items",
         {"order_id": "#W0000003", "new_item_ids": ["2000000001"], **item}),
        ("modify_pending_order_items",
         {"order_id": "#W0000003", "new_item_ids": ["2000000002"], **item}),
        ("modify_pending_order_address", {"order_id": "#W0000003", **ADDRESS}),
    )  # fmt: skip
    assert json.loads(outputs[0])["item_id"] == "2000000002"
    assert outputs[1].startswith("Error: expected other items")
    changed = rows.get("orders", "#W0000003")
    assert (changed["address"], changed["status"]) == (ADDRESS, "pending (item modified)")


def test_airline_tools_differ_where_they_should(tmp_path: Path) -> None:
    legs = [{"flight_number": "HAT001", "date": "2024-05-20"}]
    folder = write_domain(tmp_path / "airline", FLIGHTS, task("7"))
    rows, outputs = use(
        folder,
        ("search_onestop_flight", {"origin": "SFO", "destination": "BOS", "date": "2024-05-20"}),
        ("book_reservation", BOOKING),
        ("get_flight_status", {"flight_number": "HAT002", "date": "2024-05-21"}),
        ("update_reservation_flights",
         {"reservation_id": "HATHAT", "cabin": "business", "flights": legs, "payment_id": CARD}),
    )  # fmt: skip
    (pair,) = json.loads(outputs[0])
    assert [leg["prices"]["economy"] for leg in pair] == [200, 210], "each leg's own day"
    (booked,) = json.loads(outputs[1])["flights"]
    assert booked.keys() == {*legs[0], "origin", "destination", "price"}
    day = rows.get("flights", "HAT001")["dates"]["2024-05-20"]
    assert day["available_seats"] == {"economy": 19}, "a booking takes its seats"
    assert outputs[2] == "available" and outputs[3].startswith("Error")


# -- the published files ---------------------------------------------------------------------------


@pytest.fixture
def original(monkeypatch: pytest.MonkeyPatch) -> Path:
    """tau2-bench's own code, without what its top-level package imports."""
    folder = checkout("tau2-bench", "src/tau2")
    for name in ("addict", "deepdiff", "docstring_parser", "dotenv", "loguru"):
        pytest.importorskip(name, reason=f"tau2-bench imports {name}, which is not installed")
    package: Any = ModuleType("tau2")
    package.__path__ = [str(folder / "src" / "tau2")]
    monkeypatch.setitem(sys.modules, "tau2", package)
    return folder


def dump_answer(answer: Any) -> Any:
    """Return what a tool of tau2-bench shows, without fields that have no value."""
    if hasattr(answer, "model_dump"):
        return answer.model_dump(exclude_none=True)
    return [dump_answer(entry) for entry in answer] if isinstance(answer, list) else answer


@pytest.mark.slow
@pytest.mark.parametrize("domain", TABLES)
def test_solving_actions_do_the_same_as_in_the_original(original: Path, domain: str) -> None:
    """Observations, refusals and rows of all tasks."""
    tools = importlib.import_module(f"tau2.domains.{domain}.tools")
    database, kit = {
        "retail": ("RetailDB", "RetailTools"),
        "airline": ("FlightDB", "AirlineTools"),
    }[domain]
    file = original / "data" / "tau2" / "domains" / domain / "db.json"
    published = getattr(tools, database).model_validate_json(file.read_text(encoding="utf-8"))
    problems = [p for tasks in read_problems(original, domain).values() for p in tasks]
    assert len(problems) == {"retail": 114, "airline": 50}[domain]
    for problem in problems:
        compare(problem, published, getattr(tools, kit))


def compare(problem: PublishedProblem, published: Any, kit: Any) -> None:
    """Execute the solving actions of a task in both."""
    tables = {name: dict(getattr(published, name)) for name in problem.world.tables}
    for table, key in problem.replayed().changed:  # What may change is not shared.
        if key in tables[table]:
            tables[table][key] = tables[table][key].model_copy(deep=True)
    database, rows = published.model_copy(update=tables), Rows(problem.world.tables, {})
    toolkit = kit(database)
    for call in problem.actions:
        text, refused = execute(problem.world.domain, rows, call)
        try:
            answer = dump_answer(toolkit.use_tool(call.name, **copy.deepcopy(dict(call.arguments))))
        except ValueError:
            assert refused, call
        else:
            assert not refused, call
            assert answer in (text, json.loads(text) if text[:1] in "{[" else text)
    for name in tables:
        for key, row in getattr(database, name).items():
            if (name, key) in rows.changed or row != getattr(published, name).get(key):
                assert rows.get(name, key) == dump_answer(row)
