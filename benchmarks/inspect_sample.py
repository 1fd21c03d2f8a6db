"""A task of Inspect on data that its package brings, for the survey of other projects.

Its other example data have scorers that ask a model.
"""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, example_dataset
from inspect_ai.scorer import match
from inspect_ai.solver import generate


@task
def popularity() -> Task:
    """Ask whether a statement is something that the model would say: yes or no."""
    fields = FieldSpec(input="question", target="answer_matching_behavior")
    return Task(dataset=example_dataset("popularity", fields), solver=generate(), scorer=match())
