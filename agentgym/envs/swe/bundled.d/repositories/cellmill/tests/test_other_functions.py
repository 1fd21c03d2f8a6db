"""Functions of texts, logic and lookup."""

import pytest

from cellmill import Workbook, function_names

TABLE = [
    ["name", "price", "stock"],
    ["apple", "3", "10"],
    ["bread", "5", ""],
    ["Cheese", "9", "4"],
]


def result(formula, table=TABLE):
    """Return the value of a formula beside a table that begins in A1."""
    book = Workbook()
    sheet = book.add("S")
    for row, texts in enumerate(table, 1):
        for letter, text in zip("ABCDE", texts, strict=False):
            sheet[f"{letter}{row}"] = text
    value = book.evaluate(formula, "S")
    return value if isinstance(value, (int, float, str)) else str(value)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('=LEN("tea ")', 4),
        ("=LEN(1.50)", 3),
        ('=LEFT("bread", 2)', "br"),
        ('=LEFT("bread")', "b"),
        ('=RIGHT("bread", 2)', "ad"),
        ('=RIGHT("bread", 9)', "bread"),
        ('=RIGHT("bread", 0)', ""),
        ('=LEFT("bread", -1)', "#VALUE!"),
        ('=MID("bread", 2, 3)', "rea"),
        ('=MID("bread", 9, 3)', ""),
        ('=MID("bread", 0, 3)', "#VALUE!"),
        ('=UPPER("tea") & LOWER("TEA")', "TEAtea"),
        ('=PROPER("o\'neil and mary-ann")', "O'Neil And Mary-Ann"),
        ('=TRIM("  a   b ")', "a b"),
        ('=EXACT("a", "A")', False),
        ('=VALUE("12%")', 0.12),
        ('=VALUE("x")', "#VALUE!"),
        ("=LEN(1/0)", "#DIV/0!"),
    ],
)
def test_parts_of_texts(formula, value):
    """Parts of texts are counted from 1, and what lies beyond the end is empty."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('=FIND("e", "cheese")', 3),
        ('=FIND("e", "cheese", 4)', 4),
        ('=FIND("E", "cheese")', "#VALUE!"),
        ('=SEARCH("E", "cheese")', 3),
        ('=SEARCH("h*s", "cheese")', 2),
        ('=SEARCH("x", "cheese")', "#VALUE!"),
        ('=SEARCH("e", "cheese", 99)', "#VALUE!"),
        ('=SUBSTITUTE("a-b-c", "-", "+")', "a+b+c"),
        ('=SUBSTITUTE("a-b-c", "-", "+", 2)', "a-b+c"),
        ('=SUBSTITUTE("a-b-c", "-", "+", 3)', "a-b-c"),
        ('=SUBSTITUTE("abc", "", "+")', "abc"),
        ('=SUBSTITUTE("abc", "b", "", 0)', "#VALUE!"),
        ('=REPLACE("bread", 2, 3, "o")', "bod"),
        ('=REPT("ab", 3)', "ababab"),
        ('=REPT("ab", 99999)', "#VALUE!"),
    ],
)
def test_search_and_replace(formula, value):
    """Texts are found, replaced and repeated."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=CONCAT(A2:B3, 1)", "apple3bread51"),
        ('=TEXTJOIN(", ", TRUE, A2:A4, "")', "apple, bread, Cheese"),
        ('=TEXTJOIN("-", FALSE, C2:C4)', "10--4"),
        ('=TEXTJOIN("-", TRUE, C2:C4)', "10-4"),
        ('=TEXT(1234.5, "#,##0.00")', "1,234.50"),
        ('=TEXT("tea", "0.00")', "tea"),
        ('=TEXT(1, "0;0;0;0")', "#VALUE!"),
        ('="n: " & TEXT(0.25, "0%")', "n: 25%"),
    ],
)
def test_joined_and_formatted(formula, value):
    """Texts are joined from areas and values, numbers are formatted."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('=IF(1 > 0, "yes", "no")', "yes"),
        ("=IF(0, 1)", False),
        ('=IF("true", 1, 2)', 1),
        ('=IF("x", 1, 2)', "#VALUE!"),
        ("=IF(TRUE, 1, 1/0)", 1),
        ("=IF(1/0, 1, 2)", "#DIV/0!"),
        ("=IF(TRUE, , 2)", 0),
        ("=IFS(FALSE, 1, TRUE, 2)", 2),
        ("=IFS(FALSE, 1)", "#N/A"),
        ("=IFS(TRUE, 1, 1/0)", "#VALUE!"),
        ('=SWITCH("B", "a", 1, "b", 2)', 2),
        ('=SWITCH(3, 1, "a", 2, "b", "other")', "other"),
        ('=SWITCH(3, 1, "a")', "#N/A"),
        ('=CHOOSE(2, "a", "b")', "b"),
        ('=CHOOSE(3, "a", "b")', "#VALUE!"),
        ("=CHOOSE(1, 5, 1/0)", 5),
        ("=SUM(CHOOSE(2, A1, B2:B4))", 17),
        ("=IFERROR(1/0, 7)", 7),
        ("=IFERROR(4, 7)", 4),
        ("=IFERROR(A1:A2, 7)", 7),
        ("=IFNA(NA(), 7)", 7),
        ("=IFNA(1/0, 7)", "#DIV/0!"),
    ],
)
def test_choices(formula, value):
    """Only the argument that is chosen is computed."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=AND(TRUE, 1)", True),
        ("=AND(B2:C4)", True),
        ("=AND(B2 > 3, TRUE)", False),
        ("=AND(A1:A4)", "#VALUE!"),
        ('=OR(FALSE, "true")', True),
        ("=OR(FALSE, 1/0)", "#DIV/0!"),
        ("=XOR(TRUE, TRUE, TRUE)", True),
        ("=NOT(0)", True),
        ("=ISBLANK(C3)", True),
        ('=ISBLANK("")', False),
        ("=ISNUMBER(B2) & ISNUMBER(A2) & ISNUMBER(TRUE)", "TRUEFALSEFALSE"),
        ("=ISTEXT(A2)", True),
        ("=ISLOGICAL(1 = 1)", True),
        ("=ISERROR(1/0)", True),
        ("=ISNA(1/0)", False),
        ("=ISNA(NA())", True),
    ],
)
def test_truths(formula, value):
    """Truth values are joined, and the kind of a value can be asked for."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('=VLOOKUP("bread", A2:C4, 2, FALSE)', 5),
        ('=VLOOKUP("CHEESE", A2:C4, 3, FALSE)', 4),
        ('=VLOOKUP("b*", A2:C4, 2, FALSE)', 5),
        ('=VLOOKUP("tea", A2:C4, 2, FALSE)', "#N/A"),
        ('=VLOOKUP("tea", A2:C4, 4, FALSE)', "#REF!"),
        ('=VLOOKUP("tea", A2:C4, 0, FALSE)', "#VALUE!"),
        ("=VLOOKUP(6, B2:C4, 1)", 5),
        ("=VLOOKUP(99, B2:C4, 2)", 4),
        ("=VLOOKUP(1, B2:C4, 1)", "#N/A"),
        ('=HLOOKUP("price", A1:C4, 3, FALSE)', 5),
        ('=HLOOKUP("PRICE", A1:C4, 9, FALSE)', "#REF!"),
        ('=XLOOKUP("bread", A2:A4, B2:B4)', 5),
        ('=XLOOKUP("tea", A2:A4, B2:B4, "none")', "none"),
        ('=XLOOKUP("tea", A2:A4, B2:B4)', "#N/A"),
        ('=XLOOKUP("tea", A2:A4, B2:B3)', "#VALUE!"),
        ('=XLOOKUP("stock", A1:C1, A4:C4)', 4),
    ],
)
def test_lookup(formula, value):
    """A value is found in a row or column, and what belongs to it is returned."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=MATCH(5, B2:B4, 0)", 2),
        ("=MATCH(6, B2:B4)", 2),
        ("=MATCH(6, B2:B4, 0)", "#N/A"),
        ("=MATCH(4, C2:C4, -1)", 3),
        ("=MATCH(5, C2:C4, -1)", 1),
        ('=MATCH("c*", A2:A4, 0)', 3),
        ("=MATCH(1, A1:B2, 0)", "#VALUE!"),
        ("=INDEX(A1:C4, 3, 1)", "bread"),
        ("=INDEX(A2:A4, 2)", "bread"),
        ("=INDEX(A1:C1, 2)", "price"),
        ("=INDEX(A1:C4, 5, 1)", "#REF!"),
        ("=INDEX(A1:C4, 0, 1)", "#VALUE!"),
        ('=INDEX(B2:B4, MATCH("bread", A2:A4, 0))', 5),
        ("=ROWS(A1:C4) & COLUMNS(A1:C4)", "43"),
    ],
)
def test_places(formula, value):
    """MATCH tells where a value stands, INDEX what stands at a place."""
    assert result(formula) == value


def test_names_of_functions():
    """The names of all functions can be listed."""
    names = function_names()
    assert (len(names) > 60, names[0], names == sorted(names)) == (True, "ABS", True)
