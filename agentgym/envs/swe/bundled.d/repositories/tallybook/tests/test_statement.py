"""Statements and journals."""

from datetime import date

import pytest
from tallybook import BookError, Ledger, Money
from tallybook.journal import dumps, loads
from tallybook.statement import income_statement, monthly, natural, register, trial_balance

JOURNAL = """\
open assets:bank EUR
open assets:bank:savings EUR
open income:pay EUR
open expenses:food EUR

2024-01-31 Pay
  assets:bank   1000.00 EUR
  income:pay   -1000.00 EUR

2024-02-01 Save
  assets:bank:savings   300.00 EUR
  assets:bank          -300.00 EUR

2024-02-10 Lunch
  expenses:food   12.50 EUR
  assets:bank    -12.50 EUR
"""


def test_trial_balance():
    """The trial balance lists accounts with their own balance, without those below them."""
    balances = {name: str(amount) for name, amount in trial_balance(loads(JOURNAL)).items()}
    assert balances == {
        "assets:bank": "687.50 EUR",
        "assets:bank:savings": "300.00 EUR",
        "income:pay": "-1000.00 EUR",
        "expenses:food": "12.50 EUR",
    }


def test_trial_balance_until():
    """The trial balance of a day leaves out accounts that are zero by then."""
    assert list(trial_balance(loads(JOURNAL), date(2024, 1, 31))) == ["assets:bank", "income:pay"]


def test_income_statement():
    """Income and expenses are positive amounts, and the profit is their difference."""
    result = income_statement(loads(JOURNAL), "EUR")
    assert (str(result.income), str(result.expenses), str(result.profit)) == (
        "1000.00 EUR",
        "12.50 EUR",
        "987.50 EUR",
    )


def test_income_statement_of_a_period():
    """Only entries of the period count in an income statement."""
    result = income_statement(loads(JOURNAL), "EUR", date(2024, 2, 1), date(2024, 2, 10))
    assert str(result.profit) == "-12.50 EUR"


def test_income_statement_in_another_currency():
    """Amounts of other currencies do not count in an income statement."""
    assert str(income_statement(loads(JOURNAL), "USD").profit) == "0.00 USD"


def test_register():
    """The register lists the postings of an account with the balance after each."""
    lines = register(loads(JOURNAL), "expenses:food")
    assert [(line.text, str(line.amount), str(line.balance)) for line in lines] == [
        ("Lunch", "12.50 EUR", "12.50 EUR")
    ]


def test_register_since():
    """The register of a period begins with the balance before it."""
    lines = register(loads(JOURNAL), "assets", since=date(2024, 2, 10))
    assert [str(line.balance) for line in lines] == ["987.50 EUR"]


def test_register_until():
    """The register of a period ends with its last day."""
    assert len(register(loads(JOURNAL), "assets", until=date(2024, 2, 1))) == 3


@pytest.mark.parametrize(
    ("account", "units"),
    [("assets:a", 5), ("expenses:a", 5), ("liabilities:a", -5), ("income:a", -5), ("equity:a", -5)],
)
def test_natural_sign(account, units):
    """Credits of income, equity and liabilities are shown as positive amounts."""
    assert natural(account, Money(5, "EUR")).units == units


def test_monthly():
    """An account is summed up by month."""
    sums = monthly(loads(JOURNAL), "assets:bank")
    assert {month: str(amount) for month, amount in sums.items()} == {
        "2024-01": "1000.00 EUR",
        "2024-02": "-12.50 EUR",
    }


def test_journal_is_written_as_read():
    """A journal is written as it was read, with the amounts in one column."""
    assert dumps(loads(JOURNAL)) == JOURNAL


def test_empty_journal():
    """The journal of an empty ledger is an empty line."""
    assert dumps(Ledger()) == "\n"


def test_open_amount_in_a_journal():
    """A posting of a journal may be without an amount."""
    text = "open assets:a EUR\nopen equity:b EUR\n2024-01-01 Start\n  assets:a  5 EUR\n  equity:b\n"
    assert str(loads(text).balance("equity:b")) == "-5.00 EUR"


def test_comments():
    """What follows a semicolon in a journal does not count."""
    assert loads("; books\nopen assets:a EUR ; mine\n").accounts == ["assets:a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("open assets:a EUR\n\nhello", "line 3: cannot read 'hello'"),
        ("open assets EUR\nopen assets EUR", "line 2: assets is already open"),
        ("2024-13-01 x\n  a  1 EUR", "line 1: "),
        (
            "open assets:a EUR\n2024-01-01 x\n  assets:a  1 Euro\n  assets:a",
            "line 2: '1 Euro' is not",
        ),
    ],
)
def test_faults_of_a_journal(text, message):
    """A fault of a journal is reported with the number of its line."""
    with pytest.raises(BookError, match=message):
        loads(text)
