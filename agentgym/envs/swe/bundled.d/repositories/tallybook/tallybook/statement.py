"""What a ledger says about a period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from tallybook.ledger import Ledger, kind
from tallybook.money import Money


class Line(NamedTuple):
    """A line of the register of an account."""

    day: date
    text: str
    amount: Money
    balance: Money


@dataclass(frozen=True)
class Income:
    """What came in and what went out, both as positive amounts."""

    income: Money
    expenses: Money

    @property
    def profit(self) -> Money:
        """What is left; negative for a loss."""
        return self.income - self.expenses


def trial_balance(ledger: Ledger, until: date | None = None) -> dict[str, Money]:
    """Give the balance of every account that is not zero; for each currency they sum up to zero."""
    balances = {}
    for account in ledger.accounts:
        own = [p.amount for _, p in ledger.postings(account, until=until) if p.account == account]
        balance = Money.total(own, ledger.currencies[account])
        if balance:
            balances[account] = balance
    return balances


def income_statement(
    ledger: Ledger, currency: str, since: date | None = None, until: date | None = None
) -> Income:
    """Sum up income and expenses of a period in one currency."""
    sums = {"income": Money.zero(currency), "expenses": Money.zero(currency)}
    for name in sums:
        for _, posting in ledger.postings(name, since, until):
            if posting.amount.currency == currency:
                sums[name] += posting.amount
    return Income(-sums["income"], sums["expenses"])


def register(
    ledger: Ledger, account: str, since: date | None = None, until: date | None = None
) -> list[Line]:
    """List the postings of an account with its balance after each; earlier ones are counted in."""
    lines = []
    balance = Money.zero(ledger.balance(account).currency)
    for entry, posting in ledger.postings(account, until=until):
        balance += posting.amount
        if since is None or entry.day >= since:
            lines.append(Line(entry.day, entry.text, posting.amount, balance))
    return lines


def natural(account: str, amount: Money) -> Money:
    """Give a balance the sign that people expect: credits of income and debts are positive."""
    return -amount if kind(account) in ("liabilities", "equity", "income") else amount


def monthly(ledger: Ledger, account: str) -> dict[str, Money]:
    """Sum up an account by month, as in ``2024-02``; months without postings are left out."""
    sums: dict[str, Money] = {}
    for entry, posting in ledger.postings(account):
        month = f"{entry.day.year:04d}-{entry.day.month:02d}"
        before = sums.get(month, Money.zero(posting.amount.currency))
        sums[month] = before + posting.amount
    return sums
