"""Split an environment's page into parts for a browser, without losing a character.

A part is a text with its meaning, and the marks before and after it in the observation:
`` [SEP] ``, ``[button]``, line breaks. Texts and marks in order are the observation, so the browser
can rebuild exactly what the agent reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.core.outcome import bounded, well_formed
from agentgym.envs.webshop.engine import compact, pages
from agentgym.envs.webshop.engine.commands import one_line
from agentgym.envs.webshop.engine.session import (
    DONE,
    INDEX,
    ITEM,
    RESULTS,
    SEARCH,
    SUB,
    ShopSession,
)
from agentgym.envs.webshop.env import WebShopEnv

SEPARATOR = " [SEP] "
SEARCHING, NOTE = "search", "note"
"""Kinds in addition to `agentgym.envs.webshop.engine.pages`: the button of the search box; a line
with the chosen option."""
OF_ENGINE = {SEARCHING: pages.BUTTON}
"""Their kinds in the engine."""


class PagePart(NamedTuple):
    """A piece of text on the page."""

    kind: str
    """Meaning, as in `agentgym.envs.webshop.engine.pages`."""
    text: str
    """Displayed text."""
    before: str = ""
    """Marks of the observation before the text."""
    after: str = ""
    """Marks of the observation after the text."""
    box: str = ""
    """Parts with the same box are grouped: a product of the results, a group of options."""
    name: str | None = None
    """Name to click; None if it cannot be clicked."""
    chosen: bool = False
    """Whether it is a chosen option, or a product that was opened before."""

    @property
    def full_text(self) -> str:
        """The part as it appears in the observation."""
        return self.before + self.text + self.after


def page_parts(env: WebShopEnv) -> list[PagePart]:
    """Return the parts of the open page, in document order.

    Texts and marks, joined, are the page in the environment's observation mode; if that is
    truncated, the last part is the remainder.

    Args:
        env: An environment whose episode has begun.
    """
    session = env.session
    if env.observation_mode == "compact":
        parts = list(_compact(session, env.visit.highlights))
    else:
        original = pages.parts(session, show_score=env.show_score)
        arranged = _arranged(pages.visible(original), session)
        rich = env.observation_mode == "text_rich"
        parts = list(_rich(arranged, session) if rich else _text(arranged))
    parts = [part._replace(text=well_formed(part.text)) for part in parts]
    page = "".join(part.full_text for part in parts)
    return list(_fitting(parts, bounded(page, OBSERVATION_LENGTH)))


def _fitting(parts: Iterable[PagePart], text: str) -> Iterator[PagePart]:
    """Yield the parts with which a text begins, and the rest of it as one."""
    position = 0
    for part in parts:
        if not text.startswith(part.full_text, position):
            break
        position += len(part.full_text)
        yield part
    if position < len(text):
        yield PagePart(pages.TEXT, text[position:])


def _text(parts: Iterable[PagePart]) -> Iterator[PagePart]:
    """Mark parts as the mode ``text`` does."""
    gap = ""
    for part in parts:
        yield part._replace(text=part.text.strip(), before=gap)
        gap = SEPARATOR


def _rich(parts: Iterable[PagePart], session: ShopSession) -> Iterator[PagePart]:
    """Mark parts as the mode ``text_rich`` does; the engine says which of them count as clicked."""
    notes, lines = [], []
    for part in parts:
        kind = OF_ENGINE.get(part.kind, part.kind)
        line = pages.rich_text([(kind, part.text)], session)
        note = f"You have clicked {part.text}."
        if kind == pages.OPTION and line.startswith(f"{note}\n"):
            notes.append(PagePart(NOTE, note, after="\n"))
            line = line[len(note) + 1 :]
        if kind not in (pages.BUTTON, pages.OPTION, pages.LINK):
            lines.append(part._replace(after="\n"))
            continue
        lead = line[: len(line) - len(line.lstrip())]
        state = "clicked " if line.startswith("[clicked button]", len(lead)) else ""
        prefix, suffix = f"{lead}[{state}button] ", f" [{state}button_]\n"
        lines.append(part._replace(before=prefix, after=suffix))
    yield from reversed(notes)
    yield from lines


def _arranged(parts: Iterable[pages.Part], session: ShopSession) -> Iterator[PagePart]:
    """Yield the parts of an original page with their place and the name that a click uses."""
    hits, groups, group = -1, -1, ""
    for kind, content in parts:
        part, name = PagePart(kind, content), content.strip().lower()
        if kind == pages.BUTTON and session.state.page == INDEX:
            yield part._replace(kind=SEARCHING)
        elif kind == pages.BUTTON:
            yield part._replace(name=name)
        elif kind == pages.LINK:
            hits += 1
            visited = content in session.state.visited
            yield part._replace(box=f"hit {hits}", name=name, chosen=visited)
        elif session.state.page == RESULTS and kind in (pages.TITLE, pages.PRICE):
            yield part._replace(box=f"hit {hits}")
        elif kind == pages.GROUP:
            groups, group = groups + 1, content
            yield part._replace(box=f"group {groups}")
        elif kind == pages.OPTION:
            yield _option(part, session, group)._replace(box=f"group {groups}")
        else:
            yield part


def _option(part: PagePart, session: ShopSession, group: str) -> PagePart:
    """Say whether a value can be chosen, and whether it is."""
    name = part.text if part.text in session.product.choosable else None
    return part._replace(name=name, chosen=session.options.get(group) == part.text)


def _compact(session: ShopSession, highlights: bool) -> Iterator[PagePart]:
    """Yield the parts of a short page, line by line."""
    page = session.state.page
    if page == RESULTS and session.hits():
        yield from _compact_results(session, highlights)
    elif page == ITEM:
        yield from _compact_item(session)
    elif page in (RESULTS, SUB, DONE):
        kind = pages.DETAIL if page == SUB else pages.COUNT if page == RESULTS else pages.TEXT
        yield PagePart(kind, compact.page(session))
    else:
        yield PagePart(pages.INSTRUCTION, session.goal.instruction_text)


def _compact_results(session: ShopSession, highlights: bool) -> Iterator[PagePart]:
    gap = ""
    for place, asin in enumerate(session.hits(), 1):
        item, box = session.shop.products[asin], f"hit {place}"
        short = [one_line(item.title).lower()]
        short += compact.highlights(item) if highlights else ()
        yield PagePart(pages.TITLE, ", ".join(short), gap, box=box)
        yield PagePart(pages.PRICE, compact.price_tag(item), " ", box=box)
        visited = asin in session.state.visited
        yield PagePart(pages.LINK, f"#{place}", " ", box=box, name=str(place), chosen=visited)
        gap = "\n"
    if compact.more(session):
        yield PagePart(pages.BUTTON, "next", "\n", name="next")


def _compact_item(session: ShopSession) -> Iterator[PagePart]:
    item, lead = session.product, ""
    features = ", ".join(filter(None, (one_line(bullet).lower() for bullet in item.bullets)))
    if features:
        yield PagePart(pages.DETAIL, features)
        lead = "\n"
    for number, (group, values) in enumerate(item.options.items()):
        box = f"group {number}"
        yield PagePart(pages.GROUP, group, lead, "" if values else ": ", box=box)
        lead = "\n"
        for place, value in enumerate(values):
            part = PagePart(pages.OPTION, value, " | " if place else ": ", box=box)
            yield _option(part, session, group)
    yield PagePart(pages.INSTRUCTION, session.goal.instruction_text, lead)


def other_names(env: WebShopEnv, parts: Iterable[PagePart]) -> list[str]:
    """Return the clickable names that the page does not show, in the engine's order.

    Compact pages omit the names that are on every page.
    """
    session = env.session
    if env.observation_mode == "compact":
        names = compact.clickables(session)
    elif session.state.page == ITEM:
        names = list(session.product.admissible)
    else:
        names = [name for name in session.clickables() if name != SEARCH]
    visible_names = {part.name for part in parts}
    return [name for name in dict.fromkeys(names) if name not in visible_names]
