"""The compact mode: short pages and short clickable names, for small language models.

Only the instruction is repeated: it is the first page and ends each item page. A label follows what
it names, so that a causal model reads the facts before the token that it may copy.
"""

from __future__ import annotations

import re

from agentgym.envs.webshop.engine.commands import clickable_like, one_line
from agentgym.envs.webshop.engine.products import Product
from agentgym.envs.webshop.engine.session import (
    BACK,
    BUY,
    DONE,
    ITEM,
    NEXT,
    PREVIOUS,
    RESULTS,
    SUB,
    PageKind,
    ShopSession,
)

_LABEL = re.compile(r"#?([0-9]{1,3})")
_ALIASES = {"back": PREVIOUS, "prev": PREVIOUS, "next": NEXT, "buy": BUY}
LONGEST_HIGHLIGHT = 3
"""Maximum number of words of a bullet in a line of results."""
MOST_HIGHLIGHTS = 2
_SHORT = {PREVIOUS: "back", NEXT: "next"}


def resolve(session: ShopSession, name: str) -> str | None:
    """Turn a short name into the shop's name, such as ``2`` into an asin.

    :meth:`ShopSession.click` may reject the result; None if the page does not show the name.
    """
    word = one_line(name)
    if session.state.page == RESULTS:
        label = _LABEL.fullmatch(word)
        hits = session.hits()
        if label and 1 <= int(label[1]) <= len(hits):
            return hits[int(label[1]) - 1].lower()
        full = _ALIASES.get(word, word)
        return full if full in (BACK, PREVIOUS, NEXT) else None
    if word in _ALIASES and word not in session.clickables():
        return _ALIASES[word]
    return clickable_like(session, name)


def short(session: ShopSession, name: str) -> str:
    """Return the short form of a clickable name: the inverse of :func:`resolve`."""
    if session.state.page == RESULTS:
        if name == PREVIOUS:
            return "prev"
        for place, asin in enumerate(session.hits(), 1):
            if asin.lower() == name:
                return str(place)
    brief = _SHORT.get(name, name)
    is_option = session.state.page == ITEM and brief in session.product.group_of
    return name if is_option else brief


def clickables(session: ShopSession) -> list[str]:
    """List the short names that have an effect on the open page."""
    page = session.state.page
    if page == RESULTS:
        names = [str(place) for place in range(1, len(session.hits()) + 1)]
        names += ["next"] * more(session) + ["prev"] * (session.state.number > 1)
        return [*names, BACK]
    if page == ITEM:
        back = short(session, PREVIOUS)
        return [back, "description", BUY, *session.product.choosable]
    return ["back", BACK] if page == SUB else []


def more(session: ShopSession) -> bool:
    """Return whether there is another page of results."""
    return session.state.number * session.page_size < session.total()


def highlights(item: Product) -> list[str]:
    """List the short features of a product that are not in its title."""
    title = set(one_line(item.title).lower().split())
    bullets = (one_line(bullet).lower() for bullet in item.bullets)
    short_ones = (b for b in bullets if 0 < len(b.split()) <= LONGEST_HIGHLIGHT)
    return [b for b in short_ones if not title.issuperset(b.split())][:MOST_HIGHLIGHTS]


def page(session: ShopSession, show_highlights: bool = False) -> str:
    """Render the open page; lines of results with or without the products' highlights."""
    kind = session.state.page
    if kind == RESULTS:
        return _results(session, show_highlights)
    if kind == ITEM:
        return _item(session)
    if kind == SUB:
        return _sub_page(session)
    return "bought" if kind == DONE else session.goal.instruction_text


def answer(
    session: ShopSession, old_page: PageKind, name: str, show_highlights: bool = False
) -> str:
    """Render the result of a click: the page, or one word if the policy has already seen it."""
    new_page = session.state.page
    if old_page == ITEM and new_page == RESULTS:
        return "results"
    if old_page == SUB and new_page == ITEM:
        return "item"
    if old_page == new_page == ITEM:
        return f"chosen {name}"
    return page(session, show_highlights)


def _results(session: ShopSession, show_highlights: bool) -> str:
    products = session.shop.products
    lines = []
    for place, asin in enumerate(session.hits(), 1):
        item = products[asin]
        fields = [one_line(item.title).lower(), *(highlights(item) if show_highlights else ())]
        lines.append(f"{', '.join(fields)} {price_tag(item)} #{place}")
    if more(session):
        lines.append("next")
    return "\n".join(lines) if lines else "no results"


def _item(session: ShopSession) -> str:
    item = session.product
    features = ", ".join(filter(None, (one_line(bullet).lower() for bullet in item.bullets)))
    lines = [features] if features else []
    lines += [f"{name}: {' | '.join(values)}" for name, values in item.options.items()]
    return "\n".join([*lines, session.goal.instruction_text])


def _sub_page(session: ShopSession) -> str:
    item, sub = session.product, session.state.sub
    texts = {"description": item.description, "features": ", ".join(item.bullets)}
    return one_line(texts.get(sub or "", "")).lower() or f"no {sub}"


def price_tag(item: Product) -> str:
    """Write the price without trailing zeros: ``$45``, or ``$45 to $50``."""
    return " to ".join(f"${price:.2f}".removesuffix(".00") for price in item.prices)
