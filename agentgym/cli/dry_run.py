"""``agentgym eval --dry-run``: show the planned evaluation and its estimated cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import AgentGymError
from agentgym.evaluation.suites.chat_settings import chat_policy
from agentgym.registration.making import env_name
from agentgym.support.terminal import cell

if TYPE_CHECKING:
    from rich.table import Table

    from agentgym.conversation import Prompt
    from agentgym.core.env import TextEnv
    from agentgym.evaluation.plan import Plan
    from agentgym.evaluation.suites.named_evaluation import NamedEvaluation


def dry_run(evaluation: NamedEvaluation, out: Path | None) -> Table:
    """Return the plan of an evaluation as a table; nothing is sent or written.

    Args:
        evaluation: The evaluation.
        out: Folder of the evaluation, if any.

    Raises:
        AgentGymError: The evaluation could not be played.
    """
    from rich.table import Table

    env = evaluation.open()
    try:
        rows = [*_rows(evaluation, env)]
    finally:
        env.close()
    table = Table(title=cell(f"{evaluation.title}: not played"), show_header=False)
    for name, text in [*rows, ("folder", str(out or "none: nothing is kept"))]:
        table.add_row(cell(name), cell(text))
    return table


def _rows(evaluation: NamedEvaluation, env: TextEnv) -> Iterator[tuple[str, str]]:
    from agentgym.evaluation.plan import plan
    from agentgym.evaluation.reports.report_tables import facts_in_words

    its = evaluation.settings
    terms = evaluation.terms(env)
    planned = plan(env.tasks, terms.split, terms.num_tasks, its.seed, terms.tasks, its.samples)
    name = env_name(env.spec.id, env.spec.kwargs) if env.spec else evaluation.env
    yield "environment", " ".join((name, f"grammar={env.language.grammar}", *its.env_kwargs))
    sha256 = planned.panel_sha256[:16]
    yield "panel", f"{planned.split}, seed {its.seed}, sha256 {sha256}"
    samples = f", {its.samples} of each task" if its.samples > 1 else ""
    yield "episodes", f"{len(planned.jobs):,}{samples}"
    evaluation.check_policy(env)
    if evaluation.policy != "chat":
        yield "policy", evaluation.policy
        return
    policy: Any = terms.configured(chat_policy(its, env.action_prompt(), env.language.grammar))
    yield "policy", facts_in_words(policy.facts())
    yield from _estimate(evaluation, policy.prompt, env, planned, terms.horizon)


def _estimate(
    evaluation: NamedEvaluation, prompt: Prompt, env: TextEnv, planned: Plan, horizon: int | None
) -> Iterator[tuple[str, str]]:
    """Yield the estimated tokens and cost of a chat model."""
    from agentgym.evaluation.forecast import ANSWER, CHARACTERS, MEASURED, forecast
    from agentgym.evaluation.prices import dollars

    try:
        estimate = forecast(env, planned, horizon, prompt)
    except AgentGymError as error:
        yield "tokens", f"no estimate: {error}"
        return
    low, high = estimate.least, estimate.most
    yield (
        "turns",
        f"{estimate.turns[0]:.1f} (the expert's) to {estimate.turns[1]} (the horizon) each",
    )
    yield (
        "tokens",
        f"{low.prompt_tokens:,} to {high.prompt_tokens:,} prompt, "
        f"{low.completion_tokens:,} to {high.completion_tokens:,} completion",
    )
    cost = "not known: give --price READ WRITTEN"
    if prices := evaluation.settings.prices:
        cost = f"{dollars(prices.cost(low))} to {dollars(prices.cost(high))} US dollars"
    yield "cost", cost
    yield (
        "assumed",
        f"observations of the expert (first {MEASURED} tasks), {CHARACTERS} characters a "
        f"token, answers of {ANSWER} tokens (thinking takes more), no cache",
    )
