"""A certificate: the results of the checks, as JSON, Markdown and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentgym.certification.result import CheckResult, Status
from agentgym.certification.table import meaning
from agentgym.evaluation.reports.report_tables import html, inline, markdown_table
from agentgym.support.terminal import cell

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = "agentgym.certificate/1"
"""Name and version of the format; the version changes when a reader must."""
SHOWN = 20
"""Maximum number of pieces of evidence of a check on a page; the JSON has more."""
HEADER = ("check", "verdict", "n", "measured")
"""Columns of the table of a certificate."""
_STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:auto}table{border-collapse:collapse}"
    "th,td{border:1px solid;padding:.3em;text-align:left;vertical-align:top}"
)


@dataclass(frozen=True, repr=False)
class Certificate:
    """The results of the checks of an environment."""

    env: str
    """Name of the environment, in the form of `agentgym.registration.making.env_name`."""
    settings: Mapping[str, Any]
    """What was checked: arguments, tasks by split, seed, turn budget and limit."""
    panel_sha256: str
    """Hash over the content of the tasks."""
    episodes_sha256: str
    """Hash of the recorded episodes; empty if none were recorded."""
    machine: Mapping[str, Any]
    """The machine."""
    packages: Mapping[str, str]
    """Versions of the packages."""
    commit: str
    """Commit of the suite's source, if known."""
    results: tuple[CheckResult, ...]
    """The results, in the order of the checks."""

    @property
    def passed(self) -> bool:
        """Whether no check failed. Checks that were not run do not count: see `complete`."""
        return not self.counts[Status.FAIL]

    @property
    def complete(self) -> bool:
        """Whether every check was run or means nothing here."""
        return not self.counts[Status.NOT_RUN]

    @property
    def counts(self) -> Counter[Status]:
        """Number of checks by verdict."""
        return Counter(result.status for result in self.results)

    def __getitem__(self, check: str) -> CheckResult:
        """Return the result of a check."""
        return next(result for result in self.results if result.check == check)

    def __str__(self) -> str:
        """Return the counts in a sentence."""
        words = ", ".join(f"{self.counts[status]} {status.value}" for status in Status)
        return f"{self.env}: {words}."

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Certificate of {self}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON values."""
        return {"format": FORMAT, **asdict(self), "passed": self.passed, "complete": self.complete}

    def table(self, words: Callable[[str], str] = str) -> Table:
        """Return the results as a rich table.

        Args:
            words: Rewrites advice, for example with the command's flags for Python names.
        """
        from rich.table import Table

        table = Table(*HEADER)
        for result in self.results:
            table.add_row(*(cell(words(text)) for text in _cells(result)))
        return table

    def markdown(self) -> str:
        """Return the certificate as Markdown, with the meaning of each check and the evidence."""
        lines = [f"# Certificate: {inline(self.env)}", "", inline(str(self)), ""]
        lines += [f"- {inline(name)}: {inline(text)}" for name, text in self._facts()]
        lines += ["", markdown_table(HEADER, [*map(_cells, self.results)]).rstrip()]
        for result in self.results:
            if result.evidence:
                lines += ["", f"## {inline(result.check)}", ""]
                lines += [f"- {inline(line)}" for line in _shown(result)]
        rows = [[result.check, meaning(result.check)] for result in self.results]
        meanings = markdown_table(("check", "what it does and what a pass means"), rows)
        return "\n".join([*lines, "", meanings])

    def html(self) -> str:
        """Return the certificate as a page."""
        facts = "".join(f"<li>{html(name)}: {html(text)}</li>" for name, text in self._facts())
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html(str(self))}'
            f"</title><style>{_STYLE}</style><h1>Certificate</h1>{self._repr_html_()}"
            f"<ul>{facts}</ul></html>\n"
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<th>{html(name)}</th>" for name in HEADER)
        for result in self.results:
            cells = "".join(f"<td>{html(text)}</td>" for text in _cells(result))
            items = "".join(f"<li>{html(text)}</li>" for text in _shown(result))
            rows += f'<tr title="{html(meaning(result.check))}">{cells.removesuffix("</td>")}'
            rows += f"<ul>{items}</ul></td></tr>" if items else "</td></tr>"
        return f"<p>{html(str(self))}</p><table>{rows}</table>"

    def _facts(self) -> list[tuple[str, str]]:
        counts = self.settings.get("counts", {})
        return [
            ("tasks", ", ".join(f"{count} {split}" for split, count in counts.items())),
            ("seed", f"{self.settings.get('seed', 0)}"),
            ("panel sha256", self.panel_sha256),
            ("episodes sha256", self.episodes_sha256),
            ("packages", ", ".join(f"{name} {version}" for name, version in self.packages.items())),
            ("machine", ", ".join(f"{name} {value}" for name, value in self.machine.items())),
        ]


def _cells(result: CheckResult) -> tuple[str, ...]:
    return result.check, result.status.value, f"{result.n or ''}", result.summary


def _shown(result: CheckResult) -> tuple[str, ...]:
    more = len(result.evidence) - SHOWN
    last = (f"... and {more:,} more in certificate.json",) if more > 0 else ()
    return result.evidence[:SHOWN] + last
