"""Double-entry bookkeeping with exact money."""

from tallybook.errors import BookError, MoneyError
from tallybook.ledger import Entry, Ledger, Posting, post
from tallybook.money import Money

__all__ = ["BookError", "Entry", "Ledger", "Money", "MoneyError", "Posting", "post"]
