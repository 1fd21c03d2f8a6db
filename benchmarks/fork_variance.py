"""Measure the noise of the gradient by forked and group credit, where the gradient is known.

    python benchmarks/fork_variance.py --groups 2000

Plays groups of 8 episodes of small decision processes with every estimator, and compares mean and
spread of their gradients with the exact gradient. The measure is the cost of a gradient as large as
its noise: the turns of a group times the ratio of variance to squared mean. A fork starts at its
fork point, so its group has fewer turns. Two extremes of a critic are measured: one that knows
every value, and one that predicts 0; its advantages are whitened over the batch.

Smallest run: ``--groups 100``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from provenance import to_json

from tests.trainers.methods.forks.trees import Process, batch_of, grow
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.filters import apply_filters
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS
from trainers.methods.forks.branching import Branching, EveryTurn, RandomTurns
from trainers.methods.forks.fork_value import ForkValue
from trainers.methods.forks.trees import fork_weights

SIZE = 8
"""Episodes of a group, at most."""
HORIZON = 6
_ALONE = Branching(RandomTurns(0.0), roots=SIZE)
_LINE = Branching(EveryTurn(), roots=2, nested=False, refill=False)
_HALF = Branching(EveryTurn(2), roots=4, nested=False, refill=False)
_TREE = Branching(EveryTurn(2), roots=2, refill=False)
_SAME = (Term(ForkValue()),)


@dataclass(frozen=True)
class Estimator:
    """A way to play a group and to estimate the gradient from it."""

    preset: Preset
    """Its preset."""
    branching: Branching
    """How the group branches."""
    size: int = SIZE
    """Maximum episodes of a group."""
    foresees: float = 0.0
    """Share of the true value that its critic predicts, if it has one."""


def _estimators() -> dict[str, Estimator]:
    """Return the estimators: independent episodes, and forks with and without a prior."""
    fork_value = PRESETS["fork-value"]
    same_value = replace(fork_value, terms=_SAME)
    shapes = {"one fork": _HALF, "forks of a line": _LINE, "a tree": _TREE}
    return {
        **{n: Estimator(PRESETS[n], _ALONE, 2 * SIZE) for n in ("rloo", "turn-loo", "gigpo")},
        "ppo, values of 0": Estimator(PRESETS["ppo"], _ALONE, 2 * SIZE),
        "ppo, true values": Estimator(PRESETS["ppo"], _ALONE, 2 * SIZE, foresees=1.0),
        **{f"fork-value, {name}": Estimator(fork_value, shape) for name, shape in shapes.items()},
        **{f"same state, {name}": Estimator(same_value, shape) for name, shape in shapes.items()},
        "vineppo": Estimator(PRESETS["vineppo"], _LINE),
    }


def processes() -> dict[str, Process]:
    """Return decision processes: reward at every turn, at the end, and only without mistakes."""
    dense, last, lock = (Process(HORIZON, seed=seed) for seed in (0, 1, 2))
    for history in dense.pay:
        if len(history) < HORIZON:
            last.pay[history] = 0.0
        lock.pay[history] = float(history == (1,) * HORIZON)
        if history in lock.logit:
            lock.logit[history] = 1.0
    return {"at every turn": dense, "at the end": last, "for no mistake": lock}


def exact(process: Process) -> np.ndarray:
    """Return the (T,) derivatives of the return by a logit shared by all histories of a turn."""
    derivatives = np.zeros(HORIZON)
    for history, part in process.gradient().items():
        derivatives[len(history)] += part
    return derivatives


def gradients(
    process: Process, estimator: Estimator, groups: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (S, T) gradients of groups, and the (S,) turns played in each."""
    rng = np.random.default_rng(seed)
    preset = estimator.preset

    def choose(chance: float) -> int:
        return int(rng.random() < chance)

    group_episodes = [
        grow(process, estimator.branching, estimator.size, choose) for _ in range(groups)
    ]
    batch = batch_of(process, group_episodes)
    episodes = [episode for group in group_episodes for episode in group]
    value = {history: estimator.foresees * process.value(history) for history in process.pay}
    values = [value[actions[:t]] for *_, actions in episodes for t in range(len(actions))]
    batch = replace(batch, values=np.array(values))
    masks = apply_filters(batch, [part for part in preset.filters if "Zero" not in str(part)])
    credit = advantage(batch, preset.terms, preset.post, baseline=masks.baseline)
    score = np.array([
        action - process.chance(actions[:turn])
        for *_, actions in episodes
        for turn, action in enumerate(actions)
    ])  # fmt: skip
    trained = masks.train / np.bincount(batch.group, masks.train, groups)[batch.group]
    if preset.branching is not None:
        weights = fork_weights(batch, masks.train)
        trained = weights / np.bincount(batch.group, weights, groups)[batch.group]
    parts = score * credit * trained[batch.traj]
    place = batch.group[batch.traj] * HORIZON + batch.turn_index
    group_gradients = np.bincount(place, parts, groups * HORIZON).reshape(groups, HORIZON)
    n_turns = [len(episode[3]) - episode[2] for episode in episodes]
    return group_gradients, np.bincount(batch.group, n_turns, groups)


def measure(groups: int, seed: int) -> dict[str, Any]:
    """Return the figures of each estimator in each process."""
    figures: dict[str, Any] = {}
    for name, process in processes().items():
        truth = exact(process)
        figures[name] = {"exact": truth.tolist(), "estimators": {}}
        for label, estimator in _estimators().items():
            parts, turns = gradients(process, estimator, groups, seed)
            mean, variance = parts.mean(0), parts.var(0, ddof=1).sum()
            # The noise in the squared mean of a sample.
            signal = max(float(mean @ mean - variance / groups), 1e-12)
            cosine = mean @ truth / np.linalg.norm(mean) / np.linalg.norm(truth)
            figures[name]["estimators"][label] = {
                "turns": float(turns.mean()),
                "gradient": mean.tolist(),
                "standard_error": (parts.std(0, ddof=1) / groups**0.5).tolist(),
                "cosine": float(cosine),
                "noise_to_signal": float(variance / signal),
                "turns_for_noise_of_one": float(variance / signal * turns.mean()),
            }
    return figures


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=2000, help="groups of each estimator")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    figures = measure(options.groups, options.seed)
    result = {"groups": options.groups, "seed": options.seed, "size": SIZE, "horizon": HORIZON}
    print(to_json({**result, "processes": figures}))


if __name__ == "__main__":
    main()
