"""Citations, sorting and labels."""

import pytest

from citepress import CitationError, Citations, read_library

WORKS = """
@book{knuth, author = {Donald E. Knuth}, title = {Sorting}, publisher = {AW}, year = 1997}
@article{curie, author = {Marie Curie and Pierre Curie}, title = {On Radium},
    journal = {Annals}, year = 1903}
@article{many, author = {Ann Bee and Bo Cee and Cy Dee}, title = {Ants}, journal = {J}, year = 2001}
@article{more, author = {Ann Bee and others}, title = {The Bees}, journal = {J}, year = 2001}
@misc{nobody, title = {The Anonymous Text}}
@article{k2, author = {Knuth, D.}, title = {Trees}, journal = {J}, year = 1997}
@article{k3, author = {Knuth, D.}, title = {Graphs}, journal = {J}, year = {in press}}
@misc{gogh, author = {Vincent van Gogh}, title = {Letters}, year = 1888}
@misc{five, author = {A and B and C and D and E}, title = {Five}, year = 2009}
"""


def cited(style, *keys):
    """Return a citation of some works."""
    return Citations(read_library(WORKS), style).cite(*keys)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["knuth"], "(Knuth, 1997)"),
        (["curie"], "(Curie and Curie, 1903)"),
        (["many"], "(Bee et al., 2001)"),
        (["more"], "(Bee et al., 2001)"),
        (["nobody"], "(The Anonymous Text, n.d.)"),
        (["curie", "knuth"], "(Curie and Curie, 1903; Knuth, 1997)"),
        (["k3"], "(Knuth, in press)"),
        (["gogh"], "(van Gogh, 1888)"),
        (["knuth", "knuth"], "(Knuth, 1997)"),
    ],
)
def test_author_year(keys, text):
    """Works are cited by their authors and year: two authors are named, of more the first."""
    assert cited("author-year", *keys) == text


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["knuth", "k2"], "(Knuth, 1997b, 1997a)"),
        (["more", "many"], "(Bee et al., 2001a, 2001b)"),
        (["knuth", "curie", "k2"], "(Knuth, 1997b; Curie and Curie, 1903; Knuth, 1997a)"),
    ],
)
def test_letters_behind_years(keys, text):
    """Works of equal authors and year are told apart by letters, in the order of the list."""
    assert cited("author-year", *keys) == text


def test_letters_count_what_is_used():
    """A work that is only listed counts for the letters too."""
    citations = Citations(read_library(WORKS), "author-year")
    before = citations.cite("knuth")
    citations.use("k2")
    assert (before, citations.cite("knuth")) == ("(Knuth, 1997)", "(Knuth, 1997b)")


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("knuth", "[Knu97]"),
        ("curie", "[CC03]"),
        ("many", "[BCD01]"),
        ("more", "[B+01]"),
        ("nobody", "[The]"),
        ("k3", "[Knu]"),
        ("gogh", "[vGo88]"),
        ("five", "[ABC+09]"),
    ],
)
def test_alpha(key, label):
    """Labels have three letters of one author or one of each of several, and the year."""
    assert cited("alpha", key) == label


def test_alpha_letters():
    """Equal labels are told apart by letters."""
    assert cited("alpha", "knuth", "k2") == "[Knu97b, Knu97a]"


def test_numeric():
    """Numbers are given in the order of the first citation."""
    citations = Citations(read_library(WORKS))
    assert [citations.cite("knuth"), citations.cite("curie"), citations.cite("knuth")] == [
        "[1]",
        "[2]",
        "[1]",
    ]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["curie", "knuth"], "[1, 2]"),
        (["many", "knuth", "curie"], "[1-3]"),
        (["five", "knuth", "curie", "many"], "[1-3, 5]"),
        (["knuth", "many"], "[1, 3]"),
    ],
)
def test_numbers_are_drawn_together(keys, text):
    """Numbers are sorted, and three or more in a row drawn together."""
    citations = Citations(read_library(WORKS))
    citations.use("knuth", "curie", "many", "more", "five")
    assert citations.cite(*keys) == text


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("numeric", "[1, p. 7]"),
        ("author-year", "(Knuth, 1997, p. 7)"),
        ("alpha", "[Knu97, p. 7]"),
    ],
)
def test_pages(style, text):
    """Pages can be given with a citation."""
    assert Citations(read_library(WORKS), style).cite("knuth", pages="p. 7") == text


@pytest.mark.parametrize(
    ("style", "text"),
    [("numeric", "Knuth [1]"), ("author-year", "Knuth (1997)"), ("alpha", "Knuth [Knu97]")],
)
def test_in_text(style, text):
    """A citation can be part of a sentence."""
    assert Citations(read_library(WORKS), style).cite_in_text("knuth") == text


def test_keys_in_any_case():
    """Works are cited in any case of their key and counted once."""
    citations = Citations(read_library(WORKS))
    assert (citations.cite("KNUTH", "Knuth"), citations.used) == ("[1]", ["knuth"])


def test_use_all():
    """A star takes all works into the bibliography."""
    citations = Citations(read_library("@misc{b} @misc{a}"))
    citations.use("*")
    assert citations.used == ["b", "a"]


@pytest.mark.parametrize(
    ("keys", "pages", "message"),
    [
        ([], "", "expected the key"),
        (["nope"], "", "no entry nope to cite"),
        (["knuth", "curie"], "p. 1", "single entry only"),
    ],
)
def test_wrong_citation(keys, pages, message):
    """What cannot be cited is refused."""
    with pytest.raises(CitationError, match=message):
        Citations(read_library(WORKS)).cite(*keys, pages=pages)


def test_unknown_style():
    """A style that is not known is refused, with those that are."""
    with pytest.raises(CitationError, match="alpha, author-year, numeric, got 'x'"):
        Citations(read_library(WORKS), "x")


def order(style, text):
    """Return the keys of a bibliography in their order, from its HTML."""
    citations = Citations(read_library(text), style)
    citations.use("*")
    return [part.split('"')[0] for part in citations.bibliography("html").split('id="ref-')[1:]]


@pytest.mark.parametrize("style", ["author-year", "alpha"])
def test_order_by_authors(style):
    """Works are sorted by authors, then year, then title; works without year come last."""
    assert order(style, WORKS) == [
        "five",
        "nobody",
        "more",
        "many",
        "curie",
        "gogh",
        "k2",
        "k3",
        "knuth",
    ]


def test_order_of_numbers():
    """Numbered works stay in the order in which they were cited."""
    assert order("numeric", "@misc{b, title = {B}} @misc{a, title = {A}}") == ["b", "a"]


def test_order_by_year_and_title():
    """Works of one author are sorted by year, works of one year by title without its article."""
    text = """@misc{a, author = {X}, title = {The Zoo}, year = 2000}
              @misc{b, author = {X}, title = {A Yard}, year = 2000}
              @misc{c, author = {X}, title = {Xylophone}, year = 1999}
              @misc{d, author = {X}, title = {Abc}}
              @misc{e, author = {X and Y}, title = {Abc}, year = 1990}"""
    assert order("author-year", text) == ["c", "b", "a", "d", "e"]


@pytest.mark.parametrize(("number", "letter"), [(0, "a"), (25, "z"), (26, "aa"), (27, "ab")])
def test_many_letters(number, letter):
    """Behind z the letters go on with aa."""
    text = "".join(
        f"@misc{{k{n:02}, author = {{X}}, title = {{T}}, year = 2000}}" for n in range(28)
    )
    citations = Citations(read_library(text), "author-year")
    citations.use("*")
    assert citations.cite(f"k{number:02}") == f"(X, 2000{letter})"
