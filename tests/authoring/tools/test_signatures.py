"""Functions as actions: every signature in every grammar, and what a tool cannot be."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, Literal, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.actions import openai_tools, parse, render
from agentgym.actions.specs import GRAMMARS
from agentgym.authoring.tools.docstrings import read_docstring
from agentgym.authoring.tools.signatures import typed_tool
from agentgym.errors import ConfigurationError

WHOLE = st.integers(-(10**17), 10**17)
REAL = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text("ab [](){}\"'\\,:=é\n", min_size=1, max_size=12).filter(str.strip)
PLAIN: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, WHOLE),
    (float, REAL),
    (str, TEXT),
    (bool, st.booleans()),
    (Literal["red", "dark blue"], st.sampled_from(["red", "dark blue"])),
    (Literal[1, 2], st.sampled_from([1, 2])),
]
# In lists any text can be written: what would end a value is escaped.
ITEMS = [*PLAIN[:2], (str, st.text(max_size=8).filter(lambda t: t.isprintable())), *PLAIN[3:]]
LISTS = [(list[kind], st.lists(values, max_size=3)) for kind, values in ITEMS]  # type: ignore[valid-type]
MAPS = [(dict[str, kind], st.dictionaries(TEXT, v, max_size=2)) for kind, v in PLAIN]  # type: ignore[valid-type]
KINDS = [*PLAIN, *LISTS, *MAPS, *((Optional[kind], values) for kind, values in PLAIN)]  # noqa: UP045


@st.composite
def calls(draw: st.DrawFn) -> tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]:
    """Draw a function, arguments of a call, and what the function is then called with."""
    kinds = draw(st.lists(st.sampled_from(KINDS), max_size=7))
    parameters, arguments, expected = [], {}, {}
    hints: dict[str, Any] = {}
    for number, (kind, values) in enumerate(kinds):
        name, default = f"p{number}", inspect.Parameter.empty
        nullable = type(None) in getattr(kind, "__args__", ())
        if draw(st.booleans()):
            default = None if nullable else draw(values)
        left_out = (nullable or default is not inspect.Parameter.empty) and draw(st.booleans())
        if not left_out:
            arguments[name] = expected[name] = draw(values)
        elif default is inspect.Parameter.empty:
            expected[name] = None
        hints[name] = kind
        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        parameters.append(parameter)

    def tool(**kwargs: Any) -> Any:
        """Do something."""

    tool.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    tool.__annotations__ = hints
    return tool, arguments, expected


@settings(max_examples=120, deadline=None)
@given(calls())
def test_calls_pass_through_every_grammar(drawn: Any) -> None:
    function, arguments, expected = drawn
    tool = typed_tool(function)
    specs = (tool.spec,)
    call = parse(json.dumps({"name": "tool", "arguments": arguments}), specs, "tool_call").call
    assert call is not None and tool.arguments(call) == expected
    for grammar in GRAMMARS:
        parsed = parse(render(call, specs, grammar), specs, grammar).call
        assert parsed is not None and tool.arguments(parsed) == expected, grammar
    schema = openai_tools(specs)[0]["function"]["parameters"]
    assert set(schema["required"]) <= set(arguments) <= set(schema["properties"])


def test_docstrings_become_descriptions() -> None:
    def find(query: str, tags: list[str], limit: int | None = 5) -> str:
        """Find pages,
        by words.

        Args:
            query (str): Words, any
                number of them.
            tags: Tags of the page: all count.
            limit: Most pages.

        Returns:
            Pages: not an argument.
        """  # noqa: D205
        return query

    tool = openai_tools((typed_tool(find).spec,))[0]["function"]
    assert tool["description"] == "Find pages, by words."
    assert tool["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words, any number of them."},
            "tags": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Tags of the page: all count. JSON: a list of texts.",
            },
            "limit": {"type": "integer", "description": "Most pages. Default: 5."},
        },
        "required": ["query", "tags"],
        "additionalProperties": False,
    }
    assert read_docstring(None) == ("", {})


def refused() -> list[tuple[Callable[..., Any], str]]:
    def bare() -> None: ...

    def untyped(a) -> None:  # type: ignore[no-untyped-def]
        """Do."""

    def rest(*a: int) -> None:
        """Do."""

    def odd(a: set[int]) -> None:
        """Do."""

    def mixed(a: list[int | str]) -> None:
        """Do."""

    def unknown(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Do."""

    return [
        (bare, "docstring"),
        (untyped, "argument a of the tool untyped to have an annotation"),
        (rest, "by its name"),
        (odd, "annotated with one of"),
        (mixed, "annotated with one of"),
        (unknown, "names? types that its module knows|name types"),
        (lambda: 0, "function with a name"),
    ]


@pytest.mark.parametrize(("function", "reason"), refused())
def test_what_is_no_tool_is_refused(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        typed_tool(function)
