"""The first table of README: task, size and speed of each family."""

from __future__ import annotations

from agentgym.registration import families
from benchmarks.tables.formats import Table, about, result, share, spoken

ORDER = (
    "webshop", "alfworld", "textworld", "search", "swe", "database", "shell", "mathpython",
    "service", "textcraft", "babyai",
)  # fmt: skip
"""Order of the families: the best known first."""


def families_table() -> Table:
    """Return a row per family: tasks, speed, and scores of random actions and the oracle."""
    summaries = {family.name: family.summary for family in families()}
    measured = result("families.json")["families"]
    rows = [["environment", "the agent's task", "tasks", "steps/s", "random", "oracle"]]
    for name in ORDER:
        family = measured[name]
        scores = [share(family[policy]["score"]) for policy in ("random", "oracle")]
        link = f"[{spoken(name)}](agentgym/envs/{name}/README.md)"
        tasks = f"{sum(family['tasks'].values()):,}"
        rows.append([link, summaries[name].rstrip("."), tasks, _speed(name), *scores])
    return rows


def _speed(name: str) -> str:
    """Return a family's steps per second, with the original's if measured."""
    if name == "swe":
        return f"{about(1000 / result('swe_throughput.json')['command_milliseconds'])} commands"
    speeds = result("throughput.json")
    worlds = result("worlds_throughput.json")
    figures = speeds[name]["figures"] if name in speeds else worlds[name]["figures"]
    if name == "alfworld":
        original = about(figures["original_steps_per_second"])
        return f"{about(figures['gym_steps_per_second'])} (original: {original})"
    if name == "textworld":
        original = about(figures["original_z8_with_plan_steps_per_second"])
        return f"{about(figures['native_with_parts_steps_per_second'])} (original: {original})"
    if name == "shell":
        return f"{about(1000 / figures['turn_milliseconds'])} commands"
    keys = {
        "webshop": "steps_per_second_text",
        "search": "steps_per_second",
        "database": "medium_steps_per_second",
        "mathpython": "steps_per_second",
    }
    return about(figures[keys.get(name, "gym_steps_per_second")])
