"""A subset of Markdown to HTML, without surprises."""

from plainmark.html import render
from plainmark.outline import Entry, slug, table_of_contents

__all__ = ["Entry", "render", "slug", "table_of_contents"]
