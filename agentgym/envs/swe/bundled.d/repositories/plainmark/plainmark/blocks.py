"""From lines to blocks."""

from __future__ import annotations

import re

from plainmark.nodes import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Table

HEADING = re.compile(r"(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*")
UNDERLINE = re.compile(r"(=+|-{2,})\s*")
RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*")
FENCE = re.compile(r"(```+|~~~+)\s*([\w+-]*)\s*")
ITEM = re.compile(r"(\s*)([-*+]|(\d{1,9})[.)])(\s+|$)(.*)")
TABLE_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")


def parse(text: str) -> list[Block]:
    """Split a text into blocks; tabs count as four blanks."""
    return parse_lines(text.replace("\r\n", "\n").expandtabs(4).split("\n"))


def parse_lines(lines: list[str]) -> list[Block]:
    """Split lines into blocks."""
    blocks: list[Block] = []
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        for reader in (_heading, _rule, _code, _quote, _listing, _table):
            found = reader(lines, position)
            if found is not None:
                break
        else:
            found = _paragraph(lines, position)
        block, position = found
        blocks.append(block)
    return blocks


def _heading(lines: list[str], position: int) -> tuple[Block, int] | None:
    match = HEADING.fullmatch(lines[position])
    if match is None:
        return None
    return Heading(len(match[1]), match[2] or ""), position + 1


def _rule(lines: list[str], position: int) -> tuple[Block, int] | None:
    return (Rule(), position + 1) if RULE.fullmatch(lines[position]) else None


def _code(lines: list[str], position: int) -> tuple[Block, int] | None:
    """Read a fenced block; without a closing fence it reaches to the end."""
    match = FENCE.fullmatch(lines[position])
    if match is None:
        return None
    fence, language = match[1], match[2]
    body: list[str] = []
    position += 1
    while position < len(lines):
        line = lines[position].rstrip()
        position += 1
        if line.startswith(fence) and set(line) == {fence[0]}:
            break
        body.append(line)
    return Code("\n".join(body), language), position


def _quote(lines: list[str], position: int) -> tuple[Block, int] | None:
    inner: list[str] = []
    while position < len(lines) and lines[position].startswith(">"):
        inner.append(re.sub(r"^> ?", "", lines[position]))
        position += 1
    return (Quote(parse_lines(inner)), position) if inner else None


def _listing(lines: list[str], position: int) -> tuple[Block, int] | None:
    """Read a list: items of one kind, each with the lines that are indented below it."""
    first = ITEM.fullmatch(lines[position])
    if first is None:
        return None
    ordered = first[3] is not None
    listing = Listing(ordered, int(first[3]) if ordered else 1)
    while position < len(lines):
        match = ITEM.fullmatch(lines[position])
        if match is None or (match[3] is not None) != ordered or RULE.fullmatch(lines[position]):
            break
        body, end = _item(lines, position, match)
        blank = not lines[end - 1].strip()
        while body and not body[-1].strip():
            body.pop()
        follows = end < len(lines) and ITEM.fullmatch(lines[end]) is not None
        if (blank and follows) or "" in body:
            listing.loose = True
        listing.items.append(parse_lines(body))
        position = end
    return listing, position


def _item(lines: list[str], position: int, match: re.Match[str]) -> tuple[list[str], int]:
    """Collect the lines of one item without their indent; return them and where they end."""
    indent = len(match[1]) + len(match[2]) + 1
    body = [match[5]]
    position += 1
    while position < len(lines):
        line = lines[position]
        depth = len(line) - len(line.lstrip())
        if not line.strip():
            body.append("")
        elif depth >= indent or (depth >= 2 and depth > len(match[1])):
            body.append(line[min(depth, indent) :])
        elif body[-1] and not _interrupts(line):
            body.append(line.strip())
        else:
            break
        position += 1
    return body, position


def _table(lines: list[str], position: int) -> tuple[Block, int] | None:
    if "|" not in lines[position] or position + 1 == len(lines):
        return None
    rule = lines[position + 1]
    head = split_row(lines[position])
    marks = split_row(rule)
    if not TABLE_RULE.fullmatch(rule) or len(marks) != len(head):
        return None
    table = Table(head, [_alignment(mark) for mark in marks])
    position += 2
    while position < len(lines) and "|" in lines[position]:
        cells = split_row(lines[position])[: len(head)]
        table.rows.append(cells + [""] * (len(head) - len(cells)))
        position += 1
    return table, position


def split_row(line: str) -> list[str]:
    r"""Split a row of a table into cells; ``\|`` is a bar within a cell."""
    line = re.sub(r"^\s*\|", "", line)
    line = re.sub(r"(?<!\\)\|\s*$", "", line)
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


def _alignment(mark: str) -> str:
    if mark.startswith(":") and mark.endswith(":"):
        return "center"
    if mark.endswith(":"):
        return "right"
    return "left" if mark.startswith(":") else ""


def _paragraph(lines: list[str], position: int) -> tuple[Block, int]:
    """Read up to an empty line or another block; an underline makes it a heading."""
    body = [lines[position].lstrip()]
    position += 1
    while position < len(lines) and lines[position].strip():
        match = UNDERLINE.fullmatch(lines[position])
        if match is not None:
            level = 1 if match[1][0] == "=" else 2
            return Heading(level, " ".join(line.strip() for line in body)), position + 1
        if _interrupts(lines[position]):
            break
        body.append(lines[position].lstrip())
        position += 1
    return Paragraph("\n".join(body).rstrip()), position


def _interrupts(line: str) -> bool:
    """Tell whether a line begins another block even without an empty line before it."""
    if line.startswith(">"):
        return True
    return any(pattern.fullmatch(line) for pattern in (HEADING, RULE, FENCE, ITEM))
