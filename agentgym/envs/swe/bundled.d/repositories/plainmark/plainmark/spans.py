"""From running text to HTML."""

from __future__ import annotations

import re

SPECIAL = re.compile(
    r"""
    \\(?P<escape>[\\`*_{}\[\]()\#+\-.!|~<>])
    | (?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
    | (?P<image>!)?\[(?P<label>(?:[^\[\]]|\[[^\[\]]*\])*)\]
      \((?P<address>[^\s()]*)(?:\s+"(?P<title>[^"]*)")?\)
    | <(?P<auto>https?://[^\s<>]+)>
    | (?P<mark>\*\*|__|~~|\*|_)
    | (?P<break>[ ]{2,}\n)
    """,
    re.VERBOSE | re.DOTALL,
)
TAGS = {"**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "del"}
SAFE_SCHEMES = ("http", "https", "mailto", "ftp")


def escape(text: str) -> str:
    """Replace the characters that have a meaning in HTML."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;")


def is_safe(address: str) -> bool:
    """Tell whether an address is relative or has a scheme that runs nothing."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", address)
    return scheme is None or scheme[1].lower() in SAFE_SCHEMES


def render_spans(text: str) -> str:
    """Render emphasis, code, links and the like within a paragraph."""
    pieces: list[str] = []
    position = 0
    while match := SPECIAL.search(text, position):
        pieces.append(escape(text[position : match.start()]))
        position = match.end()
        if match["mark"]:
            piece, position = _emphasis(text, match)
        else:
            piece = _simple(match)
        pieces.append(piece)
    pieces.append(escape(text[position:]))
    return "".join(pieces)


def _simple(match: re.Match[str]) -> str:
    """Render what one match holds entirely."""
    if match["escape"]:
        return escape(match["escape"])
    if match["code"]:
        return f"<code>{escape(match['code'].strip())}</code>"
    if match["auto"]:
        address = escape(match["auto"])
        return f'<a href="{address}">{address}</a>'
    if match["break"]:
        return "<br>\n"
    return _link(match)


def _link(match: re.Match[str]) -> str:
    if not is_safe(match["address"]):
        return escape(match[0])
    address = escape(match["address"])
    title = f' title="{escape(match["title"])}"' if match["title"] else ""
    if match["image"]:
        return f'<img src="{address}" alt="{escape(match["label"])}"{title}>'
    return f'<a href="{address}"{title}>{render_spans(match["label"])}</a>'


def _emphasis(text: str, match: re.Match[str]) -> tuple[str, int]:
    """Render from an opening mark to its closing one; a mark without partner is text.

    Returns:
        The HTML, and the offset after it in the text.
    """
    mark = match["mark"]
    start = match.end()
    end = _closing(text, mark, start)
    if end < 0 or not _may_open(text, match.start(), start, mark):
        return mark, start
    tag = TAGS[mark]
    return f"<{tag}>{render_spans(text[start:end])}</{tag}>", end + len(mark)


def _may_open(text: str, before: int, after: int, mark: str) -> bool:
    """Tell whether a mark can open: no blank behind it, and no word before an underscore."""
    if text[after : after + 1].isspace():
        return False
    return mark[0] != "_" or before == 0 or not text[before - 1].isalnum()


def _closing(text: str, mark: str, start: int) -> int:
    """Find the mark that closes; code and escaped marks are passed over. -1 if there is none."""
    position = start
    while match := SPECIAL.search(text, position):
        position = match.end()
        if match["mark"] != mark or match.start() == start:
            continue
        if text[match.start() - 1].isspace():
            continue
        if mark[0] == "_" and text[position : position + 1].isalnum():
            continue
        return match.start()
    return -1
