"""Render the templates of this package: pages, cards and code."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agentgym.evaluation.reports.verdicts import direction, signed
from trainers.output.remarks import scaled_text

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render", "templates"]


def render(name: str, **values: object) -> str:
    """Fill in a template of this package.

    Values in HTML pages are escaped; values in Markdown and Python are inserted verbatim.
    """
    return templates(name.endswith(".html.j2")).get_template(name).render(**values)


@cache
def templates(escape: bool) -> Environment:
    """Return the templates, compiled once per process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("trainers.output", ""),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["scaled"] = scaled_text
    templates.filters["signed"] = signed
    templates.filters["side"] = direction
    return templates
