"""The content of a page: one list of parts per page, the source of all renderings.

The parts, their texts and their order follow the original's HTML templates, so that text and rich
text agree with it character by character; the kinds also give the meaning of a part, for the
browser.
"""

from __future__ import annotations

import json

from agentgym.envs.webshop.engine.session import DONE, INDEX, ITEM, RESULTS, ShopSession

Part = tuple[str, str]
"""A kind and the text of the page, including white space."""

TEXT, INSTRUCTION, BUTTON, LINK, OPTION = "text", "instruction", "button", "link", "option"
GROUP, TITLE, PRICE, COUNT, DETAIL = "group", "title", "price", "count", "detail"

HIDDEN_SCORE = "hidden"
_ESCAPES = {"'": "\\u0027", "<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def parts(session: ShopSession, *, show_score: bool = False) -> list[Part]:
    """List the parts of the open page in document order; the last page can show the reward."""
    page = session.state.page
    instruction = (INSTRUCTION, session.goal.instruction_text)
    if page == INDEX:
        return [(TEXT, "WebShop"), (TEXT, "Instruction: "), instruction, (BUTTON, "Search")]
    if page == DONE:
        return _done_page(session, show_score)
    head = [(TEXT, "Instruction:"), instruction, (BUTTON, "Back to Search")]
    if page == RESULTS:
        return head + _results(session)
    head.append((BUTTON, "< Prev"))
    return head + (_item(session) if page == ITEM else _sub_page(session))


def text(page: list[Part]) -> str:
    """Render parts as the original's mode ``text``: stripped strings joined by ``[SEP]``."""
    return " [SEP] ".join([content.strip() for _, content in visible(page)])


def rich_text(page: list[Part], session: ShopSession) -> str:
    """Render parts as the original's mode ``text_rich``: one per line, buttons marked.

    The shopper's visited products and chosen options are marked too, and each chosen option has a
    line on top, the last one first.
    """
    options = json.dumps(session.options) if session.state.page == ITEM else ""
    lines: list[str] = []
    notes: list[str] = []
    for kind, content in visible(page):
        if kind == BUTTON:
            lines.append(f"[button] {content} [button_]")
        elif kind == OPTION:
            # The original looks for the quoted value in the page's address, which holds the
            # options as JSON: values that JSON escapes never count as clicked.
            clicked = f'"{content}"' in options
            lines.append(f"  {_button(content, clicked)}")
            if clicked:
                notes.append(f"You have clicked {content}.")
        elif kind == LINK:
            lines.append(f"\n{_button(content, content in session.state.visited)}")
        else:
            lines.append(content)
    return "\n".join([*reversed(notes), *lines, ""])


def _button(label: str, clicked: bool) -> str:
    state = "clicked " if clicked else ""
    return f"[{state}button] {label} [{state}button_]"


def visible(page: list[Part]) -> list[Part]:
    """Drop parts that a browser would not show: empty texts, and white space with a line break."""
    return [
        part if part[1].strip() else (part[0], " ")
        for part in page
        if part[1].strip() or (part[1] and "\n" not in part[1])
    ]


def _results(session: ShopSession) -> list[Part]:
    number = session.state.number
    page = [(COUNT, f"Page {number} (Total results: {session.total()})")]
    if number > 1:
        page.append((BUTTON, "< Prev"))
    page.append((BUTTON, "Next >"))
    products = session.shop.products
    for asin in session.hits():
        item = products[asin]
        page += ((LINK, asin), (TITLE, item.title), (PRICE, item.price_tag))
    return page


def _item(session: ShopSession) -> list[Part]:
    item = session.product
    page: list[Part] = []
    for group, values in item.options.items():
        page.append((GROUP, group))
        page += [(OPTION, value) for value in values]
    page += ((TITLE, item.title), (PRICE, f"Price: {item.price_tag}"), (TEXT, "Rating: N.A."))
    page += [(BUTTON, name) for name in ("Description", "Features", "Reviews", "Buy Now")]
    return page


def _sub_page(session: ShopSession) -> list[Part]:
    if session.state.sub == "description":
        return [(DETAIL, session.product.description)]
    if session.state.sub == "features":
        return [(DETAIL, f" {bullet}") for bullet in session.product.bullets]
    return []


def _done_page(session: ShopSession, show_score: bool) -> list[Part]:
    """List the fixed page after a purchase; the original fills none of its target fields."""
    options = json.dumps(session.options, sort_keys=True)
    for character, escape in _ESCAPES.items():
        options = options.replace(character, escape)
    details = session.details
    score = str(details.reward) if show_score and details is not None else HIDDEN_SCORE
    texts = (
        "Thank you for shopping with us!", "Your code: ", "None",
        " (Paste it in your MTurk interface.)", "Purchased", "asin", session.product.asin,
        "options", options, "attrs", "None", "category", "None", "query", "None",
        "product category", "None", "Target", "asin", "options", "attrs", "price upper",
        "instuction text", "category", "product category", "query", "Goal ", "None", "Reward",
        "Your score (min 0.0, max 1.0)", score, "Reward Details ", "None",
    )  # fmt: skip
    return [(TEXT, content) for content in texts]
