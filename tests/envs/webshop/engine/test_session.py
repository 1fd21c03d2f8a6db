"""The page machine: transitions, clickables, and the texts of its pages."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.webshop.engine import compact, pages
from agentgym.envs.webshop.engine.session import ShopSession
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.oracle import OracleExpert


def session(shop: Shop, number: int = 0, page_size: int = 10) -> ShopSession:
    return ShopSession(shop, shop.goals[number], page_size)


def test_the_way_through_the_shop(shop: Shop) -> None:
    shopper = session(shop)
    assert shopper.clickables() == ["search"] and not shopper.click("search")
    shopper.search("running shoes")
    assert shopper.clickables()[:2] == ["back to search", "next >"]
    assert len(shopper.hits()) == 10 and shopper.total() == 12
    assert shopper.click("next >") and len(shopper.hits()) == 2
    assert shopper.click("next >")
    assert shopper.clickables() == ["back to search", "< prev", "next >"]
    assert shopper.click("< prev") and shopper.click("< prev") and not shopper.click("< prev")
    asin = shopper.hits()[3]
    assert shopper.click(asin.lower()) and shopper.product.asin == asin
    assert shopper.click("navy") and shopper.click("olive | tan")
    assert shopper.options == {"color": "olive | tan"}
    assert shopper.click("features") and shopper.clickables() == ["back to search", "< prev"]
    assert shopper.click("< prev") and shopper.options
    assert shopper.click("< prev") and not shopper.options and shopper.state.asin is None
    assert shopper.click(asin.lower()) and shopper.click("buy now")
    assert shopper.details is not None and shopper.clickables() == []
    shopper.search("lamps")  # the original has no guard here
    assert shopper.state.page == "results"


def test_back_to_search_forgets(shop: Shop) -> None:
    shopper = session(shop)
    shopper.search("lamps")
    shopper.click(shopper.hits()[0].lower())
    assert shopper.state.visited and shopper.click("back to search")
    assert shopper.state == type(shopper.state)()


def test_texts_of_the_pages(shop: Shop) -> None:
    shopper = session(shop)
    instruction = shopper.goal.instruction_text
    assert pages.text(pages.parts(shopper)) == (
        f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] Search"
    )
    assert pages.rich_text(pages.parts(shopper), shopper) == (
        f"WebShop\nInstruction: \n{instruction}\n[button] Search [button_]\n"
    )
    shopper.search("model 2")
    shopper.click("b000000002")
    shopper.click("navy")
    rich = pages.rich_text(pages.parts(shopper), shopper)
    assert rich.startswith("You have clicked navy.\nInstruction:\n")
    assert "\ncolor\n  [clicked button] navy [clicked button_]\n  [button] olive | tan" in rich
    shopper.click("features")
    assert pages.rich_text(pages.parts(shopper), shopper).endswith(
        " Feature 2: breathable\n Second feature\n"
    )
    shopper.click("< prev")
    shopper.click("buy now")
    assert " [SEP] hidden [SEP] " in pages.text(pages.parts(shopper))
    assert shopper.details is not None
    score = f" [SEP] {shopper.details.reward} [SEP] "
    assert score in pages.text(pages.parts(shopper, show_score=True))


def test_visited_products_are_marked(shop: Shop) -> None:
    shopper = session(shop)
    shopper.search("lamps")
    asin = shopper.hits()[0]
    shopper.click(asin.lower())
    shopper.click("< prev")
    rich = pages.rich_text(pages.parts(shopper), shopper)
    assert f"\n\n[clicked button] {asin} [clicked button_]\n" in rich


MOVES = st.lists(
    st.one_of(
        st.integers(0, 40),
        st.sampled_from(["running", "model 3 lamps", "zzz", "breathable"]),
        st.text(max_size=8).map(lambda text: f"!{text}"),
    ),
    max_size=25,
)


@settings(max_examples=80, deadline=None)
@given(MOVES, st.integers(0, 30), st.sampled_from([1, 4, 10]))
def test_any_walk_keeps_the_promises(
    shop: Shop, moves: list[int | str], number: int, page_size: int
) -> None:
    shopper, expert = session(shop, number, page_size), OracleExpert(shop)
    for move in moves:
        names = shopper.clickables()
        if isinstance(move, int):
            name = names[move % len(names)] if names else ""
            assert shopper.click(name) == (name not in ("search", ""))
        elif move.startswith("!"):
            state_before = shopper.state
            possible = move[1:].lower() in names
            assert shopper.click(move[1:].lower()) == (possible and move[1:].lower() != "search")
            assert possible or shopper.state == state_before
        elif shopper.state.page != "done":
            shopper.search(move)
        other_session = session(shop, 0, page_size)
        other_session.restore(pickle.loads(pickle.dumps(shopper.snapshot())))
        assert (
            other_session.state == shopper.state
            and other_session.clickables() == shopper.clickables()
        )
        assert other_session.details == shopper.details
        for page in (pages.text(pages.parts(shopper)), compact.page(shopper)):
            assert isinstance(page, str) and page
        step = expert.step(shopper)
        assert (step is None) == (shopper.state.page == "done")
    command = expert.step(shopper)
    turns = 0
    while (step := expert.step(shopper)) is not None:
        if step.name == "search":
            shopper.search(step.argument)
        else:
            assert shopper.click(step.argument)
        turns += 1
    assert command is None or (turns == command.turns and shopper.details is not None)
    if command is not None:
        assert shopper.details is not None and shopper.details.reward == 1.0


@settings(max_examples=60, deadline=None)
@given(MOVES, st.integers(0, 30))
def test_short_names_resolve_to_what_they_stand_for(
    shop: Shop, moves: list[int | str], number: int
) -> None:
    shopper = session(shop, number, 4)
    for move in moves:
        for name in shopper.clickables():
            if name != "search":
                assert compact.resolve(shopper, compact.short(shopper, name)) == name
        names = compact.clickables(shopper)
        if isinstance(move, int) and names:
            assert shopper.click(compact.resolve(shopper, names[move % len(names)]))
        elif isinstance(move, str) and shopper.state.page != "done":
            shopper.search(move)
