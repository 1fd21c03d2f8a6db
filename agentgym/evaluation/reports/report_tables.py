"""Tables of reports: on the terminal, as Markdown, and as HTML for notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from agentgym.core.outcome import ending_words, reason_words
from agentgym.evaluation.prices import dollars
from agentgym.evaluation.reports.data import TOLERATED, ReportData, mean_score, success_rate
from agentgym.evaluation.reports.diagnosis import OFTEN, diagnoses
from agentgym.rewards.table import hook_words
from agentgym.support.statistics import Estimate
from agentgym.support.terminal import cell, printable

if TYPE_CHECKING:
    from rich.table import Table

FIRST = ("kind", "policy", "model", "endpoint")
"""Facts of a policy that are shown first."""
EXCERPT = 300
"""Maximum number of characters of a failure that are shown."""
KINDS = ("score", "success", "episodes")
"""Columns of the table of kinds of task."""
AT_LEAST = "at least "
"""Prefix of a lower bound, in which broken episodes count as unsolved."""
UNKNOWN = "success cannot be told"
REMEDY = (
    "a reward was negative, and the project names no sum of rewards that solves a task; give it as "
    "solved_at=NUMBER (--env-kwargs solved_at=NUMBER)"
)
"""Text in place of score and success if the environment does not report them."""


def report_table(report: ReportData, words: Callable[[str], str] = str) -> Table:
    """Return the summary as a rich table of two columns, with `diagnoses` below it.

    Args:
        report: The report.
        words: Rewrites advice, for example with the command's flags for Python names.
    """
    from rich.table import Table

    table = Table(
        title=cell(_title(report)), show_header=False, caption_justify="left", caption_style="bold"
    )
    for name, text in _cells(report):
        table.add_row(cell(name), cell(words(text)))
    for name, rows in _groups(report):
        table.add_section()
        table.add_row(cell(name), ", ".join(KINDS))
        for label, *kind in rows:
            table.add_row(cell(label), cell(", ".join(kind)))
    if report.protocol is not None:
        table.add_section()
        for name, text in _protocol(report):
            table.add_row(cell(name), cell(text))
    if notes := diagnoses(report):
        table.caption = cell("\n".join(f"! {words(note)}" for note in notes))
    return table


def report_markdown(report: ReportData) -> str:
    """Return the summary, and the results by kind of task, as Markdown."""
    lines = [f"# {inline(_title(report))}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {inline(text)} |" for name, text in _cells(report)]
    for name, rows in _groups(report):
        lines += ["", markdown_table([name, *KINDS], rows).rstrip()]
    if report.protocol is not None:
        lines += ["", "| protocol | |", "|---|---|"]
        lines += [f"| {inline(name)} | {inline(text)} |" for name, text in _protocol(report)]
    for note in diagnoses(report):
        lines += ["", f"**Check the set-up:** {inline(note)}"]
    return "\n".join(lines) + "\n"


def report_html(report: ReportData) -> str:
    """Return the summary as a table for a notebook."""
    rows = [*_cells(report)]
    for name, group in _groups(report):
        rows += [
            (name, ", ".join(KINDS)),
            *((label, ", ".join(figures)) for label, *figures in group),
        ]
    rows += _protocol(report)
    body = "".join(f"<tr><th>{html(a)}</th><td>{html(b)}</td></tr>" for a, b in rows)
    notes = "".join(f"<p><b>Check the set-up:</b> {html(note)}</p>" for note in diagnoses(report))
    return f"<table><caption>{html(_title(report))}</caption>{body}</table>{notes}"


def _title(report: ReportData) -> str:
    return f"{report.policy} on {report.env_name}"


def _cells(report: ReportData) -> Iterator[tuple[str, str]]:
    """Yield the rows of a summary: first the figures, then the settings."""
    if report.n:
        yield from _figures(report)
    yield from _model(report)
    yield "episodes", _episodes(report)
    if report.incomplete:
        yield "incomplete", _incomplete(report)
    failing = next((row for row in report.rows if row.error), None)
    if broken := next((row for row in report.rows if not row.valid), failing):
        words = broken.error if len(broken.error) <= EXCERPT else f"{broken.error[:EXCERPT]} ..."
        yield f"first {reason_words(broken.stop_reason)}", words
    panel = report.panel_sha256[:16]
    yield "panel", f"{report.split}, seed {report.seed}, sha256 {panel}"
    settings = {**report.env_kwargs, **({"horizon": report.horizon} if report.horizon else {})}
    hooks = settings.pop("reward_hooks", ())
    told_settings = [f"{name}={value!r:.60}" for name, value in settings.items()]
    if hooks:
        told_settings.append(f"reward_hooks {' '.join(map(hook_words, hooks))}")
    if told_settings:
        yield "environment", ", ".join(told_settings)
    if report.limits:
        yield "limits", f"{report.limits} an episode"


def _figures(report: ReportData) -> Iterator[tuple[str, str]]:
    yield from _headline(report)
    if report.samples > 1:
        k, note = report.draws, ", broken ones as unsolved" if report.errors else ""
        yield f"pass@{k}", interval(report.pass_at(k)) + note
        yield f"pass^{k}", interval(report.pass_hat(k)) + note
    if report.scale:
        place = report.scaled
        ends = "0 = random, 100 = expert"
        yield "scale", report.scale.problem if place is None else f"{place:.1f}  ({ends})"
    share = report.invalid_share
    note = f", {share:.1%} of them with an invalid action" if share else ""
    if (repeated := report.repeated_share or 0.0) >= OFTEN:
        note += f", {repeated:.1%} repeat an earlier one"
    yield "turns", f"{report.turns_mean:.1f}{note}"
    for name, count in report.judges.items():
        mean = "no verdict" if count.mean is None else f"{count.mean:.3f}"
        verdicts = (
            f"{count.asked - count.missing:,} of {count.asked:,} verdicts, {count.calls:,} calls"
        )
        yield name, f"{mean}  ({verdicts}, {count.tokens:,} tokens)"
    for name, costs in report.costs.items():
        above = "" if costs.limit is None else f"  ({costs.above:.1%} above {costs.limit:g})"
        yield name, f"{costs.mean:.2f} an episode, at most {costs.most:g}{above}"
    endings = Counter(
        reason_words(row.stop_reason)
        if row.success_unknown
        else ending_words(row.stop_reason, row.success)
        for row in report.rows
    )
    yield "ended by", _counts(dict(endings.most_common()))


def _headline(report: ReportData) -> Iterator[tuple[str, str]]:
    """Yield score and success: first over all planned episodes, then without broken ones."""
    if report.success_unknown:
        yield "success", f"{UNKNOWN}: {REMEDY}"
        yield "return", f"{sum(row.reward for row in report.valid) / report.n:.3f}"
        return
    yield "score", headline_words(report, report.headline_score)
    yield "success", headline_words(report, report.headline_success)
    if report.left_out:
        score, success = interval(report.score), interval(report.success_estimate)
        yield "all of these", f"{report.size:,} episodes, the broken as unsolved"
        yield "without the broken", f"score {score}, success {success}"


def headline_words(report: ReportData, estimate: Estimate) -> str:
    """Format a headline figure, marked if it is a lower bound."""
    return f"{AT_LEAST if report.left_out else ''}{interval(estimate)}"


def headline(report: ReportData) -> str:
    """Return the figures of a report with episodes that count in one line."""
    if report.success_unknown:
        return UNKNOWN
    least = AT_LEAST if report.left_out else ""
    score, success = report.headline_score.value, report.headline_success.value
    line = f"score {least}{score:.3f}, success {least}{success:.3f}"
    return f"{line} ({report.success:.3f} without the broken)" if report.left_out else line


def _incomplete(report: ReportData) -> str:
    """Explain why a report is incomplete."""
    if not report.finished:
        return "not all episodes have been played"
    share = f"more than {TOLERATED:.0%} of the episodes are broken"
    return f"{share}, and episodes do not break at random"


def _model(report: ReportData) -> Iterator[tuple[str, str]]:
    """Yield the rows about the model behind the policy."""
    if report.finish_reasons:
        yield "answers ended by", _counts(report.finish_reasons)
    tokens = report.tokens
    if any(tokens.values()):
        text = ", ".join(f"{number:,} {kind}" for kind, number in tokens.items() if number)
        speed = report.tokens_per_second
        rate = f"; {speed:,.1f} written a second" if speed is not None else ""
        cost = f"; {dollars(report.cost)} US dollars" if report.cost is not None else ""
        yield "tokens", text + rate + cost
    # Package versions are in report.json; here they would take several lines.
    facts = {name: fact for name, fact in report.policy_facts.items() if name != "packages"}
    if text := facts_in_words(facts):
        yield "policy", text


def facts_in_words(facts: Mapping[str, Any]) -> str:
    """Format the facts of a policy: kind, name, model, endpoint, then settings that are not off."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        parts = value if isinstance(value, Mapping) else {name: value}
        flat |= {
            f"{name}.{part}" if part in flat else part: detail for part, detail in parts.items()
        }
    names = sorted(flat, key=lambda name: (FIRST.index(name) if name in FIRST else 9, name))
    return ", ".join(filter(None, (_fact(name, flat[name]) for name in names)))


def _fact(name: str, value: object) -> str:
    """Format a fact; empty if its value is empty or off."""
    if value is None or value is False or value in ("", (), [], {}):
        return ""
    if value is True:
        return name
    text = f"{value:,}" if isinstance(value, int) and name != "seed" else f"{value!s:.80}"
    return text if name == "kind" else f"{name} {text}"


def _episodes(report: ReportData) -> str:
    text = f"{report.n:,}"
    if report.samples > 1:
        text += f", {report.samples} of each task"
    if report.errors:
        text += f" ({report.errors:,} broken{counted(report)})"
    if not report.finished:
        text += f"; {len(report.rows):,} of {report.planned:,} played so far"
    return text


def counted(report: ReportData) -> str:
    """Return a note that broken episodes count as unsolved; empty if they are left out."""
    return ", counted as unsolved" if report.failed == "count" else ""


def _groups(report: ReportData) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each label of tasks, with a line for each of its values: the value, then `KINDS`."""
    for name, values in report.by_label().items() if not report.success_unknown else ():
        yield (
            name,
            [
                [value, interval(mean_score(rows)), interval(success_rate(rows)), f"{len(rows):,}"]
                for value, rows in values.items()
            ],
        )


def _protocol(report: ReportData) -> Iterator[tuple[str, str]]:
    """Yield the figures of the protocol, and the departures from it."""
    used = report.protocol
    if used is None:
        return
    departs = " with other settings (below)" if report.departures else ""
    yield "protocol", f"{used.name}{departs}, sha256 {used.sha256[:16]}"
    for name, estimate, n, scale in report.figures():
        text = "no task of this kind"
        if estimate is not None:
            digits = 1 if scale >= 10 else 3
            value, low, high = (f"{number:.{digits}f}" for number in estimate)
            text = f"{value}  [{low}, {high}], n={n}"
        yield name, text
    for name, (expected, actual) in report.departures.items():
        text, usual = (str("none" if value is None else value) for value in (actual, expected))
        yield f"departs: {name}", f"{text:.80}; the protocol has {usual:.80}"


def interval(estimate: Estimate) -> str:
    """Format an estimate with its 95 % interval."""
    return f"{estimate.value:.3f}  [{estimate.low:.3f}, {estimate.high:.3f}]"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name or 'unknown'} {number:,}" for name, number in counts.items())


def inline(text: str) -> str:
    """Escape untrusted text for one line of Markdown and for terminals.

    Do not put it at the start of a line, where a hyphen would begin a list.
    """
    flat = " ".join(escape(printable(text), quote=False).split())  # quotes are harmless in text
    return "".join(f"\\{c}" if c in "\\|*_`[]#~" else c for c in flat)


def html(text: str) -> str:
    """Escape untrusted text for HTML, including characters that change the writing direction."""
    return escape(printable(text))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    cells = [[inline(text) for text in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
