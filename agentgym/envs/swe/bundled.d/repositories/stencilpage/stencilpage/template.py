"""Templates: reading them and filling them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stencilpage.expressions import RenderError, Scope, condition, filtered, lookup
from stencilpage.scanner import Piece, TemplateError, scan


@dataclass
class _Text:
    """Text that is written as it is."""

    text: str

    def write(self, scope: Scope, out: list[str]) -> None:
        """Append what the node gives."""
        out.append(self.text)


@dataclass
class _Value:
    """A value that is looked up."""

    expression: str

    def write(self, scope: Scope, out: list[str]) -> None:
        """Append what the node gives."""
        value = filtered(self.expression, scope)
        out.append("" if value is None else str(value))


@dataclass
class _If:
    """Branches with their conditions; the one of ``else`` is empty."""

    branches: list[tuple[str, list[_Node]]] = field(default_factory=list)

    def write(self, scope: Scope, out: list[str]) -> None:
        """Append what the node gives."""
        for test, body in self.branches:
            if not test or condition(test, scope):
                _write(body, scope, out)
                return


@dataclass
class _For:
    """A body for each item and one for the case that there is none."""

    name: str
    path: str
    body: list[_Node] = field(default_factory=list)
    otherwise: list[_Node] = field(default_factory=list)

    def write(self, scope: Scope, out: list[str]) -> None:
        """Append what the node gives."""
        items = lookup(self.path, scope)
        if isinstance(items, Mapping):
            items = list(items)
        if not isinstance(items, (list, tuple)):
            raise RenderError(f"{self.path!r} is not a list")
        for index, item in enumerate(items, start=1):
            loop = {"index": index, "first": index == 1, "last": index == len(items)}
            _write(self.body, [*scope, {self.name: item, "loop": loop}], out)
        if not items:
            _write(self.otherwise, scope, out)


_Node = _Text | _Value | _If | _For


def _write(nodes: Sequence[_Node], scope: Scope, out: list[str]) -> None:
    """Write nodes one after the other."""
    for node in nodes:
        node.write(scope, out)


class _Builder:
    """Puts pieces together to nodes."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces
        self.index = 0

    def body(self, *stops: str) -> tuple[list[_Node], Piece | None]:
        """Return the nodes up to one of these tags, and the tag; None at the end."""
        nodes: list[_Node] = []
        while self.index < len(self.pieces):
            piece = self.pieces[self.index]
            self.index += 1
            if piece.kind == "text":
                nodes.append(_Text(piece.content))
            elif piece.kind == "value":
                if not piece.content:
                    raise TemplateError("there is no value between the braces", piece.line)
                nodes.append(_Value(piece.content))
            elif (word := piece.content.partition(" ")[0]) in stops:
                return nodes, piece
            elif word == "if":
                nodes.append(self._if(piece))
            elif word == "for":
                nodes.append(self._for(piece))
            else:
                raise TemplateError(f"unexpected tag {piece.content!r}", piece.line)
        return nodes, None

    def _if(self, start: Piece) -> _If:
        """Read the branches of a condition."""
        node = _If()
        tag: Piece | None = start
        while tag is not None and tag.content != "end":
            word, _, test = tag.content.partition(" ")
            if bool(test.strip()) == (word == "else"):
                raise TemplateError(f"malformed tag {tag.content!r}", tag.line)
            stops = ("end",) if word == "else" else ("elif", "else", "end")
            body, tag = self.body(*stops)
            node.branches.append((test.strip(), body))
        if tag is None:
            raise TemplateError("if has no end", start.line)
        return node

    def _for(self, start: Piece) -> _For:
        """Read a loop."""
        words = start.content.split()
        if len(words) != 4 or words[2] != "in" or not words[1].isidentifier():
            raise TemplateError(f"malformed tag {start.content!r}", start.line)
        node = _For(words[1], words[3])
        node.body, tag = self.body("else", "end")
        if tag is not None and tag.content == "else":
            node.otherwise, tag = self.body("end")
        if tag is None:
            raise TemplateError("for has no end", start.line)
        return node


class Template:
    """A template that can be filled several times.

    Args:
        source: Its text.

    Raises:
        TemplateError: The text is malformed.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._nodes, _ = _Builder(scan(source)).body()

    def render(self, values: Mapping[str, object] | None = None) -> str:
        """Return the text with the values filled in; RenderError if one is missing."""
        out: list[str] = []
        _write(self._nodes, [values or {}], out)
        return "".join(out)


def render(source: str, values: Mapping[str, object] | None = None) -> str:
    """Fill a template once."""
    return Template(source).render(values)
