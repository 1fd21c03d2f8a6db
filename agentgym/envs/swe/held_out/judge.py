"""Judge a submission by what it answers, in a box of its own, without knowing its code."""

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
"""Where the driver lies in a box, if the back end can show it there."""


@dataclass(frozen=True)
class HeldOutResult:
    """What came of the held-out questions."""

    questions: int
    """Questions."""
    wrong: int
    """Those that were not answered as the sound repository does."""
    seed: str
    """What their draw depended on."""
    reason: str = ""
    """Why there were no answers, for people; empty where there were."""

    @property
    def right(self) -> bool:
        """Whether every question was answered rightly."""
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
        boxes: How the box is opened.
        instance: The task.
        edits: What counts of the submission.
        bank: The bank that holds the task.
        seed: Decides which questions are asked, and in which order.
        timeout: Seconds that all of them may take.

    Returns:
        How many answers were wrong. Where the run ends early or late, or prints anything but one
        answer to each question, all are.

    Raises:
        EnvFailure: The box cannot be opened, or not be reached any more.
    """
    questions = bank.draw(instance.id, seed)
    programs = [question.program for question in questions]
    brought = {
        f"{PLACE}/{name}": content
        for name, content in driver_files(bank.packages, programs, Pace()).items()
    }
    with boxes.judging(instance, brought, (PLACE,)) as (box, where):
        try:
            write_files(box, edits)
            done = run_driver(box, where(PLACE), timeout)
            answers = read_answers(done, len(questions))
        except SandboxLost:
            raise
        except SandboxDied:
            answers = "the sandbox died of the source"
        except OSError as error:
            answers = f"the edits cannot be written: {error}"[:300]
    if isinstance(answers, str):
        return HeldOutResult(len(questions), len(questions), seed, answers)
    pairs = zip(questions, answers, strict=True)
    wrong = sum(not equal(question.answer, answer) for question, answer in pairs)
    return HeldOutResult(len(questions), wrong, seed)
