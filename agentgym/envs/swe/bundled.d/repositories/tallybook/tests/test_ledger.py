"""Ledgers."""

from datetime import date

import pytest
from tallybook import BookError, Ledger, Money, post


def ledger():
    """Open accounts with two entries."""
    books = Ledger()
    books.open("expenses:food", "EUR")
    books.open("assets:bank", "EUR")
    books.open("assets:bank:savings", "EUR")
    books.open("assets:banknotes", "USD")
    books.open("income:pay", "EUR")
    books.record("2024-02-01", "Pay", post("assets:bank", "100 EUR"), post("income:pay"))
    books.record("2024-01-15", "Food", post("expenses:food", "12.50 EUR"), post("assets:bank"))
    return books


def test_accounts_by_kind():
    """Accounts are listed by kind, assets first, and then by name."""
    assert ledger().accounts == [
        "assets:bank",
        "assets:bank:savings",
        "assets:banknotes",
        "income:pay",
        "expenses:food",
    ]


@pytest.mark.parametrize("name", ["bank", "assets::bank", "assets:", "cash:bank"])
def test_names_of_accounts(name):
    """An account whose name does not begin with a kind or has an empty part is refused."""
    with pytest.raises(BookError, match=r"an account is named like assets:bank"):
        Ledger().open(name, "EUR")


def test_account_twice():
    """An account can be opened only once."""
    with pytest.raises(BookError, match=r"assets:bank is already open"):
        ledger().open("assets:bank", "EUR")


def test_open_amount_is_filled_in():
    """The posting without an amount gets what the others leave open, with the opposite sign."""
    assert ledger().entries[0].postings[1].amount == Money.parse("-100 EUR")


def test_entries_are_numbered():
    """Entries are numbered from one in the order of recording."""
    assert [entry.number for entry in ledger().entries] == [1, 2]


def test_postings_must_sum_to_zero():
    """An entry whose postings do not sum up to zero is refused with the difference."""
    with pytest.raises(BookError, match=r"the postings leave 1.00 EUR open"):
        ledger().record(
            "2024-03-01", "x", post("assets:bank", "3 EUR"), post("income:pay", "-2 EUR")
        )


def test_balanced_postings():
    """An entry may give all amounts if they sum up to zero."""
    books = ledger()
    books.record("2024-03-01", "x", post("assets:bank", "3 EUR"), post("income:pay", "-3 EUR"))
    assert len(books.entries) == 3


def test_two_open_amounts():
    """Only one posting of an entry may be without an amount."""
    with pytest.raises(BookError, match=r"only one posting may be without"):
        ledger().record("2024-03-01", "x", post("assets:bank"), post("income:pay"))


def test_single_posting():
    """An entry with a single posting is refused."""
    with pytest.raises(BookError, match=r"at least two postings"):
        ledger().record("2024-03-01", "x", post("assets:bank", "0 EUR"))


def test_account_that_is_not_open():
    """A posting to an account that is not open is refused."""
    with pytest.raises(BookError, match=r"assets:gold is not open"):
        ledger().record("2024-03-01", "x", post("assets:bank", "1 EUR"), post("assets:gold"))


def test_other_currency():
    """A posting in another currency than that of its account is refused."""
    with pytest.raises(BookError, match=r"assets:bank is kept in EUR"):
        ledger().record("2024-03-01", "x", post("assets:bank", "1 USD"), post("income:pay"))


def test_single_currency():
    """An entry between accounts of different currencies is refused."""
    with pytest.raises(BookError, match=r"an entry has a single currency"):
        ledger().record("2024-03-01", "x", post("assets:bank", "1 EUR"), post("assets:banknotes"))


def test_balance():
    """The balance of an account is the sum of its postings."""
    assert ledger().balance("assets:bank") == Money.parse("87.50 EUR")


def test_balance_includes_accounts_below():
    """The balance of an account includes the accounts below it and no others."""
    books = ledger()
    books.record("2024-03-01", "x", post("assets:bank:savings", "5 EUR"), post("income:pay"))
    assert books.balance("assets:bank") == Money.parse("92.50 EUR")


def test_balance_of_a_path():
    """The balance of the beginning of a path sums up what is below it."""
    assert ledger().balance("expenses") == Money.parse("12.50 EUR")


def test_balance_of_an_unknown_account():
    """The balance of an account that is not open is refused."""
    with pytest.raises(BookError, match=r"assets:gold is not open"):
        ledger().balance("assets:gold")


@pytest.mark.parametrize(
    ("since", "until", "result"),
    [
        (None, date(2024, 1, 15), "-12.50 EUR"),
        (None, date(2024, 1, 14), "0 EUR"),
        (date(2024, 2, 1), None, "100 EUR"),
        (date(2024, 2, 2), None, "0 EUR"),
    ],
)
def test_balance_of_a_period(since, until, result):
    """The first and the last day of a period belong to it."""
    assert ledger().balance("assets:bank", since, until) == Money.parse(result)


def test_postings_by_day():
    """Postings are listed by day, whatever the order of recording."""
    assert [entry.text for entry, _ in ledger().postings("assets:bank")] == ["Food", "Pay"]


def test_reverse():
    """Reversing an entry records its opposite and names the original."""
    books = ledger()
    entry = books.reverse(2, "2024-03-01")
    assert (entry.text, books.balance("assets:bank")) == (
        "Reversal of 2: Food",
        Money.parse("100 EUR"),
    )


@pytest.mark.parametrize("number", [0, 3])
def test_reverse_unknown_entry(number):
    """Reversing an entry that does not exist is refused."""
    with pytest.raises(BookError, match=f"there is no entry {number}"):
        ledger().reverse(number, "2024-03-01")


def test_closed_period():
    """Nothing can be recorded up to the last day of a closed period."""
    books = ledger()
    books.close("2024-02-29")
    with pytest.raises(BookError, match=r"the books are closed until 2024-02-29"):
        books.reverse(1, "2024-02-29")


def test_after_a_closed_period():
    """Entries may be recorded from the day after a closed period."""
    books = ledger()
    books.close(date(2024, 2, 29))
    assert books.reverse(1, date(2024, 3, 1)).number == 3
