"""Title and text of a passage in one field, as Search-R1's corpora and servers write them.

A record is ``"Title"``, a line break, and the text: the title stands in quotation marks on the
first line.
"""

from __future__ import annotations


def join_contents(title: str, text: str) -> str:
    """Write title and text as one field."""
    return f'"{title}"\n{text}'


def split_contents(contents: str) -> tuple[str, str]:
    """Take title and text apart; the title may lack its quotation marks.

    A single line without quotation marks is a text that has no title.
    """
    first, line_break, text = contents.partition("\n")
    first = first.strip()
    if len(first) >= 2 and first[0] == first[-1] == '"':
        return first[1:-1], text
    return (first, text) if line_break else ("", first)
