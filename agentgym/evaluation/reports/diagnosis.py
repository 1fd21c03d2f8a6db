"""Diagnose a broken set-up from a report, and suggest changes.

Advice contains Python names of settings in backticks, such as `max_tokens` or `retry_failed=True`;
the command replaces them by its flags.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from agentgym.actions import GRAMMARS, ActionSpec
from agentgym.actions.blank_forms import blank_form
from agentgym.actions.call_forms import find_form
from agentgym.actions.thinking import first_mark
from agentgym.core.language import Language
from agentgym.core.outcome import StopReason
from agentgym.registration import families
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from agentgym.evaluation.reports.data import ReportData

NEARLY_ALL = 0.9
"""Share of turns or episodes above which a problem is blamed on the set-up, not on the model."""
OFTEN = 0.2
"""Share of turns above which repeated invalid actions are reported."""
CUT_SHORT = ("length", "max_tokens")
"""Finish reasons of responses that were cut at the limit on their length."""
FORGIVING = ("react", "tool_call")
"""Grammars in which a model may write text around the action."""
TRAINED = ("run", "hf")
"""Kinds of policies that know only the grammar of their training."""
_UNKNOWN_MARK = re.compile(
    r"\s{0,64}(<\|[^<>\s]{1,40}>|<[A-Za-z][\w:|-]{0,40}>|\[[A-Z][A-Z_]{2,20}\]|◁[^▷\s]{1,20}▷)"
)
"""Text at the beginning of a response that looks like a marker of a model's chat template."""
NAMED = 3
"""Maximum number of unusable rows that are listed."""
SHOWN = 120
"""Maximum number of characters of a response that are shown."""


def diagnoses(report: ReportData) -> list[str]:
    """Return signs of a broken set-up and missing data, one sentence each.

    Args:
        report: The report.
    """
    cause = _cut(report) or _overflow(report) or _invalid(report)
    signs = (report.unfinished, _left_out_rows(report), cause, _broken(report))
    return [sign for sign in signs if sign]


def _left_out_rows(report: ReportData) -> str:
    """Report unusable rows of the data set."""
    rows = report.left_out_rows
    if not rows:
        return ""
    remark = f"; and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
    are = "row is" if len(rows) == 1 else "rows are"
    return f"{len(rows):,} {are} left out of the data set: {'; '.join(rows[:NAMED])}{remark}"


def _cut(report: ReportData) -> str:
    """Report that nearly all responses were cut; empty if they were not."""
    answers = report.finish_reasons
    cut, of = sum(answers.get(reason, 0) for reason in CUT_SHORT), sum(answers.values())
    if not _nearly_all(cut, of):
        return ""
    thinks = any(first_mark(row.invalid_answer)[0] for row in report.valid)
    if (repeated := report.repeated_share or 0.0) >= OFTEN and not thinks:
        return (
            f"{_share(cut, of)} answers were cut at the limit on their length, but {repeated:.0%} "
            "of the turns repeat an earlier invalid action, which a higher limit does not change: "
            "`shots=2` shows the model how actions are written"
        )
    limit = report.policy_facts.get("max_tokens")
    if not isinstance(limit, int):
        return f"{_share(cut, of)} answers were cut at the limit on their length: raise it"
    return f"{_share(cut, of)} answers were cut at {limit:,} tokens: raise `max_tokens`"


def _overflow(report: ReportData) -> str:
    """Report that nearly all episodes ended because the context was full; else empty."""
    full, of = report.stop_reasons.get(StopReason.CONTEXT.value, 0), len(report.rows)
    if not _nearly_all(full, of):
        return ""
    return (
        f"{_share(full, of)} episodes outgrew the model's context: lower `max_tokens` or `window`, "
        "or serve the model with a longer context"
    )


def _invalid(report: ReportData) -> str:
    """Report that nearly all actions were invalid, with the first one; else empty."""
    counted = [row for row in report.valid if row.invalid is not None]
    invalid, turns = sum(row.invalid or 0 for row in counted), sum(row.turns for row in counted)
    if not _nearly_all(invalid, turns):
        return ""
    answer = next((row.invalid_answer for row in counted if row.invalid_answer), "")
    response = f"the first was {_quoted(answer) if answer.strip() else 'empty'}"
    grammar = str(report.env_kwargs.get("grammar") or "native")
    invalid_actions = f"{_share(invalid, turns)} actions were invalid: {response}, where"
    advice = f"the grammar {grammar} expects {_form(report.env_id, grammar)}"
    repeated = report.repeated_share or 0.0
    repeats = f"; {repeated:.0%} of the turns repeat an earlier one" if repeated >= OFTEN else ""
    if report.policy_facts.get("kind") in TRAINED:
        return f"{invalid_actions} {advice}{repeats}"
    advice = f"{advice}; try"
    if report.policy_facts.get("tools"):
        advice = (
            "a call of one of the tools was expected; check that the endpoint parses calls (vLLM: "
            "--enable-auto-tool-choice, --tool-call-parser), or try"
        )
    alternatives = " or ".join(
        f'`grammar="{alternative}"`' for alternative in FORGIVING if alternative != grammar
    )
    return f"{invalid_actions} {advice} {alternatives}{_server(answer, report.env_id)}{repeats}"


def _server(answer: str, env_id: str) -> str:
    """Name the parser that the server needs, if a response contains markup that it would parse."""
    form = find_form(answer)
    if form is not None:
        return (
            f"; the call is written as {form.models} writes it: start the server with "
            f"--tool-call-parser {form.parser}"
        )
    mark, family = first_mark(answer)
    if mark:
        name = re.search(r"\((\w+)", family)
        parser = name[1] if name else "NAME (qwen3, deepseek_r1, ...)"
        return f"; {mark} marks thinking: start the server with --reasoning-parser {parser}"
    unknown = _UNKNOWN_MARK.match(answer)
    if unknown is None or unknown[1].strip("<>").lower() in _own_tags(env_id):
        return ""
    return (
        f"; it begins with {_quoted(unknown[1])}: if this marks thinking or a call, the server has "
        "a parser for it (--reasoning-parser, --tool-call-parser)"
    )


def _own_tags(env_id: str) -> set[str]:
    """Return the names of tags that belong to actions."""
    return {spec.name.lower() for spec in _specs(env_id)} | {"action", "tool_call"}


def _broken(report: ReportData) -> str:
    """Report broken episodes, and how to play them again or count them."""
    if not report.errors or not report.n:
        return ""  # if none counts, repeating the same command plays them again anyway
    are = "episode is" if report.errors == 1 else "episodes are"
    pronoun = "it" if report.errors == 1 else "them"
    sentence = f"{report.errors:,} {are} broken: `retry_failed=True` plays {pronoun} again"
    return (
        f'{sentence}, `failed="count"` counts {pronoun} as unsolved'
        if report.left_out
        else sentence
    )


def _nearly_all(number: int, of: int) -> bool:
    return of > 0 and number >= NEARLY_ALL * of


def _share(number: int, of: int) -> str:
    return f"all {of:,}" if number == of else f"{number:,} of {of:,}"


def _quoted(answer: str) -> str:
    flat = " ".join(printable(answer).split())
    return f"{flat[:SHOWN]!r}{' ...' if len(flat) > SHOWN else ''}"


def _form(env_id: str, grammar: str) -> str:
    """Return examples of actions, or a general phrase for environments outside of the suite."""
    specs = _specs(env_id)
    if grammar not in GRAMMARS or not specs:
        return "an action alone, as the action prompt shows it"
    write = Language(specs, grammar).write
    return " or ".join(
        write(spec.examples[0]) if spec.examples else blank_form(spec, grammar)
        for spec in specs[:2]
    )


def _specs(env_id: str) -> tuple[ActionSpec, ...]:
    """Return the actions of a family; empty for other ids, whose modules must not be imported."""
    point = next((family.entry_point for family in families() if family.id == env_id), "")
    if not point:
        return ()
    module, _, name = point.partition(":")
    specs: tuple[ActionSpec, ...] = getattr(import_module(module), name).action_specs
    return specs
