"""Forged entries. The forger knows the format, and makes everything else fit: see `Entry.refit`."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import agentgym
from agentgym.episodes import Episode, Recorder
from agentgym.evaluation import report_from_dict
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.reports.report_json import report_to_dict

ENV = "webshop:easy"
EPISODES, REPORT, HEAD = "episodes.jsonl", "report.json", "evaluation.json"
Record = dict[str, Any]


class Entry:
    """The files of an entry, as data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report: Record = json.loads((folder / REPORT).read_text())
        self.head: Record = json.loads((folder / HEAD).read_text())
        lines = (folder / EPISODES).read_text().splitlines()
        self.episodes: list[Record] = [json.loads(line) for line in lines]
        self.report_text = ""

    @property
    def failed(self) -> int:
        """Position of the first failed episode with at least three turns."""
        return next(
            number
            for number, episode in enumerate(self.episodes)
            if not episode["success"] and len(episode["turns"]) > 2
        )

    def everywhere(self, name: str, value: Any) -> None:
        """Change a fact in all files."""
        for place in (self.report, self.head["settings"], *self.episodes):
            if name in place:
                place[name] = value

    def refit(self) -> None:
        """Compute sums, rows and figures from the turns, as the suite does."""
        for episode in self.episodes:
            turns = episode["turns"]
            episode["reward"] = sum(turn["reward"] for turn in turns)
            last = turns[-1]["after"] if turns else episode["start"]
            episode["score"], episode["success"] = last["score"], turns[-1]["success"]
        episodes = [Episode.from_line(json.dumps(episode)) for episode in self.episodes]
        self.report["rows"] = [vars(EpisodeResult.of(episode)) for episode in episodes]
        self.report["planned"] = len(episodes)
        self.head["settings"]["n"] = len(episodes)
        report = report_from_dict(json.loads(json.dumps(self.report, default=vars)))
        self.report = json.loads(json.dumps(report_to_dict(report)))

    def write(self, folder: Path, lines: list[str] | None = None) -> None:
        """Write the files to a new folder."""
        folder.mkdir()
        (folder / REPORT).write_text(self.report_text or json.dumps(self.report))
        (folder / HEAD).write_text(json.dumps(self.head))
        lines = lines or [json.dumps(episode) for episode in self.episodes]
        (folder / EPISODES).write_text("".join(f"{line}\n" for line in lines))


class Forgery(NamedTuple):
    """A forged entry, and where the verifier must find it."""

    name: str
    forge: Callable[[Entry], list[str] | None]
    place: str
    """Beginning of the place; empty if nothing may even be made for it."""
    field: str
    """In the message."""


FORGERIES: list[Forgery] = []


def forgery(place: str, field: str) -> Callable[[Callable[[Entry], Any]], None]:
    """Register a forgery."""

    def register(forge: Callable[[Entry], Any]) -> None:
        FORGERIES.append(Forgery(forge.__name__, forge, place, field))

    return register


@contextmanager
def _refitted(entry: Entry) -> Iterator[Record]:
    """Yield the first failed episode to change; the rest then fits."""
    yield entry.episodes[entry.failed]
    entry.refit()


@forgery("episode", "'score'")
def score_of_a_record(entry: Entry) -> None:
    entry.episodes[entry.failed].update(score=1.0, success=True, reward=1.0)


@forgery("episode", "reward differs")
def reward_of_a_turn(entry: Entry) -> None:
    with _refitted(entry) as episode:
        episode["turns"][-1].update(reward=1.0, reward_terms={"task": 1.0})


@forgery("episode", "score differs")
def solved_instead_of_failed(entry: Entry) -> None:
    with _refitted(entry) as episode:
        last = episode["turns"][-1]
        last.update(
            reward=1.0, reward_terms={"task": 1.0}, success=True, terminated=True, truncated=False
        )
        last["after"]["score"] = 1.0
        episode["stop_reason"] = "success"


@forgery("episode 1", "task_id")
def order_swapped(entry: Entry) -> None:
    entry.episodes[0], entry.episodes[1] = entry.episodes[1], entry.episodes[0]
    entry.refit()


@forgery("episode", "task_id")
def easier_task(entry: Entry) -> None:
    """A real episode of another task, solved by the expert, with the planned seed."""
    place = entry.failed
    env = Recorder(agentgym.make(ENV), None)
    env.reset(seed=entry.episodes[place]["seed"], options={"split": "train", "index": 0})
    while env.last is None:
        env.step(env.get_wrapper_attr("oracle_action")())
    new = json.loads(env.last.to_line())
    old = entry.episodes[place]
    entry.episodes[place] = {
        **new, "panel_sha256": old["panel_sha256"], "policy": old["policy"], "extra": old["extra"]
    }  # fmt: skip
    entry.report["rows"][place]["task_id"] = new["task_id"]
    entry.refit()


@forgery("report.json", "again")
def one_task_twice(entry: Entry) -> None:
    place = entry.failed
    entry.episodes[place] = copy.deepcopy(entry.episodes[place - 1])
    rows = entry.report["rows"]
    rows[place] = rows[place - 1]


@forgery("episode", "task_id")
def one_task_twice_in_the_records(entry: Entry) -> None:
    place = entry.failed
    entry.episodes[place] = copy.deepcopy(entry.episodes[place - 1])


@forgery("report.json", "panel_sha256")
def failed_episode_dropped_and_counted_down(entry: Entry) -> None:
    del entry.episodes[entry.failed]
    entry.refit()


@forgery("episode", "task_id")
def failed_episode_dropped(entry: Entry) -> None:
    del entry.episodes[entry.failed]


@forgery("episode 6", "expected 6 episodes")
def last_episode_dropped(entry: Entry) -> None:
    del entry.episodes[-1]


@forgery("episodes.jsonl", "expected 6 episodes, got more")
def one_episode_more(entry: Entry) -> None:
    entry.episodes.append(copy.deepcopy(entry.episodes[0]))


@forgery("episode", "stop_reason")
def failure_called_broken(entry: Entry) -> None:
    with _refitted(entry) as episode:
        episode.update(stop_reason="error", details={"error": "the connection was lost"})


@forgery("report.json", "headline.score_ci95.0")
def interval_narrowed(entry: Entry) -> None:
    headline = entry.report["headline"]
    headline["score_ci95"][0] = headline["score"] - 0.001


@forgery("report.json", "score_lower_bound")
def lower_bound_raised(entry: Entry) -> None:
    entry.report["score_lower_bound"] += 0.01


@forgery("report.json", "scale.random")
def floor_lowered(entry: Entry) -> None:
    entry.report["scale"]["random"] = 0.0
    entry.refit()


@forgery("report.json", "scale.random")
def floor_raised(entry: Entry) -> None:
    entry.report["scale"]["random"] += 0.1
    entry.refit()


@forgery("report.json", "scale.expert")
def ceiling_lowered(entry: Entry) -> None:
    entry.report["scale"]["expert"] = 0.9
    entry.refit()


@forgery("report.json", "by_label")
def figure_of_a_kind_changed(entry: Entry) -> None:
    kinds = next(iter(entry.report["by_label"].values()))
    next(iter(kinds.values()))["success"] = 0.999


@forgery("report.json, row", "turns")
def row_changed(entry: Entry) -> None:
    entry.report["rows"][2]["turns"] += 1


@forgery("report.json", "score_of_another_suite differs: expected 'no such field'")
def figure_added(entry: Entry) -> None:
    entry.report["score_of_another_suite"] = 1.0


@forgery("report.json", "panel_sha256")
def hash_of_another_panel(entry: Entry) -> None:
    entry.everywhere("panel_sha256", "ab" * 32)


@forgery("episode", "panel_sha256")
def hash_of_another_panel_in_a_record(entry: Entry) -> None:
    entry.episodes[2]["panel_sha256"] = "ab" * 32


@forgery("episode", "executed differs")
def action_changed(entry: Entry) -> None:
    with _refitted(entry) as episode:
        episode["turns"][0]["action"] = "search[the best product of all]"


@forgery("episode", "observation differs")
def action_changed_with_what_was_executed(entry: Entry) -> None:
    with _refitted(entry) as episode:
        words = "search[the best product of all]"
        episode["turns"][0].update(action=words, executed=words)


@forgery("episode", "observation")
def observation_changed(entry: Entry) -> None:
    with _refitted(entry) as episode:
        episode["turns"][0]["after"]["observation"] += " You have won."


@forgery("episode", "goal")
def goal_changed(entry: Entry) -> None:
    entry.episodes[0]["goal"] = "buy anything"


@forgery("episode", "details")
def fact_of_the_reward_changed(entry: Entry) -> None:
    episode = next(episode for episode in entry.episodes if episode["details"])
    episode["details"] = {**episode["details"], "more": True}


@forgery("episode", "state_key")
def state_changed(entry: Entry) -> None:
    entry.episodes[0]["turns"][0]["after"]["state_key"] = "0" * 16


@forgery("episode", "action_valid")
def invalid_action_called_valid(entry: Entry) -> None:
    with _refitted(entry) as episode:
        turn = episode["turns"][0]
        turn.update(action_valid=not turn["action_valid"])


@forgery("episode", "")
def wasted_turn_removed(entry: Entry) -> None:
    with _refitted(entry) as episode:
        del episode["turns"][0]


@forgery("report.json", "expected an entry of agentgym-suite")
def version_changed(entry: Entry) -> None:
    for place in (entry.report["versions"], *(e["packages"] for e in entry.episodes)):
        place["agentgym-suite"] = "99.0"


@forgery("episode", "packages")
def version_changed_in_a_record(entry: Entry) -> None:
    entry.episodes[1]["packages"]["agentgym-suite"] = "99.0"


@forgery("", "data=")
def arguments_that_name_a_path(entry: Entry) -> None:
    entry.everywhere("env_kwargs", {**entry.report["env_kwargs"], "data": "/etc"})


@forgery("", "expected")
def id_that_names_code(entry: Entry) -> None:
    entry.everywhere("env_id", "os:agentgym/WebShop-v0")


@forgery("", "reward_hooks")
def hook_that_names_code(entry: Entry) -> None:
    kwargs = {**entry.report["env_kwargs"], "reward_hooks": ["os:system"]}
    entry.everywhere("env_kwargs", kwargs)


@forgery("report.json", "panel_sha256")
def easier_shop(entry: Entry) -> None:
    entry.everywhere("env_kwargs", {**entry.report["env_kwargs"], "size": 200})


@forgery("episode", "env_kwargs")
def easier_shop_in_a_record(entry: Entry) -> None:
    entry.episodes[1]["env_kwargs"] = {**entry.report["env_kwargs"], "size": 200}


@forgery("episode", "seed")
def seed_of_an_episode(entry: Entry) -> None:
    entry.episodes[0]["seed"] += 1


@forgery("report.json", "panel_sha256")
def seed_of_the_panel(entry: Entry) -> None:
    entry.report["seed"] = entry.head["settings"]["seed"] = 1


@forgery("evaluation.json", "seed")
def seed_of_the_report_alone(entry: Entry) -> None:
    entry.report["seed"] = 1


@forgery("episode", "options")
def horizon_widened_in_a_record(entry: Entry) -> None:
    entry.episodes[entry.failed]["options"]["horizon"] = 40


@forgery("episode", "truncated")
def horizon_widened(entry: Entry) -> None:
    entry.report["horizon"] = entry.head["settings"]["horizon"] = 40
    for episode in entry.episodes:
        episode["options"]["horizon"] = 40


@forgery("episode", "extra.labels")
def kind_of_a_task_changed(entry: Entry) -> None:
    labels = entry.episodes[0]["extra"]["labels"]
    labels[next(iter(labels))] = "hard"


@forgery("episode", "policy")
def policy_of_a_record(entry: Entry) -> None:
    entry.episodes[3]["policy"] = "a better one"


@forgery("report.json", "expected a protocol of")
def protocol_of_a_path(entry: Entry) -> None:
    _claim_protocol(entry, name="/tmp/mine.toml")


@forgery("report.json", "protocol.figures")
def protocol_with_larger_figures(entry: Entry) -> None:
    from agentgym.evaluation.protocol_terms import find_setup

    setup = find_setup("verl-agent", ENV)
    assert setup is not None
    _claim_protocol(entry, name="verl-agent", sha256=setup.sha256)


def _claim_protocol(entry: Entry, name: str, sha256: str = "00") -> None:
    figures = [{"name": "Success", "value": "success", "where": {}, "scale": 1000.0}]
    use = {"name": name, "sha256": sha256, "tasks": None, "figures": figures, "departures": {}}
    entry.report["protocol"] = entry.head["settings"]["protocol_details"] = use
    entry.head["settings"]["protocol"] = f"{name} {sha256[:16]}"
    entry.refit()


@forgery("episode 1", "line")
def key_that_comes_twice(entry: Entry) -> list[str]:
    lines = [json.dumps(episode) for episode in entry.episodes]
    return [lines[0].replace('"seed":', '"seed": 7, "seed":', 1), *lines[1:]]


@forgery("episode 1", "line")
def key_that_no_record_has(entry: Entry) -> None:
    entry.episodes[0]["verified_by"] = "the organisers"


@forgery("episode 1", "rng_key")
def generator_hidden(entry: Entry) -> None:
    entry.episodes[0]["rng_key"] = None


@forgery("report.json", "expected a finished evaluation")
def unfinished(entry: Entry) -> None:
    entry.report["unfinished"] = "the budget is spent"


@forgery("report.json", "rows differs")
def endless_samples(entry: Entry) -> None:
    entry.report["samples"] = entry.head["settings"]["samples"] = 10**12
    entry.report["planned"] = 6 * 10**12


@forgery("report.json", "comes twice")
def report_with_a_key_twice(entry: Entry) -> None:
    entry.report_text = json.dumps(entry.report).replace("{", '{"seed": 5, ', 1)
