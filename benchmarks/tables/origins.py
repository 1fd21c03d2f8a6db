"""The table of where each result comes from, and which commit made which part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.provenance import drawn
from benchmarks.tables.formats import RESULTS, Table, commit_of, result

COMMANDS = {
    "async_training.json": "python benchmarks/async_training.py --engines hf-copy vllm-server "
    "--delays 0 --pairs 2 --seeds 0 1 --train-steps 40",
    "core_overhead.json": "python benchmarks/core_overhead.py",
    "rollout_overlap.json": "python benchmarks/rollout_overlap.py --repeats 5",
    "sandbox.json": "python benchmarks/sandbox.py",
    "search_engines.json": "python benchmarks/search_engines.py --million",
    "trainer_overhead.json": "python benchmarks/trainer_overhead.py",
    "trainer_profile.json": "python benchmarks/trainer_profile.py",
    "large_model_cpu.json": "python benchmarks/large_model.py --engines hf vllm --ranks 0 16 "
    "--groups 1",
    "search_chains_training_gain.json": "python benchmarks/training_gain.py --env search --jobs 1",
    "webshop_training_gain_5_7_9.json": "python benchmarks/training_gain.py --env webshop",
}
"""Of results that keep none: what follows from the file."""
MEASURED = "measured"
"""Ending of the entries that say where a result, or a part of it, comes from."""


def origins_table() -> Table:
    """Return a row for each result, and for each part of one that another commit made."""
    table = [["file", "command", "commit", "seeds", "n", "panel"]]
    for path in sorted(RESULTS.glob("*.json")):
        table.extend(_rows(path.name, result(path.name)))
    return table


def blocks(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what says where the parts of a result come from, by the name of the part.

    The part without a name is all that no other is about.
    """
    return {
        key.removesuffix(MEASURED).rstrip("_"): value
        for key, value in content.items()
        if key.endswith(MEASURED)
    }


def _rows(name: str, content: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a file."""
    found = blocks(content)
    figures = {key: value for key, value in content.items() if not key.endswith(MEASURED)}
    held = {k: ", ".join(str(v)[:8] for v in values) for k, values in drawn(figures).items()}
    whole = found[""]
    command = whole.get("command") or COMMANDS.get(name, "")
    cells = [held.get(key, "") for key in ("seeds", "n", "panel")]
    yield [f"`{name}`", f"`{command}`" if command else "", _commit(whole, content), *cells]
    for part, measured in found.items():
        if part:
            yield [f"`{name}`: `{part}`", "", commit_of(measured), "", "", ""]


def _commit(measured: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Write the commit of a result; of one whose runs have several, those of the runs."""
    runs = sorted(each[:7] for each in content.get("commits", ()))
    if runs and runs != [commit_of(measured)]:
        return f"runs: {', '.join(runs)}"
    return commit_of(measured)
