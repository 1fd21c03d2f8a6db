"""What a run has shown, in words: the same sentences on the screen, in the summary and report."""

from __future__ import annotations

from agentgym.episodes.recorder import package_versions
from trainers.output.summary import Difference, Interval, WarmStart

LIBRARIES = ("torch", "transformers", "trl", "peft")


def arm_names(pretrained: bool, imitated: bool) -> dict[str, str]:
    """Return what the compared policies are called.

    Args:
        pretrained: Whether the policy began as a pretrained model.
        imitated: Whether there was a warm start.
    """
    start = "warm start" if imitated else "base model" if pretrained else "untrained"
    return {"random": "random", "sft": start, "rl": "trained", "oracle": "oracle"}


def verdict(paired: Difference, start: str) -> str:
    """Say whether reinforcement learning changed the policy, by the interval of the difference.

    Args:
        paired: Differences of trained and start over the same tasks, as in ``summary.json``.
        start: What the policy before reinforcement learning is called.

    Returns:
        A sentence with both differences and their 95 % intervals.
    """
    low, high = paired.score_ci95
    if low > 0:
        found = "Reinforcement learning raised the score"
    elif high < 0:
        found = "Reinforcement learning lowered the score"
    else:
        found = "No effect of reinforcement learning on the score can be told from chance"
    return (
        f"{found}: trained minus {start}, task by task on the same {paired.n} held-out tasks, "
        f"is {difference(paired.score_mean, paired.score_ci95)} in score and "
        f"{difference(paired.success_mean, paired.success_ci95)} in success (95 % intervals)."
    )


def difference(mean: float, interval: Interval) -> str:
    """Write a difference with its interval."""
    low, high = interval
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def gate_remark(warm_start: WarmStart | None, gate: float) -> str:
    """Say how the warm start ended.

    Args:
        warm_start: The note that it left; None if there was none.
        gate: Validation success that it was to reach.

    Returns:
        A sentence; empty without a warm start.
    """
    if warm_start is None:
        return ""
    steps, success = warm_start.steps, warm_start.success
    if warm_start.gated:
        return (
            f"The warm start reached its gate after {steps} steps: validation success "
            f"{success:.3f}, the gate is {gate}."
        )
    return (
        f"The warm start missed its gate: validation success {success:.3f} after {steps} steps, "
        f"the gate is {gate}. Reinforcement learning began from a policy that rarely succeeds; "
        "more --sft.max-steps, --sft.demonstrations or --minutes help."
    )


def steps_remark(taken: int, planned: int) -> str:
    """Say that training ended early; empty if it did not."""
    if taken >= planned:
        return ""
    return (
        f"Training ended after {taken} of {planned} steps, because its time (--minutes) or its "
        "turns (--rl.turn-budget) were used up."
    )


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide what a run computes."""
    return package_versions(*LIBRARIES)
