"""Texts in tables that a spreadsheet opens."""

from __future__ import annotations

import unicodedata

_FORMULA = frozenset("=+-@")
_BLANK = ("\t", "\r", "\n")


def as_text_cell(text: str) -> str:
    """Return a text in a form that a spreadsheet shows and does not compute.

    A formula begins with one of ``= + - @``, in full width too; blanks and invisible characters
    before it do not change that.
    """
    begin = next((sign for sign in text if sign.isprintable() and not sign.isspace()), "")
    computed = unicodedata.normalize("NFKC", begin) in _FORMULA
    return f"'{text}" if computed or text.startswith(_BLANK) else text
