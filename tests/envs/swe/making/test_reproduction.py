"""From tests to scripts."""

from __future__ import annotations

import textwrap

import pytest

from agentgym.envs.swe.making.reproduction import ParsedTests

HEAD = "import pytest\nfrom lib import f, g\nimport os\n\nBASE = 3\n\n"


def reproduce(test: str, line: str, name: str = "test_x", index: int = 0, conftest: str = ""):
    """Return the script of a test that fails at the line that holds some words."""
    source = HEAD + textwrap.dedent(test)
    number = next(n for n, text in enumerate(source.split("\n"), 1) if line in text)
    return ParsedTests(source, conftest).reproduce(name, number, index)


@pytest.mark.parametrize(
    ("test", "line", "script"),
    [
        (
            "def test_x():\n    '''Words.'''\n    assert f(1) == 2\n",
            "assert",
            "from lib import f\n\nf(1)",
        ),
        ("def test_x():\n    assert 2 == f(1)\n", "assert", "from lib import f\n\nf(1)"),
        ("def test_x():\n    assert not f(1)\n", "assert", "from lib import f\n\nf(1)"),
        ("def test_x():\n    assert f(1) < 2\n", "assert", "from lib import f\n\nf(1) < 2"),
        (
            "def test_x():\n    x = f(BASE)\n    assert x\n    assert x.y == 2\n    g(x)\n",
            "x.y",
            "from lib import f\n\nBASE = 3\nx = f(BASE)\nx.y",
        ),
        (
            "def test_x():\n    with pytest.raises(ValueError, match='no'):\n        f(os)\n",
            "with",
            "import os\nfrom lib import f\n\nf(os)",
        ),
        (
            "def test_x():\n    with pytest.raises(KeyError) as error:\n        f(1)\n"
            "    assert error.value.args == (1,)\n",
            "assert",
            "from lib import f\n\ntry:\n    f(1)\nexcept KeyError as caught:\n    error = caught\n"
            "error.args",
        ),
        (
            "def test_x():\n    for x in (1, 2):\n        assert f(x) == x\n",
            "assert",
            "from lib import f\n\nfor x in (1, 2):\n    print(f(x))",
        ),
        (
            "def make():\n    return g(BASE)\n\ndef test_x():\n    assert f(make()) == 1\n",
            "assert",
            "from lib import f, g\n\nBASE = 3\n\ndef make():\n    return g(BASE)\n\nf(make())",
        ),
    ],
)
def test_scripts(test, line, script):
    assert reproduce(test, line).script == script


def test_the_parameters_of_the_case_that_fails_are_bound():
    test = """
        @pytest.mark.parametrize(("x", "y"), [(1, 2), pytest.param(3, 4, id="z")])
        def test_x(x, y):
            assert f(x) == y
        """
    assert reproduce(test, "assert", index=0).script == "from lib import f\n\nx = 1\nf(x)"
    assert reproduce(test, "assert", index=1).script == "from lib import f\n\nx = 3\nf(x)"


def test_fixtures_of_the_file_and_beside_it_are_written_out():
    test = """
        @pytest.fixture
        def thing(shared):
            made = g(shared)
            return made
        def test_x(thing):
            assert f(thing) == 1
        """
    conftest = "import pytest\n@pytest.fixture\ndef shared():\n    yield 7\n"
    script = reproduce(test, "assert f", conftest=conftest).script
    assert script == "from lib import f, g\n\nshared = 7\nmade = g(shared)\nthing = made\nf(thing)"


def test_what_goes_over_several_lines_moves_to_the_left_as_a_whole():
    test = """
        def test_x():
            x = f(
                1,
            )
            assert g(
                x,
            ) == 2
        """
    script = reproduce(test, "assert g").script
    assert script == "from lib import f, g\n\nx = f(\n    1,\n)\ng(\n    x,\n)"


def test_methods_and_unittest():
    test = """
        class TestA:
            def test_x(self):
                self.assertEqual(f(1), 2)
        """
    assert reproduce(test, "Equal", "TestA::test_x").script == "from lib import f\n\nf(1)"


@pytest.mark.parametrize(
    "test",
    [
        "def test_x(monkeypatch):\n    assert f(1) == 2\n",
        "async def test_x():\n    assert f(1) == 2\n",
        "class TestA:\n    def test_x(self):\n        assert self.value == 2\n",
        "@pytest.mark.parametrize('x', CASES)\ndef test_x(x):\n    assert f(x) == 2\n",
        "def test_x():\n    with g():\n        assert f(1) == 2\n",
        "from . import h\ndef test_x():\n    assert h(1) == 2\n",
        "def test_x():\n    assert f(pytest.approx(1)) == 2\n",
    ],
)
def test_what_has_no_script(test):
    name = "TestA::test_x" if "TestA" in test else "test_x"
    assert reproduce(test, "assert", name) is None


def test_unknown_tests_have_nothing():
    suite = ParsedTests(HEAD)
    assert suite.reproduce("test_y", 1) is None
    assert suite.docstring("test_y") == ""
    assert suite.failing_line("test_y", "a.py", "a.py:1: in") is None


def test_the_first_paragraph_of_a_docstring_is_the_behaviour():
    suite = ParsedTests('def test_x():\n    """One\n    two.\n\n    Three.\n    """\n')
    assert suite.docstring("test_x[a-b]") == "One two."


def test_the_failing_line_is_that_of_the_test_itself():
    suite = ParsedTests("def helper():\n    assert 0\n\ndef test_x():\n    helper()\n")
    text = (
        "tests/a.py:2: in other\nlib.py:5: in g\ntests/a.py:5: in test_x\ntests/a.py:2: in helper"
    )
    assert suite.failing_line("test_x", "tests/a.py", text) == 5


@pytest.mark.parametrize(
    ("expression", "subject"),
    [("f(g(1))", "f"), ("len(g(1))", "g"), ("g(1).h(2)", "h"), ("BASE", ""), ("make(f(1))", "")],
)
def test_subject(expression, subject):
    test = f"def make(x):\n    return x\n\ndef test_x():\n    assert {expression} == 1\n"
    assert reproduce(test, "assert").subject == subject
