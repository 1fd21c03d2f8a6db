"""Print untrusted text on a terminal without executing its control codes.

Names, reasons and errors may come from models, endpoints, records and reports of others. A terminal
would execute escape codes in them, which can colour or delete text, set the title, or inject input.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

LONGEST = 4000
"""Maximum number of characters of a message or cell."""
CUT = " [...] "
"""Marker of a cut text."""
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Unicode categories of invisible characters, which affect the text around them."""
_HARMLESS = frozenset("\n\t\u200c\u200d")
"""The harmless ones among them, which lay out text or join letters and emoji."""


def printable(text: str, limit: int | None = LONGEST) -> str:
    """Return text that is safe to print on a terminal.

    Control characters are written as terminals do (``^[`` for escape), others that hide or turn the
    text around them by their number (``⟨U+202E⟩``). Line breaks and tabs stay.

    Args:
        text: Any text.
        limit: Maximum number of characters. A longer text loses its middle, since messages and
            names say what matters at their ends. None: no limit.
    """
    if not text.isprintable():
        text = "".join(map(_shape, _cut(text, limit).replace("\r\n", "\n")))
    return _cut(text, limit)


def cell(text: str) -> Text:
    """Return untrusted text for a rich table: printable, without markup."""
    from rich.text import Text

    return Text(printable(text))


def say(console: Console, text: str) -> None:
    """Print text literally, without rich's markup.

    On a terminal a sentence is broken between words. Elsewhere, and of commands, which are indented
    so that they can be copied, no line is broken.
    """
    for line in text.split("\n"):
        soft_wrap = not console.is_terminal or line.startswith("  ")
        console.print(line, markup=False, highlight=False, soft_wrap=soft_wrap)


def table_text(table: Table, width: int = 80) -> str:
    """Return a rich table as plain text, for `print` and for places without a terminal.

    Args:
        table: The table.
        width: Maximum number of characters of a line.
    """
    import io

    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(table)
    return text.getvalue().rstrip("\n")


def _shape(character: str) -> str:
    if character in _HARMLESS or unicodedata.category(character) not in _ACTING:
        return character
    code = ord(character)
    return f"^{chr(code ^ 0x40)}" if code < 0x20 or code == 0x7F else f"\u27e8U+{code:04X}\u27e9"


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    tail = max(limit - len(CUT), 0) // 3
    head = max(limit - len(CUT) - tail, 0)
    return text[:head] + CUT + text[len(text) - tail :]
