"""Reading BibTeX and the LaTeX in it."""

import pytest

from citepress import ReadError, plain_text, read_library


def fields(text):
    """Return the fields of the only entry of a text."""
    [entry] = read_library(text)
    return entry.fields


def test_entry():
    """An entry has a type, a key and fields, with values in braces, in quotes or bare."""
    [entry] = read_library('@Book{knuth, Title = {Sorting}, author = "Don Knuth", year = 1997}')
    assert (entry.kind, entry.key, entry.fields) == (
        "book",
        "knuth",
        {"title": "Sorting", "author": "Don Knuth", "year": "1997"},
    )


def test_comma_at_the_end():
    """A comma may stand behind the last field."""
    assert fields("@misc{a, title = {x},\n}") == {"title": "x"}


def test_entry_without_fields():
    """An entry may have a key only."""
    assert fields("@misc{a}") == {}


def test_round_brackets():
    """An entry may stand in round brackets."""
    assert fields("@misc(a, title = {x (y)})") == {"title": "x (y)"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("{a {B} c}", "a {B} c"),
        ('"a {"} c"', 'a {"} c'),
        ("{a\n   b}", "a b"),
        ('"a" # {b} # 3', "ab3"),
        ("jan", "january"),
        ('"5~" # DEC', "5~december"),
        (r"{a \{ b}", r"a \{ b"),
        ("{}", ""),
    ],
)
def test_values(value, text):
    """Values keep their inner braces, are joined by a hash, and have single spaces."""
    assert fields(f"@misc{{a, note = {value}}}") == {"note": text}


def test_defined_text():
    """A text that is defined can be used later, in any case."""
    library = '@string{aw = "Addison" # "-Wesley"} @misc{a, publisher = AW # " Inc."}'
    assert fields(library) == {"publisher": "Addison-Wesley Inc."}


def test_what_stands_between_entries():
    """What is no entry is passed over."""
    text = "A text.\n@misc{a}\n% more\n@comment{@misc{b}}\n@comment nothing\n@misc{c}"
    assert read_library(text).keys() == ["a", "c"]


def test_preamble():
    """Preambles are joined."""
    assert read_library(r'@preamble{"\a"} @preamble{ {\b} # "c" }').preamble == r"\a\bc"


def test_lines_of_entries():
    """An entry knows its line."""
    assert [entry.line for entry in read_library("\n@misc{a}\n\n@misc{b}")] == [2, 4]


def test_keys_in_any_case():
    """An entry is found in any case."""
    library = read_library("@misc{Ab}")
    assert ("aB" in library, library["AB"].key, len(library)) == (True, "Ab", 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("@misc{a, title = {x}", 1, "expected '}', got 'the end'"),
        ("@misc{a,\n title = {x", 2, "the brace is not closed"),
        ('@misc{a, title = "x}', 1, "closing brace too many"),
        ('@misc{a, title = "x', 1, "the quote is not closed"),
        ("@misc{a, title {x}}", 1, "expected '=', got '{'"),
        ("@misc{a, title = }", 1, "expected a value, got '}'"),
        ("@misc{a, title = nope}", 1, "the text nope is not defined"),
        ("@misc{, title = 1}", 1, "expected a key, got ','"),
        ("@misc{a, x = 1,\n X = 2}", 2, "entry a has two fields x"),
        ("@misc{a}\n@misc{A}", 2, "there is an entry A already"),
        ("@", 1, "expected a type of entry, got 'the end'"),
        ("@misc a", 1, "expected '{', got 'a'"),
        ("@misc{a x = 1}", 1, "expected '}', got 'x'"),
        ("@string{a 1}", 1, "expected '=', got '1'"),
    ],
)
def test_malformed(text, line, message):
    """A malformed file is refused with the line."""
    with pytest.raises(ReadError, match=message) as caught:
        read_library(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (r"G{\"o}del", "Gödel"),
        (r"G\"odel", "Gödel"),
        (r"G\"{o}del", "Gödel"),
        (r"\'Elite", "Élite"),
        (r"\v{C}ech", "Čech"),
        (r"{\v C}ech", "Čech"),
        (r"na\"{\i}ve", "naïve"),
        (r"Fran\c{c}ois", "François"),
        (r"\AA ngstr\"om", "Ångström"),
        (r"Stra{\ss}e", "Straße"),
        (r"Erd\H{o}s", "Erdős"),
        (r"\o re", "øre"),
        ("7--9", "7\u20139"),
        ("a---b", "a\u2014b"),
        ("Dr.~No", "Dr.\u00a0No"),
        ("``a''", "\u201ca\u201d"),
        (r"A \& B", "A & B"),
        (r"50\%, \$5, \#1, a\_b", "50%, $5, #1, a_b"),
        (r"\emph{very} {Big}", "very Big"),
        (r"$x$", "x"),
        (r"\unknown{x}", r"\unknownx"),
        (r"a \{b\}", "a {b}"),
        (r"line\\break", "line break"),
        (r"\ldots end", "…end"),
        ("", ""),
        ("trailing\\", "trailing\\"),
        (r"\"", ""),
    ],
)
def test_plain_text(field, text):
    """Accents, signs and markup of LaTeX become what readers see."""
    assert plain_text(field) == text
