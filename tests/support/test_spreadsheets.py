"""No text of a table is computed by a spreadsheet."""

from __future__ import annotations

import pytest

from agentgym.support.spreadsheets import as_text_cell


@pytest.mark.parametrize(
    "text",
    [
        "=1+1", "+1", "-2+3", "@SUM(A1)", "\n=1+1", "\r\n=1", "\t=1", " =1", "\u00a0=1",
        "\u200b=1", "\ufeff+1", "\x00=1", "\u2028@x", "\uff1d1+1", "\uff0d1",
        "\n\n \t=cmd|' /C x'!A0",
        "\nplain", "\tplain",
    ],
)  # fmt: skip
def test_a_formula_is_quoted_wherever_it_begins(text: str) -> None:
    assert as_text_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "plain", "a=b", "1-2", "'=1", "\u2014", "  plain"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert as_text_cell(text) == text
