"""Chat templates rendered within a bound of steps and of size.

A template is a program that came with a model. The sandbox of transformers denies access to files
and attributes, but a template may loop for hours or build huge texts. Here every iteration, call
and filter takes a step, and the size of every text is checked. The bounds count work, not seconds,
so that they are the same on every machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, wraps
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from agentgym.errors import ConfigurationError

__all__ = ["TemplateBoundError", "is_plain", "render"]


class TemplateBoundError(ConfigurationError):
    """A chat template exceeds its bound of steps or size."""

    def __init__(self, does: str) -> None:
        """Say what the template does, as in "takes more than 5 steps"."""
        super().__init__(
            f"expected a chat template that writes a conversation and no more, got one that {does}"
            ": use a model with another template"
        )


MOST_STEPS = 400_000
"""Maximum steps of a rendering: hundreds of times what models' templates need on a long episode."""
MOST_TEXT = 1 << 24
"""Maximum characters of a text, or items of a list, that a rendering may build beyond its input."""
MOST_NESTED = 1 << 21
"""Maximum parts and characters of a list that is written."""
MOST_BITS = 64
"""Maximum bits of an integer."""
PER_STEP = 1_000
"""Characters that count as one step."""
_GROWING = frozenset({"format", "replace", "join"})
"""Methods and filters whose result may be far longer than the text."""
_WRITING = frozenset({"tojson", "string", "pprint", "urlencode", "wordcount"})
"""Filters that write out whatever they are given."""
SHORT = 100
"""Constants of a template up to this length are not counted when written."""
STEPS, PIECES, WRITTEN = "_steps", "_pieces", "_written"
"""Names of the counting filters, which are not valid in a template."""


_SIZED = (str, list, tuple, dict, bytes)
_rendering = threading.local()
"""State per thread: ``left`` is a list with the remaining steps of each active rendering."""


def _spend(value: Any) -> Any:
    """Take a step, and more for a long text; returns the value.

    Raises:
        TemplateBoundError: No step is left, or the value is too large.
    """
    steps_left = _rendering.left
    steps_left[0] -= 1
    if value.__class__ is int or value.__class__ is bool:
        if value.bit_length() > MOST_BITS:
            raise TemplateBoundError(f"makes a number of {value.bit_length()} bits")
    elif isinstance(value, _SIZED) and len(value) > PER_STEP:
        _check_size(len(value))
        steps_left[0] -= len(value) // PER_STEP
    if steps_left[0] < 0:
        raise TemplateBoundError(f"takes more than {MOST_STEPS:,} steps")
    return value


class _Counting(NodeTransformer):
    """Count loop iterations, and check the size of joined texts."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Count the iterations of a loop."""
        self.generic_visit(node)
        node.iter = _filtered(node.iter, STEPS)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Check the size of texts joined by ``~``."""
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), PIECES)

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        """Check the size of output, which macros and blocks buffer until their end."""
        self.generic_visit(node)
        node.nodes = [
            child if isinstance(child, nodes.TemplateData) and len(child.data) <= SHORT
            else _filtered(_as_value(child), WRITTEN)
            for child in node.nodes
        ]  # fmt: skip
        return node

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:
        """Check the size of a block assigned to a variable."""
        self.generic_visit(node)
        node.filter = _filtered(node.filter, WRITTEN)
        return node


def _as_value(node: nodes.Node) -> Any:
    """Return template text as a constant, and an expression unchanged."""
    if isinstance(node, nodes.TemplateData):
        return nodes.Const(node.data, lineno=node.lineno)
    return node


def _filtered(node: Any, name: str) -> nodes.Filter:
    """Return an expression, or the text of a block (None), wrapped in a filter."""
    return nodes.Filter(node, name, [], [], None, None, lineno=1)


# The filters take the context so that jinja calls them at every pass, not once at compilation.
@pass_context
def _steps(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """Iterate over items, one step each."""
    for item in items:
        _spend(None)
        yield item


@pass_context
def _pieces(context: Context, parts: Iterable[Any]) -> Any:
    """Join parts as ``~`` does."""
    return _spend("".join(map(_as_text, parts)))


@pass_context
def _write_value(context: Context, value: Any) -> Any:
    """Return the text written for a value."""
    return _spend(_as_text(value))


def _as_text(value: Any) -> str:
    """Return a value as text, unless that is too long."""
    if isinstance(value, str):
        return value
    _check_nested(value)
    return str(value)


def _check_nested(value: Any) -> None:
    """Check that nested lists, fully written out, stay within the size of a text."""
    waiting, size = [value], 0
    while waiting:
        part = waiting.pop()
        _rendering.left[0] -= 1
        size += len(part) if isinstance(part, str) else 1
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        if size + len(waiting) > MOST_NESTED:
            raise TemplateBoundError("writes a list of too many parts")


class _BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox, with bounds on operators, calls and filters."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute an operator, unless its result would be too large."""
        if operator == "+":
            return _spend(left + right)
        if operator == "*":
            _check_repeated(left, right)
            _check_repeated(right, left)
        elif operator == "%" and isinstance(left, str):
            _check_widths(left)
        elif operator == "**" and (abs(left) > 1 << 16 or abs(right) > MOST_BITS):
            raise TemplateBoundError("takes too large a power")
        return _spend(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> Any:
        """Return the sandbox's string formatting, unless it requests a large width."""
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            _check_widths(value.__self__)
        return wrapped

    def call(self, context: Any, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function, as one step."""
        _check_numbers(args, kwargs)
        owner = getattr(called, "__self__", None)
        if owner.__class__ is str and called.__name__ in _GROWING:
            if called.__name__ == "replace" and len(args) > 1:
                _check_replaced(owner, *args[:2])
            elif args:
                _check_joined(owner, args[0])
        return _spend(super().call(context, called, *args, **kwargs))


def _measured(name: str, filter_: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that takes a step and whose result's size is checked."""

    @wraps(filter_)
    def measured(*args: Any, **kwargs: Any) -> Any:
        _check_numbers(args, kwargs)
        if name in _WRITING and args:
            _check_nested(args[0])
        if name in _GROWING:
            texts = [
                argument for argument in (*args, *kwargs.values()) if isinstance(argument, str)
            ]
            lists = [argument for argument in args if isinstance(argument, list | tuple)]
            if name == "format" and texts:
                _check_widths(texts[0])
            elif name == "replace" and len(texts) > 2:
                _check_replaced(*texts[:3])
            elif name == "join" and texts:
                _check_joined(texts[-1], [*lists, texts[0]][0])
        return _spend(filter_(*args, **kwargs))

    return measured


def _check_numbers(args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Check that widths, counts and indentations are not larger than a template needs."""
    for value in (*args, *options.values()) if options else args:
        if isinstance(value, int) and abs(value) > MOST_TEXT:
            raise TemplateBoundError(f"asks for {value:,} characters or items")


def _check_repeated(text: Any, times: Any) -> None:
    """Check that a text or list is not repeated too often."""
    if isinstance(times, int) and isinstance(text, str | list | tuple | bytes):
        _check_size(len(text) * times)


def _check_joined(text: str, parts: Any) -> None:
    """Check that many parts are not joined by a long text."""
    if isinstance(parts, str | list | tuple):
        _check_size(len(text) * len(parts))


def _check_size(size: int) -> None:
    """Check that a text would not be too large."""
    if size > MOST_TEXT:
        raise TemplateBoundError(f"makes a text of {size:,} characters")


def _check_widths(text: str) -> None:
    """Check that a width in a format does not exceed the size of a text."""
    digits = 0
    for letter in text:
        digits = digits + 1 if letter.isdigit() else 0
        if digits > 6:
            raise TemplateBoundError("formats a text to a width of millions")


def _check_replaced(text: str, old: Any, new: Any) -> None:
    """Check that the result of a replacement is not too large."""
    if isinstance(old, str) and isinstance(new, str):
        _check_size((text.count(old) if old else len(text) + 1) * len(new))


@lru_cache(maxsize=64)
def _compiled(source: str) -> Any:
    """Compile a template as transformers does, with the counting filters."""
    from transformers.utils import chat_template_utils

    # An empty template: compiling this one there would evaluate its constants, however large.
    original = chat_template_utils._compile_jinja_template("").environment
    environment = _BoundedEnvironment(
        trim_blocks=original.trim_blocks,
        lstrip_blocks=original.lstrip_blocks,
        extensions=[type(extension) for extension in original.extensions.values()],
    )
    environment.globals.update(original.globals)
    environment.globals.pop("lipsum", None)  # Writes endlessly, and at random.
    environment.filters.update({n: _measured(n, f) for n, f in original.filters.items()})
    environment.filters.update({STEPS: _steps, PIECES: _pieces, WRITTEN: _write_value})
    tree = _Counting().visit(environment.parse(source))
    code = environment.compile(tree)
    return environment.template_class.from_code(environment, code, environment.globals)


def is_plain(tokenizer: object) -> bool:
    """Return whether a tokenizer renders its chat template as transformers does."""
    from transformers import PreTrainedTokenizerBase

    method: Any = getattr(type(tokenizer), "apply_chat_template", None)
    return method is PreTrainedTokenizerBase.apply_chat_template


def render(source: str, variables: Mapping[str, Any]) -> str:
    """Render a chat template.

    Args:
        source: Its text.
        variables: Its variables.

    Returns:
        The text, equal to that of transformers' ``apply_chat_template``.

    Raises:
        TemplateBoundError: The template exceeds the bounds.
        jinja2.TemplateError: The template raises.
    """
    _rendering.left = [MOST_STEPS]
    template = _compiled(source)
    _rendering.left = [MOST_STEPS]
    size, pieces = 0, []
    try:
        for piece in template.generate(**variables):
            size += len(piece)
            if size > MOST_TEXT:
                raise TemplateBoundError(f"writes more than {MOST_TEXT:,} characters")
            pieces.append(piece)
    except RecursionError:
        raise TemplateBoundError("calls itself without end") from None
    except MemoryError:
        raise TemplateBoundError("makes a text that is too large") from None
    return "".join(pieces)
