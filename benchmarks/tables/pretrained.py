"""The tables of a pretrained model: success of each policy, and the gain of RL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables.formats import (
    Table,
    about,
    bold_without_zero,
    interval,
    result,
    share,
    spoken,
)
from trainers.output.roles import BASE_MODEL, BASELINES, DEMONSTRATOR, TRAINED, WARM_START
from trainers.output.seed_summary import spread

FILES = ("pretrained_gain.json", "service_pretrained_gain.json")
"""Files with the trainings of the families, which were measured at different commits."""
DISTILLATION_FILE = "pretrained_distillation.json"
METHODS_FILE = "pretrained_methods.json"
COST_FILES = ("real_model.json", "real_model_long.json", "real_model_turns.json")
TOKENS_FILE = "token_exactness.json"
POLICIES = (BASE_MODEL, DEMONSTRATOR, WARM_START, *BASELINES, TRAINED)


def pretrained_table() -> Table:
    """Return the success of each policy on held-out tasks, one row a family."""
    families = {family: runs for _, family, runs in trained_families()}
    measured = {arm for runs in families.values() for arm in runs[0]["success"]}
    arms = [arm for arm in POLICIES if arm in measured]
    table = [["family, seeds", *arms, "greedy", "CPU minutes"]]
    for family, runs in families.items():
        cells = [_success([run["success"].get(arm) for run in runs]) for arm in arms]
        greedy = _success([(run["greedy_success"] or {}).get(TRAINED) for run in runs])
        lasted = ", ".join(f"{run['cpu_minutes']:.0f}" for run in runs)
        table.append([f"{spoken(family)}, {len(runs)}", *cells, greedy, lasted])
    return table


def pretrained_gains_table() -> Table:
    """Return the trained policy's lead over each other one, paired by task, over seeds."""
    families = {family: runs for _, family, runs in trained_families()}
    gains = {family: dict(pretrained_gains(runs)) for family, runs in families.items()}
    arms = [arm for arm in POLICIES if any(arm in family_gains for family_gains in gains.values())]
    table = [["family, seeds", *(f"minus {arm}" for arm in arms)]]
    for family, family_gains in gains.items():
        cells = [
            bold_without_zero(family_gains[arm]["mean"], family_gains[arm]["ci95"])
            if arm in family_gains
            else ""
            for arm in arms
        ]
        table.append([f"{spoken(family)}, {len(families[family])}", *cells])
    return table


def trained_families() -> Iterator[tuple[str, str, Sequence[Mapping[str, Any]]]]:
    """Yield the file, the name and the runs of each family, one run per seed."""
    for file in FILES:
        for family, runs in result(file)["families"].items():
            yield file, family, runs


def pretrained_gains(
    runs: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield how far RL is above each policy that all runs have, over seeds.

    Args:
        runs: The runs of a family, one per seed, as ``pretrained_gain`` stores them.

    Yields:
        The policy, and mean, interval and values of the differences.
    """
    for arm in POLICIES:
        pairs = [run["success"]["over"].get(arm) for run in runs]
        if all(pairs):
            yield arm, spread([pair[0] for pair in pairs])


def _success(values: Sequence[float | None]) -> str:
    """Write a success over seeds; empty where a run lacks it."""
    measured = [value for value in values if value is not None]
    if len(measured) < len(values):
        return ""
    over = spread(measured, (0.0, 1.0))
    return f"{share(over['mean'])} {interval(over['ci95'])}".rstrip()


def distillation_table(file: str = DISTILLATION_FILE) -> Table:
    """Return what each arm reached, and with how many tokens it was as good as its teacher."""
    heading = (
        "arm, seeds", "success", "minus turn-loo", "tokens to its level",
        "minus turn-loo at equal tokens", "CPU minutes",
    )  # fmt: skip
    table = [list(heading)]
    for name, arm in result(file)["arms"].items():
        differences = [arm["minus_turn_loo"], arm["minus_turn_loo_at_equal_tokens"]]
        gain, equal = (bold_without_zero(over["mean"], over["ci95"]) for over in differences)
        tokens = [
            about(count) if count is not None else "never" for count in arm["tokens_to_level"]
        ]
        lasted = ", ".join(f"{minutes:.0f}" for minutes in arm["cpu_minutes"])
        success = f"{share(arm['success']['mean'])} {interval(arm['success']['ci95'])}".rstrip()
        row = [
            f"`{name}`, {len(arm['seeds'])}",
            success,
            gain,
            "; ".join(tokens),
            equal,
            lasted,
        ]
        table.append(row)
    return table


def step_cost_table() -> Table:
    """Return processor seconds of a step, and peak memory, of agentgym and of TRL."""
    peers = ("trl", "trl-checkpointing")
    heading = ["prompt, weights", "agentgym", "TRL", "TRL, checkpointing", "share of TRL's seconds"]
    table = [heading]
    for file in COST_FILES:
        for row in result(file)["rows"]:
            arms, seconds = row["arms"], "processor_seconds_per_step"
            prompt = {"short": "question alone", "long": "rules and question"}[row["prompt"]]
            turns = f", {row['turns']} turns" if row["turns"] > 1 else ""
            weights = "adapters" if row["lora_rank"] else "all weights"
            costs = [
                f"{arms[arm][seconds]:.1f} s, {arms[arm]['peak_gib']:.1f} GiB"
                if arm in arms
                else ""
                for arm in ("agentgym", *peers)
            ]
            shares = [share(row["share_of"][arm][seconds]) for arm in peers if arm in arms]
            table.append([f"{prompt}{turns}, {weights}", *costs, ", ".join(shares)])
    return table


def pretrained_methods_table(file: str = METHODS_FILE) -> Table:
    """Return what each method reached from the same warm start, with equal turns and tokens."""
    heading = (
        "method, seeds", "success", "minus turn-loo", "validation at equal tokens", "CPU minutes",
    )  # fmt: skip
    table = [list(heading)]
    for name, arm in result(file)["arms"].items():
        gain, equal = arm["minus_turn_loo"], arm["validation_at_equal_tokens"]
        # In a run that shares the warm start of an earlier one, the time after it.
        lasted = ", ".join(f"{minutes:.0f}" for minutes in arm["cpu_minutes"])
        table.append(
            [
                f"`{name}`, {len(arm['seeds'])}",
                _success(arm["success"]["values"]),
                bold_without_zero(gain["mean"], gain["ci95"]),
                _success(equal["values"]),
                lasted,
            ]
        )
    return table


def token_exactness_table() -> Table:
    """Return the number of turns whose prompt differs from the re-rendered conversation."""
    heading = (
        "tokenizer, template",
        "written by",
        "turns",
        "text",
        "ids",
        "rows",
        "TRL: text",
        "ids",
    )
    table = [list(heading)]
    for row in result(TOKENS_FILE)["rows"]:
        native, trl = row["unequal"], row["trl"]
        template = "its own" if row["template"] == "own" else row["template"]
        table.append(
            [
                f"{row['tokenizer']}, {template}",
                row["writer"],
                f"{native['turns']:,}",
                *(f"{native[kind]:,}" for kind in ("text", "ids", "rows")),
                *(f"{trl[kind]:,} of {trl['turns']:,}" for kind in ("served", "ids")),
            ]
        )
    return table
