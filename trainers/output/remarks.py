"""The sentences of a run's result.

The screen, the summary, the report and the model card show the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentgym.evaluation.reports.diagnosis import OFTEN
from agentgym.evaluation.reports.verdicts import direction, relation, signed
from trainers.config.family_defaults import ENOUGH
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.schema import TINY
from trainers.output.roles import BASELINES, RANDOM, ROLES, TRAINED, WARM_START
from trainers.output.summary import (
    ArmResult,
    BaselineEnd,
    ChosenPolicy,
    Difference,
    GreedyResults,
    HealthEvent,
    Paired,
    WarmStart,
    minus,
)

__all__ = [
    "arm_names",
    "base_model_remark",
    "baseline_remarks",
    "chosen_remark",
    "cut_sentence",
    "filter_remark",
    "greedy_remark",
    "health_remark",
    "pooled_remark",
    "random_remark",
    "repeats_remark",
    "scaled_text",
    "steps_remark",
    "target_remark",
    "teacher_remark",
    "untrained_verdict",
    "verdict",
]


HARDLY_MOVED = 0.8
"""Share of its first loss from which the last of a warm start has hardly moved: imitation that
learns how actions are written divides it by ten."""
_IMITATED: Mapping[str, str] = {
    "bc": "all demonstrations",
    "filtered-bc": "the demonstrations that solved their task",
    "expert-iteration": "its own solved episodes",
}
"""What each baseline imitates."""


def health_remark(events: Sequence[HealthEvent]) -> str:
    """Describe the alarms and their effect; empty if there was none."""
    if not events:
        return ""
    names = ", ".join(dict.fromkeys(event.signal for event in events))
    text = f"{len(events)} alarm{'s' if len(events) > 1 else ''} in training ({names})"
    back = [event for event in events if event.to is not None]
    if back:
        steps = ", ".join(f"{event.step} to {event.to}" for event in back)
        text += f"; training was rolled back from step {steps}"
    return f"{text}. The first: at step {events[0].step}, {events[0].sentence}."


def arm_names(run: ResolvedRun) -> dict[str, str]:
    """Return the names of the compared policies."""
    pretrained, imitated = run.config.model != TINY, run.config.sft.max_steps > 0
    start = WARM_START if imitated else "base-model" if pretrained else "untrained"
    return {**{role: role for role in ROLES}, WARM_START: start}


def verdict(paired: Paired, names: Mapping[str, str], strongest_baseline: str = "") -> str:
    """State the effect of reinforcement learning, by the intervals of the differences.

    Args:
        paired: The differences.
        names: Names of the compared policies.
        strongest_baseline: The baseline that did best; empty if there was none.
    """
    sentences = [_change(paired.trained_minus_warm_start, names)]
    against = minus(paired, strongest_baseline) if strongest_baseline else None
    if against is not None:
        sentences.append(_against_baseline(against, names[strongest_baseline]))
    return " ".join(sentences)


def untrained_verdict(steps: int) -> str:
    """State that a run trained nothing, so that differences have no significance."""
    why = (
        f"in all {steps} steps the preset's filters left out every episode (such as those cut "
        "short, and groups with equal returns)"
        if steps
        else "no step was taken"
    )
    return f"Nothing was trained: {why}. No weight changed, so every difference is due to chance."


def greedy_remark(greedy: GreedyResults | None, names: Mapping[str, str]) -> str:
    """State in which measure greedy actions became worse; empty if in none."""
    if greedy is None:
        return ""
    for arm in (WARM_START, *BASELINES):
        paired = minus(greedy, arm)
        if paired is not None and min(_sides(paired)) < 0:
            compared = relation(*_sides(paired), names[arm])
            return f"With greedy actions the trained policy {compared}: {_in_both(paired)}."
    return ""


def filter_remark(run: ResolvedRun) -> str:
    """State that only some demonstrations were imitated; empty if all were."""
    if not (run.imitates and run.config.sft.only_successes):
        return ""
    return (
        "Only demonstrations that solved their task were imitated in the warm start "
        "(--sft.only-successes)."
    )


def _change(paired: Difference, names: Mapping[str, str]) -> str:
    """Say whether reinforcement learning changed the policy that it began with."""
    verbs = {1: "raised", -1: "lowered"}
    score, success = _sides(paired)
    if score == success:
        effect = (
            f"{verbs[score]} score and success"
            if score
            else "made no measurable difference to score or success"
        )
    elif score and success:
        effect = f"{verbs[score]} the score and {verbs[success]} the success"
    else:
        moved, level = ("score", "success") if score else ("success", "score")
        effect = (
            f"{verbs[score + success]} the {moved}, but made no measurable difference to the "
            f"{level}"
        )
    return (
        f"Reinforcement learning {effect}: {names[TRAINED]} minus {names[WARM_START]}, task by "
        f"task on the same {paired.n} held-out tasks, is {_in_both(paired)} (95 % intervals)."
    )


def _against_baseline(paired: Difference, baseline: str) -> str:
    """Say whether reinforcement learning was worth more than the strongest baseline."""
    compared = relation(*_sides(paired), f"the strongest baseline, {baseline}")
    return f"It {compared}: trained minus {baseline} is {_in_both(paired)}."


def baseline_remarks(
    ends: Mapping[str, BaselineEnd],
    left_out: Mapping[str, str],
    names: Mapping[str, str],
    baseline_steps: int | None = None,
) -> Iterator[str]:
    """Describe each baseline, or why it was not trained.

    Args:
        ends: How those ended that were.
        left_out: Why the others were not.
        names: What they are called.
        baseline_steps: Their steps, if those were asked for.
    """
    for name, end in ends.items():
        imitated, by_rule = _IMITATED[name], not (baseline_steps or name == "expert-iteration")
        length = ", at least the compute of reinforcement learning in tokens" * by_rule
        choice = (
            f"the best on the validation tasks (success {end.valid_success:.3f})"
            if end.valid_success is not None
            else "the last"
        )
        yield (
            f"{names[name]}: {end.steps} steps from the warm start on {imitated}{length}. "
            f"The policy of step {end.chosen}, {choice}, is compared."
        )
    for name, reason in left_out.items():
        yield f"{names[name]} was left out: {reason}."


def cut_sentence(cut: Mapping[str, int], sft_steps: int, steps: int) -> str:
    """State where ``--minutes`` cut a phase short; empty if nowhere.

    Args:
        cut: The step after which each phase was ended.
        sft_steps: Maximum steps of the warm start.
        steps: Steps of reinforcement learning.
    """
    planned = {"sft": ("the warm start", sft_steps), "rl": ("reinforcement learning", steps)}
    parts = [
        f"{name} after {cut[key]} of {limit} steps"
        for key, (name, limit) in planned.items()
        if key in cut
    ]
    if not parts:
        return ""
    return (
        f"The time limit (--minutes) ended {' and '.join(parts)}: a faster or slower machine "
        "would have stopped elsewhere."
    )


def teacher_remark(paired: Difference | None, demonstrator: str, env: str = "") -> str:
    """State that the trained policy solves more than the expert that it imitated; empty if not.

    ``env`` names the environment, if it is one of several.
    """
    if paired is None or demonstrator != "expert" or direction(paired.success_ci95) < 1:
        return ""
    expert = f"the expert that it imitated{f' in {env}' * bool(env)}"
    return (
        f"The trained policy {relation(*_sides(paired), expert)}: trained minus demonstrator is "
        f"{_in_both(paired)}."
    )


def _sides(paired: Difference) -> tuple[int, int]:
    """Return on which side of zero the differences in score and in success lie."""
    return direction(paired.score_ci95), direction(paired.success_ci95)


def _in_both(paired: Difference) -> str:
    """Write a difference in score and in success."""
    return (
        f"{signed(paired.score_mean, paired.score_ci95)} in score and "
        f"{signed(paired.success_mean, paired.success_ci95)} in success"
    )


def scaled_text(value: float | None) -> str:
    """Format a score on the scale from 0, random, to 100, oracle; ``-`` without a scale."""
    return "-" if value is None else f"{value:.1f}"


def target_remark(
    warm_start: WarmStart,
    env: ResolvedEnv,
    several: bool = False,
    losses: tuple[float, float] | None = None,
    rate: float = 0.0,
) -> str:
    """State whether the warm start reached its target success.

    Args:
        warm_start: How it ended.
        env: The environment.
        several: Whether it is one of several, each of which has a target.
        losses: First and last loss of the warm start; None: there are no two of them.
        rate: Its learning rate.
    """
    steps, success, target = warm_start.steps, warm_start.success, env.target_success
    env_note = f" in {env.name}" if several else ""
    if env.demonstrator == "random":
        return (
            f"The warm start imitated random actions{env_note} for {steps} steps, not an expert: "
            f"validation success {success:.3f}."
        )
    if warm_start.gated:
        return (
            f"The warm start reached its target{env_note} after {steps} steps: validation success "
            f"{success:.3f}, the target is {target}."
        )
    missed = (
        f"The warm start missed its target{env_note}: validation success {success:.3f} after "
        f"{steps} steps, the target is {target}."
    )
    if losses is not None and losses[1] > HARDLY_MOVED * losses[0]:
        return (
            f"{missed} Its loss hardly moved, from {losses[0]:.3g} to {losses[1]:.3g}: raise "
            f"--sft.learning-rate, which was {rate:g}."
        )
    if success >= ENOUGH:
        return missed
    return (
        f"{missed} Reinforcement learning started from a policy that rarely succeeds; more "
        "--sft.max-steps or --sft.demonstrations help."
    )


def repeats_remark(shares: Mapping[str, float], names: Mapping[str, str]) -> str:
    """State which policies often repeat an invalid action of their episode; empty if none does.

    Args:
        shares: Share of the turns of each policy that do so.
        names: What the policies are called.
    """
    often = [f"{names[arm]} {share:.0%}" for arm, share in shares.items() if share >= OFTEN]
    return f"Turns that repeat an earlier invalid action: {', '.join(often)}." if often else ""


def base_model_remark(run: ResolvedRun, success: float) -> str:
    """State that reward had nothing to begin with; empty if it had, or the run had a warm start.

    Args:
        run: The run.
        success: Success on the held-out tasks of the policy that it started from.
    """
    imitable = any(env.has_expert for env in run.envs)
    if run.config.model == TINY or run.imitates or success or not imitable:
        return ""
    return (
        "The base model solved no held-out task, so reward had little to begin with: "
        "--sft.max-steps auto imitates the demonstrator first."
    )


def steps_remark(steps: int, planned: int, stopped: bool = False, cut: bool = False) -> str:
    """State that training ended early; empty if it did not.

    ``stopped`` says that an alarm ended it, ``cut`` that its time did, which the verdict says.
    """
    if steps >= planned or cut:
        return ""
    reason = (
        "an alarm ended it (--health.on-alarm)"
        if stopped
        else "its budget (--rl.turn-budget, --budget) was used up"
    )
    return f"Training ended after {steps} of {planned} steps, because {reason}."


def horizon_remark(reached: int | None, env: ResolvedEnv, several: bool = False) -> str:
    """State that the horizon never reached its last stage; empty if it did.

    Args:
        reached: Turns of the last step's horizon; None: no step was taken.
        env: The environment.
        several: Whether it is one of several.
    """
    if reached is None or reached >= env.rounds[-1] or env.schedule:
        return ""
    env_note = f" in {env.name}" if several else ""
    if env.horizon_gate is None:
        why = f"a stage takes {env.horizon_every} steps (--horizon-every), and training ended first"
    else:
        why = (
            f"the mean success of {env.horizon_every} steps did not reach --horizon-gate "
            f"{env.horizon_gate:g} there. Tasks that need more turns were not learned. To let it "
            "grow, lower the gate, lengthen the first stage, or leave out --horizon-gate"
        )
    return f"The horizon{env_note} ended at {reached} of {env.rounds[-1]} turns: {why}."


def chosen_remark(policy: ChosenPolicy, steps: int, gated: bool = False) -> str:
    """State which step the trained policy is from, if there was a choice; else empty.

    ``gated`` says that success on validation tasks ended a warm start.
    """
    if policy.valid_success is None:
        return ""
    rank = "the last and the best" if policy.step == steps else "the best"
    reuse = " The same tasks decided when the warm start ended." * gated
    return (
        f"The trained policy is that of step {policy.step} of {steps}, {rank} on the "
        f"validation tasks (success {policy.valid_success:.3f}, score "
        f"{policy.valid_score:.3f}).{reuse} Test tasks did not influence the choice."
    )


def random_remark(results: Mapping[str, ArmResult], env: str = "") -> str:
    """State that the trained policy scores below random actions; empty if it does not.

    ``env`` names the environment, if it is one of several.
    """
    trained, random = results[TRAINED].score_mean, results[RANDOM].score_mean
    if trained >= random:
        return ""
    return (
        f"The trained policy scores below random actions{f' in {env}' * bool(env)}: "
        f"{trained:.3f} against {random:.3f}."
    )


def pooled_remark(tasks: Mapping[str, int]) -> str:
    """Explain the pooled figures of several environments; empty if there is one."""
    if len(tasks) < 2:
        return ""
    parts = ", ".join(f"{count} of {name}" for name, count in tasks.items())
    return (
        "Figures without the name of an environment are means over all held-out tasks "
        f"({parts}). Each environment also has its own comparison."
    )
