"""Tables of trainings: a mean with its interval over the trainings, then each of them."""

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
from trainers.output.seed_summary import spread

Row = Mapping[str, Any]
"""A run of one seed, as ``benchmarks.studies.training_gain`` keeps it."""
NAMES = {
    "sft": "warm start", "imitation": "imitation", "successes": "imitation of successes",
    "rl": "**trained**", "demonstrator": "demonstrator", "random": "random",
}  # fmt: skip
LEARNED = ("sft", "imitation", "successes", "rl")
RIVALS = ("imitation", "successes")


class Training(NamedTuple):
    """Where a table comes from."""

    file: str
    """Result file."""
    family: str
    """Key of the family in it."""
    demonstrator: str = "demonstrator"
    """Arm that is the demonstrator."""
    defaults: bool = True
    """Whether it is the default training, whose baselines stand in ``baselines.json``."""


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
        for family in ("database", "mathpython", "shell", "babyai")
    },
    "textcraft": Training("textcraft_training_gain.json", "textcraft"),
}

SINGLE_RUNS = (
    "webshop_rivals.json", "textworld_guessing.json", "textworld_twelve_steps.json",
)  # fmt: skip
"""Runs of one seed, as ``agentgym-train`` summarises them."""
TRIED = {
    "webshop": ("WebShop, 2,000 products", "lazy"),
    "webshop_rivals.json": ("WebShop, 4,000 products", "hurried"),
    "alfworld": ("ALFWorld, one thing to clean", "trusting"),
    "alfworld hesitant": ("ALFWorld, all types of tasks", "hesitant"),
    "textworld": ("TextWorld, cooking", "guessing"),
    "textworld_twelve_steps.json": ("TextWorld, cooking, a lower rate", "guessing"),
    "textworld_guessing.json": ("TextWorld, cooking, the thing guessed, too", "guessing"),
    "textworld hesitant": ("TextWorld", "hesitant"),
    "search": ("Search, two hops", "hasty"),
    "search 4000": ("Search, two hops, 4,000 passages", "hasty"),
    "search chains": ("Search, chains of one to five hops", "reader"),
    "database": ("Database, one table", "guessing"),
    "mathpython": ("MathPython, sums", "lazy"),
    "shell": ("Shell, two folders", "guessing"),
    "babyai": ("BabyAI, one or two rooms", "bot"),
    "textcraft": ("TextCraft, one craft", "guessing"),
}
"""Training -> its tasks and its demonstrator."""


def training_table(name: str) -> Table:
    """Return the table of a training: figures and differences, over the seeds and in each."""
    training = TRAININGS[name]
    rows = _rows(training)
    over = f"mean of {len(rows)} seeds, 95 % over seeds" if rows[1:] else "one seed, no interval"
    head = ["", over]
    lasted = [f"{row['steps']}; {row['minutes']:.1f}" for row in rows]
    worked = [f"{row['cpu_minutes']:.1f}" for row in rows if "cpu_minutes" in row]
    return [
        [*head, *(f"seed {row['seed']}, 95 % over tasks" for row in rows)],
        ["steps; minutes", "", *lasted],
        *([["minutes of a processor", "", *worked]] if worked else []),
        *_baselines(training, len(rows)),
        *(_figure("success", arm, rows) for arm in LEARNED if arm in rows[0]["success"]),
        *_differences("success", training, rows),
        *(_figure("score", arm, rows) for arm in LEARNED if arm in rows[0]["score"]),
        *_differences("score", training, rows),
        *(
            _figure("greedy_success", arm, rows)
            for arm in LEARNED
            if arm in (rows[0]["greedy_success"] or {})
        ),
    ]


def summary_table(name: str) -> Table:
    """Return a short table of a default training: one row a policy, over the seeds."""
    training = TRAININGS[name]
    rows = _rows(training)
    baselines = result("baselines.json")["families"][training.family]
    tasks = baselines["random"]["n"]
    head = [f"{tasks} held-out tasks", "success", "each seed", "likeliest action", "score"]
    table = [head]
    for arm in ("random", "demonstrator"):
        found = baselines[arm]
        table.append([NAMES[arm], share(found["success"]), "", "", share(found["score"])])
    for arm in (each for each in LEARNED if each in rows[0]["success"]):
        cells = [_over(rows, figure, arm) for figure in ("success", "greedy_success", "score")]
        each = ", ".join(share(row["success"][arm]) for row in rows)
        table.append([NAMES[arm], cells[0], each, *cells[1:]])
    for other in (*RIVALS, "demonstrator"):
        for label, over, *paired in _difference("success", other, training, rows):
            # Of one training the interval over its tasks is all that there is.
            each = ", ".join(cell.partition(" ")[0] for cell in paired) if paired[1:] else paired[0]
            table.append([label, over, each, "", ""])
    return table


def gains_table() -> Table:
    """Return what reward added, one row a family: over seeds, and seed by seed."""
    table = [["trained minus", "success, 95 % over seeds", "seed by seed, 95 % over tasks"]]
    for name, training in TRAININGS.items():
        if name != training.family:  # another training of the same family
            continue
        rows = _rows(training)
        for other in ("sft", *RIVALS, "demonstrator"):
            for label, over, *paired in _difference("success", other, training, rows):
                what = label.removeprefix("trained minus ")
                table.append([f"{what}, {spoken(name)}", over, "; ".join(paired)])
    return table


def tried_table() -> Table:
    """Return which tasks were tried: what was trained on them, and its rivals; means over seeds."""
    head = ["trained", "imitation of successes", "imitation", "demonstrator", "seeds"]
    table = [["tasks and demonstrator", *head]]
    for name, (said, expert) in TRIED.items():
        rows = _single_run(name) if name in SINGLE_RUNS else _rows(TRAININGS[name])
        means = {
            arm: [row["success"][arm] for row in rows if arm in row["success"]]
            for arm in ("rl", *reversed(RIVALS), "demonstrator")
        }
        cells = [share(spread(found)["mean"]) if found else "" for found in means.values()]
        table.append([f"{said}, `{expert}`", *cells, str(len(rows))])
    return table


def lucky_table() -> Table:
    """Return how often the choices of demonstrators succeed, and what a perfect filter teaches.

    The last column is what is left to reward: the success of the good choice alone, above that.
    """
    head = ["good choice shown", "it succeeds", "the bad one succeeds", "demonstrator"]
    more = ["good among successes", "perfect filter", "left"]
    table = [["tasks and demonstrator", *head, *more]]
    for family, found in result("lucky_demonstrators.json")["families"].items():
        keys = ("good_share", "good_success", "bad_success", "success", "good_among_successes")
        best = found["perfect_filter"]
        cells = [share(found[key]) for key in keys]
        left = signed(found["good_success"] - best)
        name = f"{spoken(family.partition(',')[0])}, `{found['kwargs']['expert']}`"
        table.append([name, *cells, share(best), left])
    return table


def _single_run(name: str) -> list[Row]:
    """Return a run of one seed, as a row."""
    found = result(name)["eval"]
    return [{"success": {arm: figures["success"] for arm, figures in found.items()}}]


def _rows(training: Training) -> Sequence[Row]:
    """Return the runs of a training, one a seed."""
    rows: Sequence[Row] = result(training.file)["families"][training.family]
    return rows


def _baselines(training: Training, count: int) -> Iterator[list[str]]:
    """Yield the rows of the policies that learn nothing."""
    if training.defaults:
        found = result("baselines.json")["families"][training.family]
        for arm, figures in found.items():
            said = f"{share(figures['success'])}, {share(figures['score'])}"
            yield [f"{arm}: success, score", said, *[""] * count]


def _figure(figure: str, arm: str, rows: Sequence[Row]) -> list[str]:
    """Return the row of a policy's figure."""
    name = figure.replace("_", " ")
    return [
        f"{name}: {NAMES[arm]}",
        _over(rows, figure, arm),
        *(share(r[figure][arm]) for r in rows),
    ]


def _differences(figure: str, training: Training, rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the rows of what the trained policy is compared with."""
    for other in LEARNED[:-1]:
        yield from _difference(figure, other, training, rows)
    yield from _difference(figure, "demonstrator", training, rows)


def _difference(
    figure: str, other: str, training: Training, rows: Sequence[Row]
) -> Iterator[list[str]]:
    """Yield the row of a difference, if the runs made it."""
    arm = training.demonstrator if other == "demonstrator" else other
    found = [_paired(row[figure], arm) for row in rows]
    if all(found):
        some = [each for each in found if each]
        over = spread([value for value, _ in some])
        what = "" if figure == "success" else f"{figure}: "
        yield [
            f"{what}trained minus {NAMES[other].strip('*')}",
            bold_without_zero(over["mean"], over["ci95"]),
            *(difference(value, ends) for value, ends in some),
        ]


def _paired(figures: Mapping[str, Any], arm: str) -> tuple[float, Sequence[float]] | None:
    """Return the paired difference of a run to a policy, with its interval over the tasks."""
    if arm in figures.get("over", {}):
        value, ends = figures["over"][arm]
        return value, ends
    return (figures["gain"], figures["gain_ci95"]) if arm == "sft" else None


def _over(rows: Sequence[Row], figure: str, arm: str) -> str:
    """Write a figure of a policy over the seeds."""
    values = [row[figure][arm] for row in rows if arm in (row[figure] or {})]
    if len(values) < len(rows):
        return ""
    found = spread(values, (0.0, 1.0))
    return f"{share(found['mean'])} {interval(found['ci95'])}".rstrip()
