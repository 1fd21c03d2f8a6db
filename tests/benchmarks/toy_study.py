"""A study of two arms that takes seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.studies.runner.measures import compared_at_equal_cost, held_out
from benchmarks.studies.runner.study import Arm, Runs, Study

FLAGS = (
    "--env tests.toy:agentgym-test/Toy-v0 --steps 4 --no-fit-horizon --eval.horizon 5 "
    "--sft.demonstrations 64 --sft.max-steps 20 --sft.copy-steps 5 --sft.eval-every 20 "
    "--sft.eval-tasks 4 --sft.learning-rate 1e-2 --rl.groups 4 --rl.num-generations 4 "
    "--rl.turn-tokens 4 "
    "--rl.episode-tokens 150 --rl.save-every 2 --rl.learning-rate 1e-2 --rl.warmup-steps 0 "
    "--rl.log-groups 4 --eval.num-tasks 8 --eval.every 2 --eval.valid-tasks 4 "
    "--eval.baselines none --tiny.hidden 16 --tiny.layers 1 --tiny.heads 2 "
    "--tiny.intermediate 32 --tiny.context 256"
)


def arm(name: str, flags: str) -> Arm:
    return Arm(name, tuple(f"{FLAGS} {flags}".split()), {"horizon": name})


def measure(runs: Runs) -> dict[str, Any]:
    arms = {name: held_out(arm_runs, "trained") for name, arm_runs in runs.items()}
    return {"arms": arms, **(compared_at_equal_cost(runs) if runs else {})}


def draw(result: Mapping[str, Any], path: Path) -> None:
    path.write_text(", ".join(result["arms"]))


STUDY = Study(
    name="toy_study",
    question="Is the toy learned sooner with few turns?",
    arms=[arm("short", "--horizon 3"), arm("long", "--horizon 5")],
    measure=measure,
    draw=draw,
)
