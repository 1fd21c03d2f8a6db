"""What of a file of tests is cut out, and what stays."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.swe.grading.blinding import CAUGHT, LOOK, blind


def blinded(text: str) -> str:
    return blind(textwrap.dedent(text))


def body(text: str) -> str:
    """Return what stands in the ``try`` of the one test of a file."""
    [test] = [
        node
        for node in ast.walk(ast.parse(blinded(text)))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    [statement] = test.body
    assert isinstance(statement, ast.Try)
    return (
        "\n".join(map(ast.unparse, statement.body)).replace(LOOK, "look").replace(CAUGHT, "caught")
    )


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("assert f(x) == 5", "look(f(x))"),
        ("assert 5 == f(x), 'why'", "look(f(x))"),
        ("assert f(x) == [1, {'a': 2}]", "look(f(x))"),
        ("assert f(x) is None", "look(f(x))"),
        ("assert f(x).a == 'b' and g(x)", "look(f(x).a)\nlook(bool(g(x)))"),
        ("got = f(x)\nassert got == 5", "got = f(x)\nlook(got)"),
        ("want = [1]\nassert f(x) == want", "look(f(x))"),
        ("data = [1]\nassert f(data) == data", "data = [1]\nlook(f(data))"),
        ("data = [1]\ngot = f(data)\nassert got == data", "data = [1]\ngot = f(data)\nlook(got)"),
        ("want = 5\nassert f(x) == want and want > 1",
         "want = 5\nlook(bool(f(x) == want))\nlook(bool(want > 1))"),
        ("assert f(x) == g(x)", "look(bool(f(x) == g(x)))"),
        ("assert f(x) != 5", "look(bool(f(x) != 5))"),
        ("assert not f(x)", "look(bool(f(x)))"),
        ("assert 'a' in f(x)", "look(bool('a' in f(x)))"),
        ("assert f(x) == pytest.approx(5)", "look(bool(f(x) == pytest.approx(5)))"),
        ("with pytest.raises(ValueError, match='a'):\n    f(x)", "with caught():\n    f(x)"),
        ("for n in range(3):\n    assert f(n) == 7", "for n in range(3):\n    look(f(n))"),
        ("assert_allclose(f(x), 5)\nassert f(x) == 5", "assert_allclose(f(x), 5)\nlook(f(x))"),
    ],
)  # fmt: skip
def test_asserts(source: str, left: str) -> None:
    lines = textwrap.indent(source, "    ")
    assert body(f"def test_a(x):\n{lines}\n") == left


def test_names_that_a_fixture_gives_are_no_expectations() -> None:
    assert body("def test_a(x, want):\n    assert f(x) == want\n") == "look(bool(f(x) == want))"


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("self.assertEqual(f(1), 5, 'why')", "look(f(1))"),
        ("self.assertEqual(5, f(1))", "look(f(1))"),
        ("self.assertTrue(f(1))", "look(bool(f(1)))"),
        ("with self.assertRaises(ValueError) as e:\n    f(1)", "with caught() as e:\n    f(1)"),
        ("self.assertAlmostEqual(f(1), 5)\nself.assertTrue(f(1))",
         "self.assertAlmostEqual(f(1), 5)\nlook(bool(f(1)))"),
        ("self.check(f(1), 5)\nself.assertTrue(f(1))",
         "self.check(f(1), 5)\nlook(bool(f(1)))"),
    ],
)  # fmt: skip
def test_methods_of_unittest(source: str, left: str) -> None:
    lines = textwrap.indent(source, "        ")
    assert body(f"class TestA(TestCase):\n    def test_a(self):\n{lines}\n") == left


def test_columns_that_hold_expectations_are_emptied_and_rows_numbered() -> None:
    text = blinded("""
        @pytest.mark.parametrize("x, want", [(1, 2), pytest.param(3, 4, id="four", marks=slow)])
        @pytest.mark.parametrize("y", [5, 6], ids=["a", "b"])
        def test_a(x, y, want):
            assert f(x, y) == want
    """)
    assert "[(1, None), pytest.param(3, None, marks=slow)], ids=['row0', 'row1']" in text
    assert "[5, 6], ids=['a', 'b']" in text


@pytest.mark.parametrize("rows", ["ROWS", "[(1, 2), (3,)]", "[(1, 2)], indirect=True"])
def test_columns_that_cannot_be_read_stay(rows: str) -> None:
    text = blinded(f"""
        ROWS = [(1, 2)]
        @pytest.mark.parametrize("x, want", {rows})
        def test_a(x, want):
            assert f(x) == want
    """)
    assert f"{LOOK}(bool(f(x) == want))" in text and rows in text


def test_literals_of_the_module_go_if_nothing_else_names_them() -> None:
    text = blinded('''
        """Says that 7 is right."""
        from __future__ import annotations
        ONCE, TWICE = [7], [8]
        ALONE = [9]
        def test_a():
            """Nine."""
            assert f() == ALONE
            assert g() == TWICE
    ''')
    assert "ALONE" not in text and "Nine" not in text
    assert f"{LOOK}(bool(g() == TWICE))" in text
    assert text.index("__future__") < text.index("agentgym_looks")


@pytest.mark.parametrize(
    "text",
    ["", "def test_a(:", "def test_a():\n    f()\n", "def helper():\n    assert f() == 5\n",
     "def test_a():\n    yield f() == 5\n    assert f() == 5\n"],
)  # fmt: skip
def test_files_without_a_test_that_can_look(text: str) -> None:
    assert blind(text) == ""


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="assert f(x)=5\n    defyi'\"[]{}:,.", max_size=200))
def test_any_text_is_read(text: str) -> None:
    for source in (text, f"def test_a(x):\n    assert f(x) == 5\n    {text}"):
        blind_source = blind(source)
        assert blind_source == "" or ast.parse(blind_source)
