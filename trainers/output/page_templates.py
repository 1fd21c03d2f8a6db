"""The templates of this package: pages, cards and code, filled in."""

from __future__ import annotations

from trainers.output.remarks import direction, scaled_text, signed

__all__ = ["render"]


def render(name: str, **values: object) -> str:
    """Fill in a template of this package.

    In a page, everything that comes in is escaped. Markdown and Python know no such thing: what
    comes into them stands as it is.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("trainers.output", ""),
        autoescape=name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["scaled"] = scaled_text
    templates.filters["signed"] = signed
    templates.filters["side"] = direction
    return templates.get_template(name).render(**values)
