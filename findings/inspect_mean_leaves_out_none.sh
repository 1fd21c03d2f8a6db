#!/usr/bin/env bash
# Package: inspect-ai 0.3.285
# Behaviour: which samples a mean counts depends on how a scorer says that it has no score. NaN is
#   reported as unscored; a sample whose scorer returned None is in neither count, so that nothing in
#   the results says that it is missing.
# Seen: of one, zero and NaN: mean .5, 2 scored, 1 unscored; of one, zero and None: mean .5, 2 scored,
#   0 unscored.
# What to do: compare scored and unscored samples with the size of the data set, or score a failure 0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "inspect-ai==0.3.285"
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver

print("inspect-ai", version("inspect-ai"))
VALUES = {"one": 1.0, "zero": 0.0, "nan": float("nan"), "none": None}


@solver
def silent():
    async def solve(state, generate):
        return state

    return solve


@scorer(metrics=[mean()])
def stored():
    async def score(state, target):
        value = VALUES[state.input_text]
        return None if value is None else Score(value=value)

    return score


def run(*names):
    task = Task(dataset=[Sample(input=name) for name in names], solver=silent(), scorer=stored())
    (log,) = eval(task, model="mockllm/model", display="none", log_dir="logs")
    (result,) = log.results.scores
    return result.metrics["mean"].value, result.scored_samples, result.unscored_samples


expected = {
    ("one", "zero"): (0.5, 2, 0), ("one", "zero", "nan"): (0.5, 2, 1), ("one", "zero", "none"): (0.5, 2, 0)
}
for names, figures in expected.items():
    print(names, "mean, scored, unscored:", run(*names))
    assert run(*names) == figures, f"expected {figures}"
PYTHON
