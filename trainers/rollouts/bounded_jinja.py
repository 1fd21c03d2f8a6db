"""Chat templates rendered within a bound of steps and of size.

A template is a program that came with a model. The sandbox of transformers keeps it from files and
attributes, but lets it loop for hours and multiply its text. Here every pass through a loop, every
call and filter takes a step, and every text that it makes is measured. The bounds count work, not
seconds, so that they are the same on every machine.
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
    """A chat template does more than any conversation needs."""

    def __init__(self, does: str) -> None:
        """Say what it does, as in "takes more than 5 steps"."""
        super().__init__(
            f"expected a chat template that writes a conversation and no more, got one that {does}"
            ": use a model with another template"
        )


MOST_STEPS = 400_000
"""Steps of a rendering: hundreds of times those of the templates of models on a long episode."""
MOST_TEXT = 1 << 24
"""Characters of any text or items of any list that a rendering makes, beyond what it is given."""
MOST_NESTED = 1 << 21
"""Parts and characters of a list that is written."""
MOST_BITS = 64
"""Bits of a whole number."""
PER_STEP = 1_000
"""Characters that cost as much as a step."""
_GROWING = frozenset({"format", "replace", "join"})
"""Methods and filters whose result may be far longer than the text."""
_WRITING = frozenset({"tojson", "string", "pprint", "urlencode", "wordcount"})
"""Filters that write out whatever they are given."""
SHORT = 100
"""Characters of a template's own text that are not counted where it is written."""
STEPS, PIECES, WRITTEN = "_steps", "_pieces", "_written"
"""Names of the filters that count, which no template can write."""


_SIZED = (str, list, tuple, dict, bytes)
_rendering = threading.local()
"""The rendering of each thread: ``left`` is a list of the steps that it has left."""


def _spend(value: Any) -> Any:
    """Take a step, and more for a long text; returns the value.

    Raises:
        TemplateBoundError: No step is left, or the value is too large.
    """
    left = _rendering.left
    left[0] -= 1
    if value.__class__ is int or value.__class__ is bool:
        if value.bit_length() > MOST_BITS:
            raise TemplateBoundError(f"makes a number of {value.bit_length()} bits")
    elif isinstance(value, _SIZED) and len(value) > PER_STEP:
        _check_size(len(value))
        left[0] -= len(value) // PER_STEP
    if left[0] < 0:
        raise TemplateBoundError(f"takes more than {MOST_STEPS:,} steps")
    return value


class _Counting(NodeTransformer):
    """Count the passes of loops, and measure texts that are joined."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Count what a loop goes through."""
        self.generic_visit(node)
        node.iter = _filtered(node.iter, STEPS)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Measure what ``~`` joins."""
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), PIECES)

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        """Measure what is written, which a macro or a block keeps until its end."""
        self.generic_visit(node)
        node.nodes = [
            child if isinstance(child, nodes.TemplateData) and len(child.data) <= SHORT
            else _filtered(_as_value(child), WRITTEN)
            for child in node.nodes
        ]  # fmt: skip
        return node

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:
        """Measure the text of a block that becomes a variable."""
        self.generic_visit(node)
        node.filter = _filtered(node.filter, WRITTEN)
        return node


def _as_value(node: nodes.Node) -> Any:
    """Return a text of the template as a constant, and an expression as it is."""
    if isinstance(node, nodes.TemplateData):
        return nodes.Const(node.data, lineno=node.lineno)
    return node


def _filtered(node: Any, name: str) -> nodes.Filter:
    """Return an expression, or the text of a block (None), behind a filter."""
    return nodes.Filter(node, name, [], [], None, None, lineno=1)


# They ask for the context only so that jinja calls them at every pass, not once when it compiles.
@pass_context
def _steps(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """Go through items, one step each."""
    for item in items:
        _spend(None)
        yield item


@pass_context
def _pieces(context: Context, parts: Iterable[Any]) -> Any:
    """Join parts as ``~`` does."""
    return _spend("".join(map(_as_text, parts)))


@pass_context
def _write_value(context: Context, value: Any) -> Any:
    """Return what is written of a value."""
    return _spend(_as_text(value))


def _as_text(value: Any) -> str:
    """Return a value as text, unless that is too long."""
    if isinstance(value, str):
        return value
    _check_nested(value)
    return str(value)


def _check_nested(value: Any) -> None:
    """Refuse a list of lists that holds, each time it is met, more than a text may have."""
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
    """The sandbox, in which operators, calls and filters are measured."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute an operator, unless its result would be too large to be made."""
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
        """Return the sandbox's own formatting of a text, unless that asks for a large width."""
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
    """Return a filter that takes a step and whose result is measured."""

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
    """Refuse a width, a count or an indentation as large as no template needs."""
    for value in (*args, *options.values()) if options else args:
        if isinstance(value, int) and abs(value) > MOST_TEXT:
            raise TemplateBoundError(f"asks for {value:,} characters or items")


def _check_repeated(text: Any, times: Any) -> None:
    """Refuse to repeat a text or a list too often."""
    if isinstance(times, int) and isinstance(text, str | list | tuple | bytes):
        _check_size(len(text) * times)


def _check_joined(text: str, parts: Any) -> None:
    """Refuse to join many parts with a long text."""
    if isinstance(parts, str | list | tuple):
        _check_size(len(text) * len(parts))


def _check_size(size: int) -> None:
    """Refuse a text that would be too large to be made."""
    if size > MOST_TEXT:
        raise TemplateBoundError(f"makes a text of {size:,} characters")


def _check_widths(text: str) -> None:
    """Refuse a width in a format that is longer than any text may be."""
    digits = 0
    for letter in text:
        digits = digits + 1 if letter.isdigit() else 0
        if digits > 6:
            raise TemplateBoundError("formats a text to a width of millions")


def _check_replaced(text: str, old: Any, new: Any) -> None:
    """Refuse a replacement whose result would be too large."""
    if isinstance(old, str) and isinstance(new, str):
        _check_size((text.count(old) if old else len(text) + 1) * len(new))


@lru_cache(maxsize=64)
def _compiled(source: str) -> Any:
    """Compile a template as transformers does, with what counts."""
    from transformers.utils import chat_template_utils

    # An empty template: to compile this one there would compute its constants, however large.
    original = chat_template_utils._compile_jinja_template("").environment
    environment = _BoundedEnvironment(
        trim_blocks=original.trim_blocks,
        lstrip_blocks=original.lstrip_blocks,
        extensions=[type(extension) for extension in original.extensions.values()],
    )
    environment.globals.update(original.globals)
    environment.globals.pop("lipsum", None)  # Writes without end, and by chance.
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
        variables: What it reads.

    Returns:
        The text, as ``apply_chat_template`` of transformers has it.

    Raises:
        TemplateBoundError: The template goes beyond the bounds.
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
