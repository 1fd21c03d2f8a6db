"""Entries as text.

A line ``open assets:bank EUR`` opens an account. An entry is a line with a day and a text,
followed by indented lines with an account and, divided by two or more blanks, an amount. What
follows a semicolon does not count.
"""

from __future__ import annotations

import re

from tallybook.errors import BookError, MoneyError
from tallybook.ledger import Ledger, post
from tallybook.money import Money

HEAD = re.compile(r"(\d{4}-\d{2}-\d{2})\s+(\S.*)")


def loads(text: str) -> Ledger:
    """Read a journal.

    Raises:
        BookError: A line cannot be read or breaks a rule; the message begins with its number.
    """
    ledger = Ledger()
    lines = [line.partition(";")[0].rstrip() for line in text.splitlines()]
    position = 0
    while position < len(lines):
        line = lines[position]
        end = position + 1
        try:
            if line.startswith("open "):
                _, account, currency = line.split()
                ledger.open(account, currency)
            elif match := HEAD.fullmatch(line):
                while end < len(lines) and lines[end].startswith(" "):
                    end += 1
                postings = [_posting(item) for item in lines[position + 1 : end]]
                ledger.record(match[1], match[2], *postings)
            elif line:
                raise BookError(f"cannot read {line.strip()!r}")
        except (BookError, MoneyError, ValueError) as error:
            raise BookError(f"line {position + 1}: {error}") from error
        position = end
    return ledger


def dumps(ledger: Ledger) -> str:
    """Write a journal that ``loads`` reads, with the amounts in one column."""
    opened = [f"open {name} {currency}" for name, currency in ledger.currencies.items()]
    blocks = ["\n".join(opened)] if opened else []
    for entry in ledger.entries:
        width = max(len(posting.account) for posting in entry.postings)
        amounts = [str(posting.amount) for posting in entry.postings]
        column = max(len(amount) for amount in amounts)
        lines = [f"{entry.day.isoformat()} {entry.text}"]
        for posting, amount in zip(entry.postings, amounts, strict=True):
            lines.append(f"  {posting.account:<{width}}  {amount:>{column}}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _posting(line: str) -> tuple[str, Money | None]:
    account, _, amount = line.strip().partition("  ")
    return post(account, amount.strip() or None)
