"""Wrap, justify and align text, and set it in tables and columns."""

from textcolumns.align import align, align_decimals, justify
from textcolumns.lists import bullet_list, columns, numbered_list
from textcolumns.table import Column, format_table
from textcolumns.wrapping import fill, indent, shorten, wrap

__all__ = [
    "Column",
    "align",
    "align_decimals",
    "bullet_list",
    "columns",
    "fill",
    "format_table",
    "indent",
    "justify",
    "numbered_list",
    "shorten",
    "wrap",
]
