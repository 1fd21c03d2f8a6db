"""Tables of trainings: means with intervals over seeds, and each seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.tables.formats import (
    Table,
    bold_without_zero,
    difference,
    interval,
    result,
    share,
    signed,
    spoken,
)
from trainers.output.roles import ROLES, TRAINED, WARM_START
from trainers.output.seed_summary import spread

Row = Mapping[str, Any]
"""A run of one seed, as ``benchmarks.studies.training_gain`` stores it."""
NAMES = {
    **{role: role for role in ROLES},
    TRAINED: f"**{TRAINED}**",
}
LEARNED = (WARM_START, "bc", "filtered-bc", TRAINED)
BASELINES = ("bc", "filtered-bc")


class Training(NamedTuple):
    """The source of a table."""

    file: str
    """Result file."""
    family: str
    """Key of the family in it."""
    demonstrator: str = "demonstrator"
    """Role of the demonstrator."""
    defaults: bool = True
    """Whether it is the default training, with references in ``baselines.json``."""


TRAININGS = {
    "webshop": Training("webshop_training_gain.json", "webshop"),
    "webshop hurried": Training(
        "webshop_hurried_training_gain.json", "webshop", demonstrator="oracle", defaults=False
    ),
    "webshop 5 7 9": Training("webshop_training_gain_5_7_9.json", "webshop", defaults=False),
    "alfworld": Training("alfworld_training_gain.json", "alfworld"),
    "alfworld hesitant": Training("training_gain.json", "alfworld", defaults=False),
    "textworld": Training("textworld_training_gain.json", "textworld"),
    "textworld hesitant": Training("training_gain.json", "textworld", defaults=False),
    "search": Training("search_training_gain.json", "search"),
    "search 4000": Training("search_4000_training_gain.json", "search", defaults=False),
    "search chains": Training("search_chains_training_gain.json", "search", defaults=False),
    **{
        family: Training("worlds_training_gain.json", family)
        for family in ("database", "shell", "babyai")
    },
    "mathpython": Training("mathpython_training_gain.json", "mathpython"),
    "mathpython formulas": Training("worlds_training_gain.json", "mathpython", defaults=False),
    "textcraft": Training("textcraft_training_gain.json", "textcraft"),
    "service": Training("service_training_gain.json", "service"),
    "service hasty": Training("service_hasty_training_gain.json", "service", defaults=False),
}

SINGLE_RUNS = (
    "webshop_baselines.json", "textworld_guessing.json", "textworld_twelve_steps.json",
)  # fmt: skip
"""Runs of one seed, as ``agentgym-train`` summarises them."""
TRIED = {
    "webshop": ("WebShop, 2,000 products", "lazy"),
    "webshop_baselines.json": ("WebShop, 4,000 products", "hurried"),
    "webshop hurried": ("WebShop, 4,000 products", "hurried"),
    "webshop 5 7 9": ("WebShop, 4,000 products, stages of 5, 7 and 9 turns", "hurried"),
    "alfworld": ("ALFWorld, one thing to clean", "trusting"),
    "alfworld hesitant": ("ALFWorld, all types of tasks", "hesitant"),
    "textworld": ("TextWorld, cooking", "guessing"),
    "textworld_twelve_steps.json": ("TextWorld, cooking, a lower rate", "guessing"),
    "textworld_guessing.json": ("TextWorld, cooking, the ingredient also guessed", "guessing"),
    "textworld hesitant": ("TextWorld", "hesitant"),
    "search": ("Search, two hops", "hasty"),
    "search 4000": ("Search, two hops, 4,000 passages", "hasty"),
    "search chains": ("Search, chains of one to five hops", "reader"),
    "database": ("Database, one table", "guessing"),
    "mathpython": ("MathPython, sums", "lazy"),
    "mathpython formulas": ("MathPython, sums, copied formulas also rewarded", "lazy"),
    "shell": ("Shell, two folders", "guessing"),
    "babyai": ("BabyAI, one or two rooms", "bot"),
    "textcraft": ("TextCraft, one craft", "guessing"),
    "service": ("Service, one request about an order", "hurried"),
    "service hasty": ("Service, one request about an order", "hasty"),
}
"""Training -> its tasks and its demonstrator."""


def training_table(name: str) -> Table:
    """Return the table of a training: a row per policy, then the trained policy's differences.

    Args:
        name: A key of ``TRAININGS``.
    """
    training = TRAININGS[name]
    rows = _rows(training)
    over = f"{len(rows)} seeds, 95 % over seeds" if rows[1:] else "one seed, no interval"
    table = [["", f"success, {over}", "each seed", "greedy", "score"], *_unlearned(training)]
    for arm in (arm for arm in LEARNED if arm in rows[0]["success"]):
        cells = [_over(rows, figure, arm) for figure in ("success", "greedy_success", "score")]
        by_seed = ", ".join(share(row["success"][arm]) for row in rows)
        table.append([NAMES[arm], cells[0], by_seed, *cells[1:]])
    for rival in (*LEARNED[:-1], "demonstrator"):
        if success := _gain("success", rival, training):
            score = _gain("score", rival, training)
            label = f"trained minus {NAMES[rival]}"
            table.append([label, *success, "", score[0] if score else ""])
    lasted = ", ".join(f"{row.get('cpu_minutes', row['minutes']):.1f}" for row in rows)
    clock = "of CPU time" if "cpu_minutes" in rows[0] else "of wall time"
    steps = ", ".join(sorted({str(row["steps"]) for row in rows}))
    return [*table, [f"steps; minutes {clock}", steps, lasted, "", ""]]


def gains_table() -> Table:
    """Return the gain of RL, one row per family: the trained policy minus each other one."""
    arms = (*LEARNED[:-1], "demonstrator")
    table = [["family, seeds", "trained", *(f"minus {NAMES[rival]}" for rival in arms)]]
    for name, training in TRAININGS.items():
        if name == training.family:  # else another training of the same family
            rows = _rows(training)
            mean = spread([row["success"][TRAINED] for row in rows])["mean"]
            gains = [_gain("success", rival, training) for rival in arms]
            cells = [gain[0] if gain else "" for gain in gains]
            table.append([f"{spoken(name)}, {len(rows)}", share(mean), *cells])
    return table


def spread_gains(training: Training) -> dict[str, dict[str, Any]]:
    """Return the difference of the trained policy's success to each other policy's, over seeds.

    Args:
        training: Where the runs are.

    Returns:
        Policy -> mean, interval and values, as ``spread`` writes them.
    """
    rows = _rows(training)
    gains = {}
    for rival in (*LEARNED[:-1], "demonstrator"):
        values = [pair[0] for row in rows if (pair := _paired(row["success"], rival))]
        if len(values) == len(rows):
            gains[rival] = spread(values)
    return gains


def tried_table() -> Table:
    """Return the results of all tried tasks: RL, baselines and demonstrator."""
    head = [TRAINED, *reversed(BASELINES), "demonstrator", "seeds"]
    table = [["tasks and demonstrator", *head]]
    for name, (tasks, expert) in TRIED.items():
        rows = _single_run(name) if name in SINGLE_RUNS else _rows(TRAININGS[name])
        means = {
            arm: [row["success"][arm] for row in rows if arm in row["success"]]
            for arm in (TRAINED, *reversed(BASELINES), "demonstrator")
        }
        cells = [share(spread(values)["mean"]) if values else "" for values in means.values()]
        table.append([f"{tasks}, `{expert}`", *cells, str(len(rows))])
    return table


def lucky_table() -> Table:
    """Return the success of demonstrators' choices, and of perfect filtering.

    The last column is the gap left for RL: the success of always making the good choice, minus
    that.
    """
    head = ["good choice demonstrated", "success after it", "after the bad one", "demonstrator"]
    more = ["good among successes", "perfect filter", "left for RL"]
    table = [["tasks and demonstrator", *head, *more]]
    for family, figures in result("lucky_demonstrators.json")["families"].items():
        keys = ("good_share", "good_success", "bad_success", "success", "good_among_successes")
        best = figures["perfect_filter"]
        cells = [share(figures[key]) for key in keys]
        gain_text = signed(figures["good_success"] - best)
        name = f"{spoken(family.partition(',')[0])}, `{figures['kwargs']['expert']}`"
        table.append([name, *cells, share(best), gain_text])
    return table


def _single_run(name: str) -> list[Row]:
    """Return a run of one seed, as a row."""
    evaluation = result(name)["eval"]
    return [{"success": {arm: figures["success"] for arm, figures in evaluation.items()}}]


def _rows(training: Training) -> Sequence[Row]:
    """Return the runs of a training, one a seed."""
    rows: Sequence[Row] = result(training.file)["families"][training.family]
    return rows


def _unlearned(training: Training) -> Iterator[list[str]]:
    """Yield the rows of the policies that learn nothing."""
    if training.defaults:
        baselines = result("baselines.json")["families"][training.family]
        for arm, figures in baselines.items():
            yield [NAMES[arm], share(figures["success"]), "", "", share(figures["score"])]


def _gain(figure: str, rival: str, training: Training) -> tuple[str, str] | None:
    """Write a difference over the seeds and in each, if the runs made it.

    A single training only has an interval over its tasks.
    """
    arm = training.demonstrator if rival == "demonstrator" else rival
    pairs = [_paired(row[figure], arm) for row in _rows(training)]
    gains = [pair for pair in pairs if pair]
    if len(gains) < len(pairs):
        return None
    over = spread([value for value, _ in gains])
    by_seed = (signed(value) for value, _ in gains) if gains[1:] else [difference(*gains[0])]
    return bold_without_zero(over["mean"], over["ci95"]), "; ".join(by_seed)


def _paired(figures: Mapping[str, Any], arm: str) -> tuple[float, Sequence[float]] | None:
    """Return the paired difference of a run to a policy, with its interval over the tasks."""
    if arm in figures.get("over", {}):
        value, ends = figures["over"][arm]
        return value, ends
    return (figures["gain"], figures["gain_ci95"]) if arm == WARM_START else None


def _over(rows: Sequence[Row], figure: str, arm: str) -> str:
    """Write a figure of a policy over the seeds."""
    values = [row[figure][arm] for row in rows if arm in (row[figure] or {})]
    if len(values) < len(rows):
        return ""
    over_seeds = spread(values, (0.0, 1.0))
    return f"{share(over_seeds['mean'])} {interval(over_seeds['ci95'])}".rstrip()
