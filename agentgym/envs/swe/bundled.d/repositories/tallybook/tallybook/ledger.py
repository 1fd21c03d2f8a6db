"""Accounts and entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tallybook.errors import BookError
from tallybook.money import Money

KINDS = ("assets", "liabilities", "equity", "income", "expenses")


@dataclass(frozen=True)
class Posting:
    """A change of one account; positive amounts are debits, negative ones credits."""

    account: str
    amount: Money


@dataclass(frozen=True)
class Entry:
    """A transaction: postings that sum up to zero."""

    number: int
    day: date
    text: str
    postings: tuple[Posting, ...]


def post(account: str, amount: str | Money | None = None) -> tuple[str, Money | None]:
    """Describe a posting; without an amount it gets what the others of its entry leave open."""
    return account, Money.parse(amount) if isinstance(amount, str) else amount


class Ledger:
    """Accounts and the entries that change them."""

    def __init__(self) -> None:
        self.currencies: dict[str, str] = {}
        self.entries: list[Entry] = []
        self.closed_until: date | None = None

    @property
    def accounts(self) -> list[str]:
        """The names of all accounts, by kind and then by name."""
        return sorted(self.currencies, key=lambda name: (KINDS.index(kind(name)), name))

    def open(self, account: str, currency: str) -> None:
        """Open an account; its name begins with its kind, as in ``assets:bank``."""
        if kind(account) not in KINDS or not all(account.split(":")):
            raise BookError(f"an account is named like assets:bank, not {account!r}")
        if account in self.currencies:
            raise BookError(f"{account} is already open")
        self.currencies[account] = currency

    def record(self, day: str | date, text: str, *postings: tuple[str, Money | None]) -> Entry:
        """Record an entry.

        Args:
            day: Its day, as a date or as text such as ``2024-02-29``.
            text: What it is about.
            *postings: Two or more, made by ``post``; one may be without an amount.

        Raises:
            BookError: The postings do not sum up to zero, an account is not open or has another
                currency, or the day lies in a closed period.
        """
        when = date.fromisoformat(day) if isinstance(day, str) else day
        if self.closed_until is not None and when <= self.closed_until:
            raise BookError(f"the books are closed until {self.closed_until}")
        if len(postings) < 2:
            raise BookError("an entry has at least two postings")
        for account, amount in postings:
            if account not in self.currencies:
                raise BookError(f"{account} is not open")
            if amount is not None and amount.currency != self.currencies[account]:
                raise BookError(f"{account} is kept in {self.currencies[account]}")
        entry = Entry(len(self.entries) + 1, when, text, self._complete(postings))
        self.entries.append(entry)
        return entry

    def _complete(self, postings: tuple[tuple[str, Money | None], ...]) -> tuple[Posting, ...]:
        """Fill in the open amount and check that the sum is zero."""
        open_accounts = [account for account, amount in postings if amount is None]
        if len(open_accounts) > 1:
            raise BookError("only one posting may be without an amount")
        currency = self.currencies[postings[0][0]]
        if any(self.currencies[account] != currency for account, _ in postings):
            raise BookError("an entry has a single currency")
        rest = Money.total((amount for _, amount in postings if amount is not None), currency)
        if rest and not open_accounts:
            raise BookError(f"the postings leave {rest} open")
        return tuple(
            Posting(account, -rest if amount is None else amount) for account, amount in postings
        )

    def reverse(self, number: int, day: str | date) -> Entry:
        """Take an entry back by recording its opposite."""
        if not 1 <= number <= len(self.entries):
            raise BookError(f"there is no entry {number}")
        entry = self.entries[number - 1]
        opposite = [(posting.account, -posting.amount) for posting in entry.postings]
        return self.record(day, f"Reversal of {number}: {entry.text}", *opposite)

    def close(self, until: str | date) -> None:
        """Close the books: no entries are recorded up to and including this day any more."""
        self.closed_until = date.fromisoformat(until) if isinstance(until, str) else until

    def postings(
        self, account: str, since: date | None = None, until: date | None = None
    ) -> list[tuple[Entry, Posting]]:
        """List the postings of an account and those below it, by day and then by number.

        Args:
            account: The account, or the beginning of a path.
            since: The first day that counts.
            until: The last day that counts.
        """
        found = [
            (entry, posting)
            for entry in self.entries
            if (since is None or entry.day >= since) and (until is None or entry.day <= until)
            for posting in entry.postings
            if is_below(posting.account, account)
        ]
        return sorted(found, key=lambda pair: (pair[0].day, pair[0].number))

    def balance(self, account: str, since: date | None = None, until: date | None = None) -> Money:
        """Sum up the postings of an account and those below it."""
        below = [name for name in self.accounts if is_below(name, account)]
        if not below:
            raise BookError(f"{account} is not open")
        amounts = (posting.amount for _, posting in self.postings(account, since, until))
        return Money.total(amounts, self.currencies[below[0]])


def kind(account: str) -> str:
    """The kind of an account: the first name of its path."""
    return account.split(":")[0]


def is_below(account: str, top: str) -> bool:
    """Tell whether an account is another one or lies below it."""
    return account == top or account.startswith(top + ":")
