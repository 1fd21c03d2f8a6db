"""Sets of intervals of whole numbers."""

from spanset.mapping import SpanMap
from spanset.sets import SpanSet
from spanset.span import Span
from spanset.text import parse

__all__ = ["Span", "SpanMap", "SpanSet", "parse"]
