"""The table of presets: parts, omissions and test of each, generated from the code.

``played_methods`` has the results of presets on a toy.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tables.formats import Table
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS, served
from trainers.config.describe import parts_in_words

EVERY = "tests/trainers/grpo/test_preset_parts.py"
"""Test that every part of every preset changes the gradient or a setting of the run."""
PROOFS: Mapping[str, str] = {
    **dict.fromkeys(
        ("ppo", "meowtea-ppo", "mt-ppo", "starpo", "starpo-s"),
        "tests/trainers/methods/critic/test_doors.py",
    ),
    **dict.fromkeys(
        ("arpo", "fork-value", "vineppo", "tree-grpo"), "tests/trainers/methods/forks/test_doors.py"
    ),
    **dict.fromkeys(("dapo", "grpo-tcr", "vspo"), "tests/trainers/test_sampled_presets.py"),
    "agentrl": "tests/trainers/methods/cross_policy/test_doors.py",
    **dict.fromkeys(("archer", "sweet"), "tests/trainers/methods/turn_critic/test_doors.py"),
    "dpo": "tests/trainers/test_preset_knobs.py",
    "erpo": "tests/trainers/test_judges.py",
    "lightning": "tests/trainers/methods/gateway/test_doors.py",
    "istar": "tests/trainers/methods/reward_model/test_doors.py",
    **dict.fromkeys(
        ("on-policy-distillation", "self-distillation"),
        "tests/trainers/methods/distill/test_doors.py",
    ),
    "matpo": "tests/trainers/test_delegation_doors.py",
}
"""Tests that run the command without one part of a method, for methods with a special part; the
numbers of all are in ``tests/trainers/algorithms/test_presets.py``."""


def methods_table() -> Table:
    """Return a row for each preset."""
    names = ["preset", "method", "parts", "needs, or leaves out", "why, and what differs", "test"]
    table = [names]
    for preset in PRESETS.values():
        parts = ", ".join(f"`{part}`" for part in parts_in_words(preset))
        cells = [_title(preset), parts, _lacks(preset), preset.note, _test(preset)]
        table.append([f"`{preset.name}`", *cells])
    return table


def _test(preset: Preset) -> str:
    """Return a link to the test that a method's part has an effect; empty if it cannot run."""
    if preset.left_out:
        return ""
    proof = PROOFS.get(preset.name, EVERY)
    return f"[{proof.rpartition('/')[2]}](../{proof})"


def _title(preset: Preset) -> str:
    """Return the method, with its paper."""
    return f"{preset.title} (arXiv {preset.arxiv})" if preset.arxiv else preset.title


def _lacks(preset: Preset) -> str:
    """Return what prevents a preset from running alone."""
    needs = [need.description for need in preset.missing(served(preset))]
    omits = [f"leaves out {preset.omits}"] if preset.omits else []
    return ", ".join([*needs, *preset.left_out, *omits]) or "nothing"
