"""A static page of entries: verified ones by panel, the others with the reason."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from agentgym.evaluation.entries.verification import NOT_PROVEN, EntryVerdict, VerifiedEntry
from agentgym.evaluation.reports.matrix import incomplete
from agentgym.evaluation.reports.report_tables import html, interval
from agentgym.registration.making import HOW_PLAYED

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 2rem; width: 100% }
caption { font-weight: 600; text-align: left }
th, td { border-bottom: 1px solid #8886; overflow-wrap: anywhere; padding: .3rem .6rem;
  text-align: left; vertical-align: top }
.yes { color: #18794e } .no { color: #b42318 } small { color: #777 }
"""
_HEADER = (
    "verified", "policy", "score", "success", "0 to 100", "random", "expert", "episodes",
    "entry sha256",
)  # fmt: skip


def entries_page(verdicts: Sequence[EntryVerdict]) -> str:
    """Return entries as one HTML file without scripts, which loads nothing.

    Args:
        verdicts: Verdicts of `agentgym.evaluation.entries.verify_entries`.
    """
    panels: dict[tuple[str, ...], list[EntryVerdict]] = {}
    for verdict in verdicts:
        if verdict.entry is not None:
            panels.setdefault(panel_facts(verdict.entry), []).append(verdict)
    tables = [_verified_table(list(panel), rows) for panel, rows in panels.items()]
    refused = [verdict for verdict in verdicts if verdict.entry is None]
    if refused:
        tables.append(
            _table(
                "Not verified",
                ("verified", "entry", "reason"),
                [(_mark(False), verdict.path.name, verdict.problem) for verdict in refused],
            )
        )
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; "
        "form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Leaderboard</title><style>{_STYLE}</style></head>\n<body><h1>Leaderboard</h1>\n"
        "<p>Every figure of a verified entry was computed for this page: its episodes were "
        "replayed on the planned tasks, and the random policy and the expert played the same "
        "panel. Broken episodes count as unsolved. Intervals are 95 %.</p>\n"
        + "".join(tables)
        + f"<p><small>Claims that no replay can prove: {html('; '.join(NOT_PROVEN))}.</small></p>\n"
        "</body></html>\n"
    )


def panel_facts(entry: VerifiedEntry) -> tuple[str, ...]:
    """Return what entries must share to be ranked together, in words."""
    report = entry.report
    # The name of the environment leaves these out, though they may make its tasks easier.
    how = [
        f"{name}={value!s:.60}" for name, value in report.env_kwargs.items() if name in HOW_PLAYED
    ]
    tasks = report.size // report.samples
    samples = f", {report.samples} samples of each" if report.samples > 1 else ""
    tasks_note = " chosen by their ids" if entry.chosen_tasks else ""
    return (
        ", ".join([report.env_name, *how]),
        f"{report.split}, {tasks:,} tasks{tasks_note}{samples}, seed {report.seed}",
        *([] if report.horizon is None else [f"turn budget {report.horizon:,}"]),
        f"panel {report.panel_sha256}",
        *([f"sealed as {entry.commitment}"] if entry.commitment else []),
    )


def _verified_table(panel: Sequence[str], verdicts: Sequence[EntryVerdict]) -> str:
    entries = [verdict.entry for verdict in verdicts if verdict.entry is not None]
    entries.sort(
        key=lambda entry: (
            incomplete(entry.report), -entry.report.headline_score.value, entry.report.policy,
        )
    )  # fmt: skip
    return _table("; ".join(panel), _HEADER, map(_row, entries))


def _row(entry: VerifiedEntry) -> tuple[str, ...]:
    report, scale = entry.report, entry.report.scale
    broken = f", {report.errors:,} broken" if report.errors else ""
    protocol = f" ({report.protocol.identity})" if report.protocol else ""
    return (
        _mark(True),
        report.policy + protocol,
        interval(report.headline_score),
        "" if report.success_unknown else interval(report.headline_success),
        _number(report.scaled, ".1f"),
        _number(scale.random if scale else None, ".3f"),
        _number(scale.expert if scale else None, ".3f"),
        f"{len(report.rows):,}{broken}",
        entry.sha256[:16],
    )


def _mark(verified: bool) -> str:
    return "yes" if verified else "no"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _table(caption: str, header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html(name)}</th>" for name in header)
    lines = "".join(
        f'<tr><td class="{html(mark)}">{html(mark)}</td>'
        + "".join(f"<td>{html(text)}</td>" for text in cells)
        + "</tr>\n"
        for mark, *cells in rows
    )
    return f"<table><caption>{html(caption)}</caption>\n<tr>{head}</tr>\n{lines}</table>\n"
