"""Judge a submission by its answers to held-out questions, given in a separate box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.envs.swe.held_out.answers import equal
from agentgym.envs.swe.held_out.asking import (
    Pace,
    driver_files,
    read_answers,
    run_driver,
)
from agentgym.envs.swe.held_out.bank import Bank
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.instance_boxes import Boxes, write_files
from agentgym.sandbox import SandboxDied, SandboxLost

PLACE = "/opt/judge"
"""Folder of the driver in a box, if the back end can mount it."""


@dataclass(frozen=True)
class HeldOutResult:
    """The result of asking held-out questions."""

    questions: int
    """Number of questions."""
    wrong: int
    """Number of wrong answers."""
    seed: str
    """Seed of the draw of the questions."""
    reason: str = ""
    """Why there were no answers, for people; empty if there were."""

    @property
    def right(self) -> bool:
        """Whether all answers are right."""
        return not self.wrong


def judge_behaviour(
    boxes: Boxes,
    instance: Instance,
    edits: Mapping[str, bytes | None],
    bank: Bank,
    *,
    seed: str,
    timeout: float,
) -> HeldOutResult:
    """Ask a submission the held-out questions of its task.

    Args:
        boxes: Opens the box.
        instance: The task.
        edits: The edits that count.
        bank: The bank with the questions of the task.
        seed: Seed of the draw of the questions.
        timeout: Time limit of all questions together, in seconds.

    Returns:
        The number of wrong answers. All count as wrong if the run breaks off, takes too long or
        prints anything except one answer to each question.

    Raises:
        EnvFailure: The box cannot be opened or reached.
    """
    questions = bank.draw(instance.id, seed)
    programs = [question.program for question in questions]
    brought = {
        f"{PLACE}/{name}": content
        for name, content in driver_files(bank.packages, programs, Pace()).items()
    }
    with boxes.judging(instance, brought, (PLACE,)) as (box, path_in):
        try:
            write_files(box, edits)
            result = run_driver(box, path_in(PLACE), timeout)
            answers = read_answers(result, len(questions))
        except SandboxLost:
            raise
        except SandboxDied:
            answers = "the sandbox died of the source"
        except OSError as error:
            answers = f"the edits cannot be written: {error}"[:300]
    if isinstance(answers, str):
        return HeldOutResult(len(questions), len(questions), seed, answers)
    pairs = zip(questions, answers, strict=True)
    wrong_count = sum(not equal(question.answer, answer) for question, answer in pairs)
    return HeldOutResult(len(questions), wrong_count, seed)
