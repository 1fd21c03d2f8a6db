"""From blocks to HTML."""

from __future__ import annotations

from collections.abc import Iterable

from plainmark.blocks import parse
from plainmark.nodes import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Table
from plainmark.outline import Anchors
from plainmark.spans import escape, render_spans


def render(text: str, anchors: bool = True, first_level: int = 1) -> str:
    """Render a text as HTML.

    Args:
        text: The Markdown.
        anchors: Whether headings get an ``id``.
        first_level: The level of a heading with one ``#``; deeper ones follow, at most 6.
    """
    return _Renderer(Anchors() if anchors else None, first_level).blocks(parse(text))


class _Renderer:
    """Renders blocks one after the other; anchors are unique within one text."""

    def __init__(self, anchors: Anchors | None, first_level: int) -> None:
        self.anchors = anchors
        self.first_level = first_level

    def blocks(self, blocks: Iterable[Block]) -> str:
        return "".join(self.block(block) + "\n" for block in blocks)

    def block(self, block: Block) -> str:
        if isinstance(block, Heading):
            return self.heading(block)
        if isinstance(block, Paragraph):
            return f"<p>{render_spans(block.text)}</p>"
        if isinstance(block, Code):
            name = f' class="language-{escape(block.language)}"' if block.language else ""
            return f"<pre><code{name}>{escape(block.text)}\n</code></pre>"
        if isinstance(block, Rule):
            return "<hr>"
        if isinstance(block, Quote):
            return f"<blockquote>\n{self.blocks(block.blocks)}</blockquote>"
        if isinstance(block, Listing):
            return self.listing(block)
        return self.table(block)

    def heading(self, block: Heading) -> str:
        level = min(block.level + self.first_level - 1, 6)
        anchor = "" if self.anchors is None else f' id="{self.anchors.add(block.text)}"'
        return f"<h{level}{anchor}>{render_spans(block.text)}</h{level}>"

    def listing(self, block: Listing) -> str:
        tag = "ol" if block.ordered else "ul"
        start = f' start="{block.start}"' if block.ordered and block.start != 1 else ""
        items = "".join(f"<li>{self.item(item, block.loose)}</li>\n" for item in block.items)
        return f"<{tag}{start}>\n{items}</{tag}>"

    def item(self, blocks: list[Block], loose: bool) -> str:
        """Render an item; in a tight list its paragraphs have no tags."""
        if loose:
            return "\n" + self.blocks(blocks)
        pieces = []
        for block in blocks:
            if isinstance(block, Paragraph):
                pieces.append(render_spans(block.text))
            else:
                pieces.append(self.block(block))
        return "\n".join(pieces)

    def table(self, block: Table) -> str:
        head = self.row("th", block.head, block.alignments)
        body = "".join(self.row("td", row, block.alignments) for row in block.rows)
        text = f"<table>\n<thead>\n{head}</thead>\n"
        if body:
            text += f"<tbody>\n{body}</tbody>\n"
        return text + "</table>"

    def row(self, tag: str, cells: list[str], alignments: list[str]) -> str:
        pieces = []
        for cell, alignment in zip(cells, alignments, strict=True):
            style = f' style="text-align: {alignment}"' if alignment else ""
            pieces.append(f"<{tag}{style}>{render_spans(cell)}</{tag}>")
        return f"<tr>{''.join(pieces)}</tr>\n"
