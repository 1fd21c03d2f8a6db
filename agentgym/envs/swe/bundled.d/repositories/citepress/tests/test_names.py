"""Names of persons."""

import pytest

from citepress import Name, PersonError, read_name, read_names


@pytest.mark.parametrize(
    ("text", "first", "von", "last", "jr"),
    [
        ("Knuth", "", "", "Knuth", ""),
        ("Donald E. Knuth", "Donald E.", "", "Knuth", ""),
        ("Knuth, Donald E.", "Donald E.", "", "Knuth", ""),
        ("Ludwig van Beethoven", "Ludwig", "van", "Beethoven", ""),
        ("van Beethoven, Ludwig", "Ludwig", "van", "Beethoven", ""),
        ("Charles Louis de la Vallee Poussin", "Charles Louis", "de la", "Vallee Poussin", ""),
        ("de la Vallee Poussin, Charles", "Charles", "de la", "Vallee Poussin", ""),
        ("King, Jr, Martin Luther", "Martin Luther", "", "King", "Jr"),
        ("von Last, III, First", "First", "von", "Last", "III"),
        ("{Barnes and Noble}", "", "", "Barnes and Noble", ""),
        ("{van Gogh Museum}", "", "", "van Gogh Museum", ""),
        ('Kurt G{\\"o}del', "Kurt", "", "Gödel", ""),
        ("Jean {de La} Fontaine", "Jean de La", "", "Fontaine", ""),
        ("ludwig beethoven", "", "ludwig", "beethoven", ""),
        ("Smith,  John ", "John", "", "Smith", ""),
        ("{\\'E}mile Zola", "Émile", "", "Zola", ""),
        ("Jean~Paul Sartre", "Jean Paul", "", "Sartre", ""),
    ],
)
def test_parts_of_a_name(text, first, von, last, jr):
    """A name is taken apart in all three notations; small words before the last name are von."""
    name = read_name(text)
    assert (name.first, name.von, name.last, name.jr) == (first, von, last, jr)


@pytest.mark.parametrize("text", ["", " ", ", John", "a, b, c, d", "{}"])
def test_no_name(text):
    """A name needs a last name and has at most two commas."""
    with pytest.raises(PersonError):
        read_name(text)


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("A B and C D", ["B", "D"]),
        ("B, A AND D, C", ["B", "D"]),
        ("{A and B} and C", ["A and B", "C"]),
        ("Anderson", ["Anderson"]),
        ("A\nand\nB", ["A", "B"]),
        ("A and others", ["A", "others"]),
        ("", []),
    ],
)
def test_several_names(field, names):
    """Persons are separated by "and" outside of braces."""
    assert [name.last for name in read_names(field)] == names


@pytest.mark.parametrize(
    "field", ["A and  and B", "A and and B", "A and ", "A and", "and B", "A and B, C, D, E"]
)
def test_malformed_names(field):
    """A missing or malformed person is refused."""
    with pytest.raises(PersonError):
        read_names(field)


@pytest.mark.parametrize(
    ("first", "initials"),
    [("Donald Ervin", "D. E."), ("Jean-Paul", "J.-P."), ("j.", "J."), ("", ""), ("É.", "É.")],
)
def test_initials(first, initials):
    """First names are shortened to their first letters, on both sides of a hyphen."""
    assert Name(first, last="X").initials == initials


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (Name("Vincent", "van", "Gogh"), "van Gogh, V."),
        (Name("Martin Luther", "", "King", "Jr"), "King, M. L., Jr"),
        (Name("", "", "Plato"), "Plato"),
    ],
)
def test_inverted(name, text):
    """In a bibliography the last name comes first."""
    assert name.inverted() == text


@pytest.mark.parametrize(
    ("short", "text"), [(False, "Vincent van Gogh, Jr"), (True, "V. van Gogh, Jr")]
)
def test_natural(short, text):
    """A name can be written as it is spoken."""
    assert Name("Vincent", "van", "Gogh", "Jr").natural(short) == text


def test_order_of_names():
    """Names are sorted by the last name, without accents and von."""
    texts = ["Zola", "van Beethoven, L.", "Öhm, A.", "Ohm, B.", "Adams"]
    names = sorted((read_name(text) for text in texts), key=lambda name: name.sort_key)
    assert [name.last for name in names] == ["Adams", "Beethoven", "Öhm", "Ohm", "Zola"]
