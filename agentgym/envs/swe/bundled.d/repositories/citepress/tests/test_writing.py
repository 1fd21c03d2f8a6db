"""Bibliographies as text, HTML and Markdown, BibTeX, and the command."""

import pytest

from citepress import CitationError, Citations, read_library, write_library
from citepress.cli import run


def line(entry, style="author-year", form="text"):
    """Return the bibliography of one entry."""
    citations = Citations(read_library(entry), style)
    citations.use("*")
    return citations.bibliography(form)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            "@article{a, author = {Ann Bee}, title = {On Ants}, journal = {J. Ants}, volume = 7,"
            " number = 2, pages = {7--9}, year = 2001}",
            "Bee, A. (2001). On ants. J. Ants, 7(2), pp. 7\u20139.",
        ),
        (
            "@book{a, author = {Ann Bee}, title = {On Ants}, publisher = {P}, address = {Rome},"
            " edition = 2, volume = 3, series = {Small Animals}, year = 2001}",
            "Bee, A. (2001). On Ants, volume 3 of Small Animals, 2nd edition. Rome: P.",
        ),
        (
            "@book{a, editor = {Ann Bee and Bo Cee}, title = {Ants!}, publisher = {P},"
            " year = 2001}",
            "Bee, A. and Cee, B. (eds.) (2001). Ants! P.",
        ),
        (
            "@inbook{a, author = {A}, title = {T}, chapter = 4, pages = 5, publisher = {P},"
            " year = 1}",
            "A (1). T, chapter 4, p. 5. P.",
        ),
        (
            "@incollection{a, author = {A}, title = {Part}, booktitle = {The Whole}, editor = {Ed},"
            " pages = {1--2}, publisher = {P}, year = 2001}",
            "A (2001). Part. In Ed (ed.), The Whole, pp. 1\u20132. P.",
        ),
        (
            "@inproceedings{a, author = {A}, title = {Part}, booktitle = {Proc.}, year = 2001,"
            " organization = {ACM}}",
            "A (2001). Part. In Proc. ACM.",
        ),
        (
            "@phdthesis{a, author = {A}, title = {T}, school = {Uni}, year = 2001}",
            "A (2001). T. PhD thesis, Uni.",
        ),
        (
            "@mastersthesis{a, author = {A}, title = {T}, school = {Uni}, year = 2001,"
            " type = {Diploma}}",
            "A (2001). T. Diploma, Uni.",
        ),
        (
            "@techreport{a, author = {A}, title = {T}, institution = {Lab}, number = {R-1},"
            " year = 2001}",
            "A (2001). T. Technical report R-1, Lab.",
        ),
        (
            "@misc{a, title = {T}, howpublished = {Leaflet}, note = {Lost}}",
            "(n.d.). T. Leaflet. Lost.",
        ),
        (
            "@misc{a, author = {A}, title = {T}, year = 2001, url = {https://x.org/~a}}",
            "A (2001). T. <https://x.org/~a>",
        ),
        (
            "@misc{a, author = {A}, title = {T}, year = 2001, url = {u}, doi = {10.1/x}}",
            "A (2001). T. <https://doi.org/10.1/x>",
        ),
        ("@thing{a, title = {T}}", "(n.d.). T."),
    ],
)
def test_kinds_of_entries(entry, text):
    """Every type of entry has its own form; what is missing is left out."""
    assert line(entry) == text + "\n"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ("year = 2001", "[1] A. T. 2001.\n"),
        ("year = 2001, month = feb", "[1] A. T. February 2001.\n"),
        ("year = 2001, month = {Spring}", "[1] A. T. Spring 2001.\n"),
        ("", "[1] A. T. n.d.\n"),
    ],
)
def test_date_at_the_end(fields, text):
    """In numbered lists the date stands at the end."""
    assert line(f"@misc{{a, author = {{A}}, title = {{T}}, {fields}}}", "numeric") == text


@pytest.mark.parametrize(
    ("authors", "text"),
    [
        ("A and B", "A and B"),
        ("A and B and C", "A, B, and C"),
        ("A and B and C and D and E and F", "A, B, C, D, E, and F"),
        ("A and B and C and D and E and F and G", "A, B, C, et al."),
        ("A and others", "A, et al."),
        ("Vincent van Gogh", "van Gogh, V."),
    ],
)
def test_lists_of_authors(authors, text):
    """Up to six authors are listed, of more the first three."""
    assert line(f"@misc{{a, author = {{{authors}}}, year = 1}}") == f"{text} (1).\n"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The Ants of Rome", "The ants of rome"),
        ("The Ants of {Rome}", "The ants of Rome"),
        ("Ants: A Study", "Ants: A study"),
        ('{DNA} and {\\"U}bel', "DNA and Übel"),
        ("ants", "ants"),
        ("Why?", "Why?"),
    ],
)
def test_titles_of_articles(title, text):
    """Titles of articles have small letters, but for the first one, behind colons and in braces."""
    stop = "" if text.endswith("?") else "."
    assert line(f"@article{{a, title = {{{title}}}, year = 1}}") == f"(1). {text}{stop}\n"


@pytest.mark.parametrize(
    ("edition", "text"),
    [
        ("1", "1st"),
        ("2", "2nd"),
        ("3", "3rd"),
        ("4", "4th"),
        ("11", "11th"),
        ("12", "12th"),
        ("22", "22nd"),
        ("113", "113th"),
        ("Second", "second"),
    ],
)
def test_editions(edition, text):
    """The number of an edition becomes an ordinal."""
    entry = f"@book{{a, title = {{T}}, edition = {{{edition}}}, year = 1}}"
    assert line(entry) == f"(1). T, {text} edition.\n"


TWO = """@article{a1, author = {A}, title = {X < Y}, journal = {J & K}, volume = 2, year = 1}
@misc{b, author = {B}, title = {T*}, year = 2, url = {http://x.org/?a&b}}"""


def test_text_with_labels():
    """Labels stand on the left, filled up to the longest."""
    text = "@misc{a, author = {A and B and C}, year = 2001} @misc{b, author = {Z}, year = 2002}"
    assert line(text, "alpha") == "[ABC01] A, B, and C. 2001.\n[Z02]   Z. 2002.\n"


def test_html():
    """In HTML titles are marked, links can be followed and signs are escaped."""
    assert line(TWO, "numeric", "html").splitlines() == [
        '<ol class="bibliography">',
        '<li id="ref-a1"><span class="label">[1]</span> A. X &lt; y. <i>J &amp; K</i>, '
        "<b>2</b>. 1.</li>",
        '<li id="ref-b"><span class="label">[2]</span> B. <i>T*</i>. 2. '
        '<a href="http://x.org/?a&amp;b">http://x.org/?a&amp;b</a></li>',
        "</ol>",
    ]


def test_html_runs_no_script():
    """Only addresses of the web become links."""
    html = line("@misc{a, title = {T}, url = {javascript:alert(1)}}", form="html")
    assert ("<a" in html, "javascript:alert(1)" in html) == (False, True)


def test_markdown():
    """In Markdown titles are marked and signs are escaped."""
    assert line(TWO, "author-year", "markdown") == (
        "- A (1). X \\< y. *J & K*, **2**.\n- B (2). *T\\**. <http://x.org/?a&b>\n"
    )


def test_labels_in_markdown():
    """The brackets of labels are escaped in Markdown."""
    assert line("@misc{a, title = {T}}", "numeric", "markdown") == "- \\[1\\] *T*. n.d.\n"


def test_unknown_form():
    """A form that is not known is refused, with those that are."""
    with pytest.raises(CitationError, match="html, markdown, text, got 'pdf'"):
        line(TWO, form="pdf")


def test_empty_bibliography():
    """Without citations the bibliography is empty."""
    citations = Citations(read_library(TWO))
    assert (citations.bibliography(), citations.bibliography("html")) == (
        "",
        '<ol class="bibliography">\n</ol>\n',
    )


def test_write():
    """BibTeX is written with one field a line, in a fixed order, the signs in one column."""
    text = '@Misc{a,url={u},Year={2001},title= "T {X}" , author={A},month=Jan}'
    assert write_library(read_library(text)) == (
        "@misc{a,\n  author = {A},\n  title  = {T {X}},\n  month  = jan,\n"
        "  year   = 2001,\n  url    = {u},\n}\n"
    )


def test_write_sorted():
    """Entries can be sorted by key; parents stay behind their children."""
    text = "@misc{c} @misc{B, crossref = {a}} @misc{a, crossref = {c}}"
    keys = [
        block.split(",")[0] for block in write_library(read_library(text), True).split("@misc{")
    ]
    assert keys == ["", "B", "a", "c"]


def test_write_preamble():
    """The preamble comes first."""
    assert write_library(
        read_library('@misc{a} @preamble{"x"}')
    ) == "@preamble{x}\n\n@misc{a,\n}\n".replace("@preamble{x}", "@preamble{{x}}")


def test_written_library_can_be_read():
    """What was written reads the same again."""
    library = read_library(TWO)
    again = read_library(write_library(library))
    assert [entry.fields for entry in again] == [entry.fields for entry in library]


def test_command_format(tmp_path):
    """The command sets a bibliography."""
    path = tmp_path / "a.bib"
    path.write_text(TWO)
    answer = run(["format", str(path), "--style", "alpha", "--keys", "b"])
    assert answer == (0, "[B] B. T*. 2. <http://x.org/?a&b>\n")


def test_command_check(tmp_path):
    """The command lists problems, and its code says whether there are errors."""
    path = tmp_path / "a.bib"
    path.write_text("@manual{a, year = {x}}")
    assert run(["check", str(path)]) == (
        1,
        "line 1: error in a: title is missing\n"
        "line 1: warning in a: year: expected a year, got 'x'\n"
        "1 entries, 1 errors, 1 warnings\n",
    )


def test_command_check_duplicates(tmp_path):
    """A library without errors is looked through for duplicates."""
    path = tmp_path / "a.bib"
    path.write_text("@misc{a, title = {T}} @misc{b, title = {T}}")
    assert run(["check", str(path)]) == (
        0,
        "probably the same: a, b\n2 entries, 0 errors, 0 warnings\n",
    )


def test_command_tidy(tmp_path):
    """The command writes clean BibTeX."""
    path = tmp_path / "a.bib"
    path.write_text("@misc{b} @misc{a}")
    assert run(["tidy", str(path), "--sort"]) == (0, "@misc{a,\n}\n\n@misc{b,\n}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--sort"], "error: check does not know --sort\n"),
        (["format", "--style"], "error: --style needs a value\n"),
        (
            ["format", "--style", "x"],
            "error: expected one of alpha, author-year, numeric, got 'x'\n",
        ),
        (["format", "--keys", "x"], "error: there is no entry x to cite\n"),
    ],
)
def test_command_with_errors(tmp_path, arguments, message):
    """What is wrong with a command is said in one line."""
    path = tmp_path / "a.bib"
    path.write_text("@misc{a}")
    assert run([arguments[0], str(path), *arguments[1:]]) == (2, message)


@pytest.mark.parametrize("arguments", [[], ["check"], ["eat", "a.bib"]])
def test_usage(arguments):
    """An incomplete command shows how it is used."""
    answer = run(arguments)
    assert (answer.code, answer.output.startswith("usage: citepress format")) == (2, True)


def test_missing_file(tmp_path):
    """A file that is not there is named."""
    answer = run(["check", str(tmp_path / "gone.bib")])
    assert (answer.code, "gone.bib cannot be read" in answer.output) == (2, True)
