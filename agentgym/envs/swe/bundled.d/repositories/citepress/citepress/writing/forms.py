"""From pieces to text, HTML or Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from citepress.errors import CitationError
from citepress.styles.pieces import Piece

Item = tuple[str, str, list[Piece]]
"""A set entry: its key, its label (empty if it has none) and its pieces."""


def render(items: Sequence[Item], form: str) -> str:
    """Return a bibliography.

    Args:
        items: The entries, in their order.
        form: ``text``, ``html`` or ``markdown``.

    Raises:
        CitationError: There is no such form.
    """
    if form not in FORMS:
        raise CitationError(f"expected one of {', '.join(sorted(FORMS))}, got {form!r}")
    return FORMS[form](items)


def _text(items: Sequence[Item]) -> str:
    """Set entries one a line; labels stand on the left, filled up to one width."""
    width = max((len(label) for _, label, _ in items), default=0)
    lines = []
    for _, label, pieces in items:
        before = f"{label:<{width}} " if width else ""
        lines.append(before + "".join(piece.text for piece in _quoted(pieces)))
    return "".join(line + "\n" for line in lines)


def _quoted(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces as plain text has them: links in angle brackets."""
    return [
        Piece(f"<{piece.text}>", piece.role) if piece.role == "link" else piece for piece in pieces
    ]


_TAGS = {"work": "i", "volume": "b"}


def _html(items: Sequence[Item]) -> str:
    """Set entries as a list whose items have the keys as anchors."""
    lines = ['<ol class="bibliography">']
    for key, label, pieces in items:
        before = f'<span class="label">{html.escape(label)}</span> ' if label else ""
        body = "".join(_html_piece(piece) for piece in pieces)
        lines.append(f'<li id="{html.escape(anchor(key))}">{before}{body}</li>')
    return "\n".join([*lines, "</ol>"]) + "\n"


def _html_piece(piece: Piece) -> str:
    text = html.escape(piece.text)
    if piece.role == "link":
        # only addresses of the web become links: a script in a field shall not run
        if re.match(r"(?:https?|ftp)://", piece.text):
            return f'<a href="{text}">{text}</a>'
        return text
    tag = _TAGS.get(piece.role)
    return f"<{tag}>{text}</{tag}>" if tag else text


def anchor(key: str) -> str:
    """Return the anchor of an entry: its key with only letters, digits, dots and dashes."""
    return "ref-" + re.sub(r"[^A-Za-z0-9.-]+", "-", key).strip("-")


_SPECIAL = re.compile(r"([\\`*_\[\]<>])")


def _escaped(text: str) -> str:
    """Return a text in which no character has a meaning."""
    return _SPECIAL.sub(r"\\\1", text)


def _markdown(items: Sequence[Item]) -> str:
    """Set entries as a list."""
    lines = []
    for _, label, pieces in items:
        before = f"{_escaped(label)} " if label else ""
        lines.append(f"- {before}{''.join(_markdown_piece(piece) for piece in pieces)}")
    return "".join(line + "\n" for line in lines)


def _markdown_piece(piece: Piece) -> str:
    if piece.role == "link":
        return f"<{piece.text}>"
    text = _escaped(piece.text)
    mark = {"work": "*", "volume": "**"}.get(piece.role, "")
    return f"{mark}{text}{mark}"


FORMS: dict[str, Callable[[Sequence[Item]], str]] = {
    "html": _html,
    "markdown": _markdown,
    "text": _text,
}
"""The forms of output by name."""
