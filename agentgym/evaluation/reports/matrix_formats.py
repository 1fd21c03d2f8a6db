"""A paper's table as LaTeX, CSV, Markdown, HTML, and on the terminal.

Names may come from strangers' reports, so each format escapes them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agentgym.evaluation.reports.matrix_data import MatrixData, MatrixRow
from agentgym.evaluation.reports.report_tables import html, inline
from agentgym.support.spreadsheets import as_text_cell
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from rich.table import Table

MISSING = "—"
"""Text of a cell without a number."""
_LATEX = {
    **{character: f"\\{character}" for character in "#$%&_{}"},
    # In braces, so that LaTeX does not take them for an option of the line break before.
    **{character: f"{{{character}}}" for character in "[]*"},
    "\\": "\\textbackslash{}",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "`": "\\textasciigrave{}",
    '"': "{\\char34}",
    "†": "$^\\dagger$",
    "—": "---",
}
_LETTERS = "àáâãäåæçèéêëìíîïñòóôõöøùúûüýß"


class Cell(NamedTuple):
    """A cell of numbers, in percent."""

    value: str
    """The number."""
    interval: str = ""
    """Its 95 % interval, which need not be symmetrical; empty if unknown."""
    incomplete: bool = False
    """Whether its evaluation is incomplete, which a mark shows."""
    best: bool = False
    """Whether it is the best in its column."""


def to_table(matrix: MatrixData) -> Table:
    """Return the matrix as a rich table, with a legend of its marks."""
    from rich.table import Table
    from rich.text import Text

    notes = Text("\n".join(map(printable, _legend(matrix))), style="dim")
    title = Text(f"{matrix.value.capitalize()} in percent")
    table = Table(title=title, caption=notes, caption_justify="left")
    table.add_column("policy", overflow="fold")
    for name in matrix.header:
        table.add_column(Text(printable(name)), justify="right", overflow="fold")
    for row in matrix.rows:
        cells = (
            Text(_plain_text(cell), "bold" if cell.best else "") for cell in _cells(matrix, row)
        )
        table.add_row(Text(printable(row.policy)), *cells, end_section=_last_model(matrix, row))
    return table


def to_markdown(matrix: MatrixData) -> str:
    """Return the matrix as a Markdown table, with its notes."""

    def format_cell(cell: Cell) -> str:
        return f"**{_plain_text(cell)}**" if cell.best else _plain_text(cell)

    lines = [[f"{matrix.value}, %", *map(inline, matrix.header)]]
    lines.append(["---", *["---:"] * len(matrix.header)])
    lines += [[inline(row.policy), *map(format_cell, _cells(matrix, row))] for row in matrix.rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    notes = "".join(f"- {inline(note)}\n" for note in _notes(matrix))
    return f"{table}\n{notes}"


def to_html(matrix: MatrixData) -> str:
    """Return the matrix as a table for a notebook."""

    def format_cell(cell: Cell) -> str:
        return f"<b>{_plain_text(cell)}</b>" if cell.best else _plain_text(cell)

    head = "".join(f"<th>{html(name)}</th>" for name in matrix.header)
    body = ""
    for row in matrix.rows:
        cells = "".join(f"<td>{format_cell(cell)}</td>" for cell in _cells(matrix, row))
        body += f"<tr><th>{html(row.policy)}</th>{cells}</tr>"
    notes = "".join(f"<br>{html(note)}" for note in _notes(matrix))
    title = f"{matrix.value.capitalize()} in percent"
    return f"<table><caption>{title}{notes}</caption><tr><th></th>{head}</tr>{body}</table>"


def to_csv(matrix: MatrixData) -> str:
    """Return the matrix's records as CSV; text that looks like a formula gets an apostrophe."""
    records = matrix.records()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(records[0])
    for record in records:
        writer.writerow(
            _harmless(value) if isinstance(value, str) else value for value in record.values()
        )
    return text.getvalue()


def to_latex(matrix: MatrixData) -> str:
    """Return the matrix as a table for LaTeX, with its notes in the caption.

    It compiles unchanged with the package booktabs; comments describe the panels.
    """
    comments = [f"% {latex(note)}" for note in _panels(matrix)]
    caption = " ".join(map(latex, [f"{matrix.value.capitalize()} in percent.", *_legend(matrix)]))
    lines = [
        "% \\usepackage{booktabs}",
        *comments,
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{caption}}}",
        f"\\label{{tab:{matrix.value}}}",
        f"\\begin{{tabular}}{{l{'r' * len(matrix.header)}}}",
        "\\toprule",
        _latex_row(["Policy", *map(latex, matrix.header)]),
        "\\midrule",
    ]
    for row in matrix.rows:
        lines.append(_latex_row([latex(row.policy), *map(_latex_cell, _cells(matrix, row))]))
        if _last_model(matrix, row):
            lines.append("\\midrule")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}"]) + "\n"


def latex(text: str) -> str:
    """Escape untrusted text for LaTeX: it cannot contain commands, and stays on one line.

    Characters that LaTeX's fonts may lack are written as code points.
    """
    flat = " ".join(printable(text).split())
    pieces = []
    for character, next_character in zip(flat, f"{flat[1:]} ", strict=True):
        pieces.append(_latex_character(character))
        # LaTeX joins "--" and "''" to one character.
        if character == next_character and character in "-'":
            pieces.append("{}")
    return "".join(pieces)


def _latex_character(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    is_supported = character.isascii() or character.lower() in _LETTERS
    return character if is_supported else f"(U+{ord(character):04X})"


def _latex_cell(cell: Cell) -> str:
    value = f"\\textbf{{{cell.value}}}" if cell.best else latex(cell.value)
    mark = "$^\\dagger$" if cell.incomplete else ""
    return f"{value}{_behind(cell)}{mark}"


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _plain_text(cell: Cell) -> str:
    return f"{cell.value}{_behind(cell)}{' †' if cell.incomplete else ''}"


def _behind(cell: Cell) -> str:
    return f" {cell.interval}" if cell.interval else ""


def _harmless(text: str) -> str:
    return as_text_cell(printable(text))


def _cells(matrix: MatrixData, row: MatrixRow) -> list[Cell]:
    """Return the cells of a row, including its average."""
    cells = []
    for index, entry in enumerate(matrix.entries(row)):
        figure = matrix.figure(entry)
        incomplete = entry is not None and entry.incomplete
        if figure is None:
            cells.append(Cell(MISSING, incomplete=incomplete))
            continue
        ends = figure.interval
        interval = "" if ends is None else "[{:.1f}, {:.1f}]".format(*(100 * e for e in ends))
        best = matrix.best.get(index) is row
        cells.append(Cell(f"{100 * figure.value:.1f}", interval, incomplete, best))
    return cells


def _last_model(matrix: MatrixData, row: MatrixRow) -> bool:
    """Return whether the reference policies begin below a row."""
    later_rows = matrix.rows[matrix.rows.index(row) + 1 :]
    return not row.yardstick and bool(later_rows) and later_rows[0].yardstick


def _notes(matrix: MatrixData) -> list[str]:
    return [*_legend(matrix), *_panels(matrix)]


def _legend(matrix: MatrixData) -> Iterator[str]:
    """Yield the sentences that explain the marks in this table."""
    cells = [cell for row in matrix.rows for cell in _cells(matrix, row)]
    entries = [entry for row in matrix.rows for entry in matrix.entries(row)]
    yield "In brackets: the 95 % interval over tasks."
    if matrix.averages:
        some = any(matrix.figure(row.average) is None for row in matrix.rows)
        yield (
            "The average is the mean over all environments, with its interval combined from theirs "
            "(Zou, Huang and Zhang, 2009)"
            f"{'; a policy that was not played in all of them has none' if some else ''}."
        )
    if any(cell.best for cell in cells):
        yield "Bold: the interval lies above those of all other models."
    if any(entry and entry.source == "scale" and matrix.figure(entry) for entry in entries):
        yield "Without brackets: from the scale of the reports, random actions and the oracle."
    if any(entry and entry.broken for entry in entries):
        yield "Broken episodes count as unsolved."
    if any(cell.incomplete for cell in cells):
        yield "† Incomplete: more than 5 % of the episodes are broken, or not all were played."
    if any(cell.value == MISSING for cell in cells):
        yield f"{MISSING} Not played, or not known."
    for row in matrix.rows:
        if row.differing:
            yield f"{row.policy}: not the same in all environments: {', '.join(row.differing)}."


def _panels(matrix: MatrixData) -> list[str]:
    return [f"{column.name}: {column.env_id}, {column.panel}" for column in matrix.columns]
