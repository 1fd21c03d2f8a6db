"""Dates, pages, parents, checks and duplicates."""

import pytest

from citepress import (
    BibliographyError,
    Entry,
    Library,
    check,
    find_duplicates,
    read_library,
    read_month,
    read_pages,
    read_year,
)


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("1997", 1997),
        (" 850 ", 850),
        ("1998--1999", 1998),
        ("1998-99", 1998),
        ("1998/9", None),
        ("c. 1500", 1500),
        ("about 1500", 1500),
        ("1500?", 1500),
        ("in press", None),
        ("", None),
        ("97", None),
    ],
)
def test_year(text, year):
    """A year has three or four digits; of a span it is the first one."""
    assert read_year(text) == year


@pytest.mark.parametrize("text", ["1999--1998", "1999-98"])
def test_span_of_years_backwards(text):
    """A span of years must not end before it begins."""
    with pytest.raises(BibliographyError, match="ends before it begins"):
        read_year(text)


@pytest.mark.parametrize(
    ("text", "month"),
    [("jan", 1), ("March", 3), ("Sept.", 9), ("12", 12), ("07", 7), ("may", 5), ("", None)],
)
def test_month(text, month):
    """A month is known by its name, at least three letters of it, or its number."""
    assert read_month(text) == month


@pytest.mark.parametrize("text", ["ja", "0", "13", "spring", "januaryy"])
def test_no_month(text):
    """What is no month is refused."""
    with pytest.raises(BibliographyError, match="no month"):
        read_month(text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("7--9", [("7", "9")]),
        ("7-9", [("7", "9")]),
        ("7 \u2013 9", [("7", "9")]),
        ("123--9", [("123", "129")]),
        ("98--104", [("98", "104")]),
        ("7", [("7", "7")]),
        ("1--2, 5", [("1", "2"), ("5", "5")]),
        ("iv--ix", [("iv", "ix")]),
        ("S12--S15", [("S12", "S15")]),
        ("", []),
    ],
)
def test_pages(text, spans):
    """Pages are spans; a last page with few digits is completed."""
    assert read_pages(text) == spans


@pytest.mark.parametrize("text", ["9--7", "7--", "1--2--3", "seven", "1,,2"])
def test_no_pages(text):
    """Malformed pages are refused."""
    with pytest.raises(BibliographyError):
        read_pages(text)


FAMILY = """
@incollection{part, title = {Part}, author = {A}, crossref = {Whole}}
@book{whole, title = {Whole}, editor = {E}, publisher = {P}, year = 2001, note = {N}}
"""


def test_parent():
    """An entry takes from its parent what it lacks; the title becomes the title of the book."""
    assert read_library(FAMILY).full("part").fields == {
        "title": "Part",
        "author": "A",
        "crossref": "Whole",
        "booktitle": "Whole",
        "editor": "E",
        "publisher": "P",
        "year": "2001",
    }


def test_entry_itself_is_not_changed():
    """What an entry takes from its parent is not stored in it."""
    library = read_library(FAMILY)
    library.full("part")
    assert library["part"].get("year") == ""


def test_own_field_wins():
    """A field of the entry itself comes before that of its parent."""
    library = read_library("@misc{a, year = 1, crossref = {b}} @misc{b, year = 2, url = {u}}")
    assert (library.full("a").get("year"), library.full("a").get("url")) == ("1", "u")


def test_grandparent():
    """Fields come from the parents of parents too, the nearer one first."""
    text = """@misc{a, crossref = {b}} @misc{b, crossref = {c}, month = 2}
              @misc{c, month = 3, year = 4}"""
    entry = read_library(text).full("a")
    assert (entry.get("month"), entry.get("year")) == ("2", "4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@misc{a, crossref = {b}}", "entry a has no parent b"),
        ("@misc{a, crossref = {b}} @misc{b, crossref = {A}}", "circle of parents: a -> b -> a"),
        ("@misc{a, crossref = {a}}", "circle of parents: a -> a"),
    ],
)
def test_wrong_parent(text, message):
    """A missing parent and a circle of parents are refused."""
    with pytest.raises(BibliographyError, match=message):
        read_library(text).full("a")


def test_missing_entry():
    """An entry that is not there is named."""
    with pytest.raises(BibliographyError, match="no entry x"):
        Library().full("x")


def test_add_twice():
    """A key can be used once."""
    library = Library()
    library.add(Entry("misc", "a"))
    with pytest.raises(BibliographyError, match="entry A already"):
        library.add(Entry("misc", "A"))


def problems(fields, kind="misc"):
    """Return what a check says of an entry."""
    return [problem.message for problem in check(read_library(f"@{kind}{{a, {fields}}}"))]


@pytest.mark.parametrize(
    ("kind", "fields", "found"),
    [
        ("misc", "", []),
        ("manual", "", ["title is missing"]),
        ("book", "editor = {E}, title = {T}, publisher = {P}, year = 2000", []),
        (
            "book",
            "title = {T}, year = 2000",
            ["author or editor is missing", "publisher is missing"],
        ),
        ("inbook", "author = {A}, title = {T}, publisher = {P}, year = 2000, pages = 3", []),
        ("thing", "", ["unknown type thing"]),
        ("manual", "title = {}", ["title is missing", "title is empty"]),
    ],
)
def test_missing_fields(kind, fields, found):
    """A check lists the fields that an entry of this type needs."""
    assert problems(fields, kind) == found


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ("year = {soon}", "year: expected a year, got 'soon'"),
        ("year = {1999-98}", "year: the span of years '1999-98' ends before it begins"),
        ("month = {xy}", "month: there is no month 'xy'"),
        ("pages = {9--7}", "pages: the pages '9--7' end before they begin"),
        ("author = {A and and B}", "author: a name is missing"),
        ("editor = {a, b, c, d}", "editor: expected at most two commas in a name"),
        ("doi = {12.3/x}", "doi: expected 10.NUMBER/TEXT, got '12.3/x'"),
        ("url = {www.x.org}", "url: expected an address, got 'www.x.org'"),
        ("isbn = {0-306-40615-3}", "isbn: the number '0-306-40615-3' is malformed"),
    ],
)
def test_malformed_fields(fields, found):
    """A check reads the fields whose form is known."""
    assert problems(fields)[0].startswith(found)


@pytest.mark.parametrize(
    "fields",
    [
        "year = {in press}",
        "year = 1999, month = feb, pages = {7--9}",
        "doi = {10.1000/xyz}",
        "doi = {https://doi.org/10.1000/xyz}",
        "url = {https://x.org/~a}",
        "isbn = {0-306-40615-2}",
        "isbn = {080442957X}",
        "isbn = {978 0 306 40615 7}",
    ],
)
def test_good_fields(fields):
    """Fields that are in order are not reported."""
    assert problems(fields) == []


def test_problem_as_text():
    """A problem is written on one line; only bad names and missing fields are errors."""
    library = read_library("\n@manual{a, month = {x}}")
    assert [str(problem) for problem in check(library)] == [
        "line 2: error in a: title is missing",
        "line 2: warning in a: month: there is no month 'x'",
    ]


def test_check_looks_at_parents():
    """A field that comes from the parent is not missing, a missing parent is a problem."""
    text = "@manual{a, crossref = {b}} @misc{c, crossref = {nope}} @manual{b, title = {T}}"
    assert [problem.message for problem in check(read_library(text))] == [
        "title is missing",
        "entry c has no parent nope",
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("title = {On Sorting}", "title = {on {S}orting!}", True),
        ("title = {On Sorting}", "title = {On Searching}", False),
        ("title = {A b c d e f g h i j}", "title = {A b c d e f g h i x}", True),
        ("title = {T}, year = 1999", "title = {T}, year = 2000", True),
        ("title = {T}, year = 1999", "title = {T}, year = 2001", False),
        ("title = {T}, author = {A. Bee}", "title = {T}, author = {Bee, Anna}", True),
        ("title = {T}, author = {A. Bee}", "title = {T}, author = {A. Cee}", False),
        ("title = {T}, doi = {10.1/x}", "title = {U}, doi = {https://doi.org/10.1/X}", True),
        ("title = {T}, doi = {10.1/x}", "title = {T}, doi = {10.1/y}", False),
        ("year = 1999", "year = 1999", False),
    ],
)
def test_same_work(one, other, same):
    """Entries are the same work if titles, first authors and years nearly agree, or the DOI."""
    library = read_library(f"@misc{{a, {one}}} @misc{{b, {other}}}")
    assert bool(find_duplicates(library)) is same


def test_groups_of_duplicates():
    """Duplicates of duplicates are one group."""
    text = """@misc{a, title = {T}, year = 1} @misc{x, title = {X}}
              @misc{b, title = {T}, year = 1002} @misc{c, title = {T}, year = 1001}
              @misc{d, title = {X}}"""
    assert find_duplicates(read_library(text)) == [["a", "b", "c"], ["x", "d"]]
