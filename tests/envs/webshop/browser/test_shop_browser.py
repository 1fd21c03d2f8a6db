"""The shop as a person finds it, in a real browser: its text is what the agent reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.episodes import read_episodes
from tests.envs.webshop.browser.shops import Shop
from tests.envs.webshop.conftest import shared_data
from tests.viewer.chromium import Page
from tests.viewer.records import HOSTILE
from tests.viewer.test_in_browser import CONTRAST

pytestmark = pytest.mark.slow

Serve = Callable[..., Shop]
READY = "document.documentElement?.dataset.ready"
READ = """
(() => {
  const found = [];
  const stray = [];
  for (const region of document.querySelectorAll("#said, #page")) {
    if (region.hidden) continue;
    const walk = document.createTreeWalker(region, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.matches("[data-part]")) {
          const box = node.getBoundingClientRect();
          const drawn = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
          found.push({ now: region.dataset.now === "true", kind: node.dataset.part, text: "",
            before: node.dataset.before, after: node.dataset.after,
            drawn: drawn && box.width > 0 && box.height > 0 });
        }
      } else if (node.parentElement.closest("[aria-hidden=true]")) stray.push(node.data);
      else if (!node.parentElement.matches("[data-part]")) stray.push(node.data);
      else found.at(-1).text += node.data;
    }
  }
  return { found, stray };
})()
"""
"""What the shop displays, read node by node: its parts, and text that belongs to none."""
MARKS = {
    "text": r"(| \[SEP\] )",
    "text_rich": r"(|\n|\n?(?:  )?\[(clicked )?button\] | \[(clicked )?button_\]\n)",
    "compact": r"(|\n| |: | \| )",
}
"""All that may stand around a displayed text in an observation."""


def displayed(tab: Page, mode: str) -> str:
    """Return what the page shows of this turn, in the format of the mode."""
    read_text = tab.run(READ)
    assert [text for text in read_text["stray"] if text.strip()] == []
    page = ""
    for part in read_text["found"]:
        assert re.fullmatch(MARKS[mode], part["before"]), part
        assert re.fullmatch(MARKS[mode], part["after"]), part
        assert part["drawn"] or not part["text"].strip(), part
        if part["now"]:
            page += part["before"] + part["text"] + part["after"]
    return page


BUTTONS = "#page .button, #page .link, #others .button"


def button_of(words: str, selector: str = BUTTONS) -> str:
    """Return the script that finds the button with these words."""
    find = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return f"{find}.find((e) => e.textContent.toLowerCase() === {json.dumps(words)})"


class Person:
    """Somebody at the page, and beside it an agent that does the same in its own environment."""

    def __init__(self, tab: Page, served: Shop, **options: Any) -> None:
        self.tab, self.mode = tab, served.kwargs.get("observation_mode", "text")
        self.env = served.env()
        self.pages: list[str] = []
        tab.visit(served.url, READY)
        if options:
            self.choose(**options)
        task = tab.run("state.task")
        place = {"split": task["split"], "index": task["index"]}
        self.observation, self.info = self.env.reset(seed=task["seed"], options=place)
        self.check()

    def do(self, script: str) -> None:
        """Run a script that takes a turn, and let the agent take the same."""
        self.take(lambda: self.tab.run(script))

    def take(self, turn: Callable[[], Any]) -> None:
        """Take a turn, and let the agent take the same."""
        ready_before = self.tab.run(READY)
        turn()
        self.tab.wait(f"{READY} !== {json.dumps(ready_before)}")
        action = self.tab.run("state.turns.at(-1).action")
        self.observation, _, _, _, self.info = self.env.step(action)
        self.check()

    def check(self) -> None:
        """Compare what is displayed with what the agent is told."""
        text = displayed(self.tab, self.mode)
        assert text == self.observation
        assert self.tab.run("pageText()") == text
        assert self.tab.run("state.observation") == text
        listed = "[...document.querySelectorAll('#admissible button')].map((e) => e.textContent)"
        assert self.tab.run(listed) == self.info["admissible_actions"]
        assert self.tab.count("#equal.good") == 1
        self.pages.append(self.env.session.state.page)

    def click(self, words: str, selector: str = BUTTONS) -> None:
        """Press the button with these words."""
        button = button_of(words, selector)
        assert self.tab.run(f"!!{button} && !{button}.disabled"), words
        self.do(f"(() => {{ const e = {button}; e.focus(); e.click(); }})()")

    def search(self, words: str) -> None:
        """Type into the search box and press Enter."""
        self.tab.run("(() => { const q = document.querySelector('#q'); q.focus(); q.select(); })()")
        self.tab.type(words)
        self.do("document.querySelector('#q').form.requestSubmit()")

    def open(self, place: int = 0) -> None:
        """Open a product of the results."""
        self.do(f"document.querySelectorAll('.hit .link')[{place}].click()")

    def send(self, action: str) -> None:
        """Send an action in the agent's words."""
        script = "const field = document.querySelector('#own-action');"
        script += f"field.value = {json.dumps(action)}; field.form.requestSubmit();"
        self.do(f"(() => {{ {script} }})()")

    def choose(self, **options: Any) -> None:
        """Choose a task in the dialog."""
        ready_before = self.tab.run(READY)
        self.tab.run("document.querySelector('#task-button').click()")
        for name, value in options.items():
            place = f"document.querySelector('#{name.replace('_', '-')}')"
            self.tab.run(f"{place}.value = {json.dumps(value)}")
        self.tab.run("document.querySelector('#task-form').requestSubmit()")
        self.tab.wait(f"{READY} !== {json.dumps(ready_before)}")


def words_of(person: Person) -> str:
    """Return words that find the product of the task."""
    return " ".join(person.env.session.shop.products[person.env.session.goal.asin].title.split())


def wander(person: Person) -> Iterator[str]:
    """Go through every kind of page, and name each."""
    compact = person.mode == "compact"
    previous, following = ("back", "next") if compact else ("< prev", "next >")
    yield "search page"
    person.search("zzzz qqqq")
    yield "no results"
    person.search(words_of(person))
    yield "results, first page"
    person.click(following)
    yield "results, middle page"
    while person.env.session.state.number * person.env.session.page_size < (
        person.env.session.total()
    ):
        person.click(following)
    yield "results, last page"
    if not compact:
        person.click(following)
        yield "results, behind the last page"
    person.search(words_of(person))
    for place in range(3):
        person.open(place)
        yield "item"
        options = person.env.session.product.options
        if options:
            break
        person.click(previous)
    for values in options.values():
        value = next(v for v in reversed(values) if v in person.env.session.product.choosable)
        person.click(value, "#page .option")
        assert person.tab.run("document.activeElement.textContent") == value
        pressed = "[...document.querySelectorAll('.option[aria-pressed=true]')]"
        texts = person.tab.run(f"{pressed}.map((e) => e.textContent)")
        assert sorted(texts) == sorted(person.env.session.options.values())
        yield "item, with an option"
    for sub in ("description",) if compact else ("description", "features", "reviews"):
        person.click(sub)
        yield sub
        person.click(previous)
        yield "item, again"
    person.send("click[attributes]")
    yield "a page that there is not"
    person.send("what?")
    yield "no action"
    person.click("buy now")
    yield "the end"


@pytest.mark.parametrize(
    ("catalogue", "mode"),
    [("generated", "text"), ("official", "text_rich"), ("official", "compact")],
)
def test_the_page_says_what_the_agent_is_told(
    shop: Serve, client: Page, catalogue: str, mode: str
) -> None:
    """So it does of a generated catalogue in the other modes, where contrast is measured."""
    kwargs: dict[str, Any] = {"observation_mode": mode, "horizon": 60}
    if catalogue == "official":
        kwargs["data"] = str(shared_data("webshop") / "catalogue")
    person = Person(client, shop(**kwargs), split="test", index=7)
    pages = list(wander(person))
    assert {"no results", "results, last page", "item, with an option", "the end"} <= set(pages)
    assert set(person.pages) == {"index", "results", "item", "sub", "done"}
    assert client.text("#end h2")


def test_other_grammars_are_spoken(shop: Serve, client: Page) -> None:
    served = shop(observation_mode="compact", grammar="tool_call", horizon=60, show_score=True)
    person = Person(client, served, split="test", index=1)
    assert "the end" in list(wander(person))
    assert '"name": "click"' in person.tab.text(".turns")


@pytest.mark.parametrize("mode", ["text", "text_rich", "compact"])
def test_hostile_products_are_inert_and_whole(
    shop: Serve, client: Page, hostile_dir: Path, mode: str
) -> None:
    served = shop(observation_mode=mode, data=str(hostile_dir), horizon=200)
    person = Person(client, served)
    back = "back" if mode == "compact" else "< prev"
    person.search("<script>window.owned = 1</script> \u202e shoes")
    # The pages of results hold all texts, the last product's page, too: two modes leave some out.
    for place in range(0, len(HOSTILE), 1 if mode == "text_rich" else 5):
        person.search("shoes")
        steps, row = divmod(place, person.env.session.page_size)
        if place >= person.env.session.total():
            break
        for _ in range(steps):
            person.click("next" if mode == "compact" else "next >")
        person.open(row)
        if client.count("#page .option:not([disabled])"):
            person.do("document.querySelector('#page .option:not([disabled])').click()")
        for sub in ("description",) if mode == "compact" else ("description", "features"):
            if f"click[{sub}]" in person.info["admissible_actions"]:
                person.click(sub)
                assert client.count("#page script, #page img, #page a, #page svg") == 0
                if client.count("#page .prev, #others .back"):
                    person.click(back)
        assert client.run("document.documentElement.scrollWidth <= innerWidth")
    assert client.run("window.owned ?? null") is None
    assert place > 10


def test_a_person_buys_with_the_keyboard_and_is_recorded(
    shop: Serve, client: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "demos.jsonl"
    served = shop(visits={"record": file})
    person = Person(client, served, split="test", index=4)
    expert = person.env.demonstrator()
    assert client.run("document.activeElement.id") == "q"
    _, query = expert.act(person.observation, person.info)[:-1].split("[", 1)
    client.type(query)
    person.take(lambda: client.key("Enter"))
    while not person.info["stop_reason"]:
        action = json.dumps(expert.act(person.observation, person.info))
        same_action = f"(e) => e.dataset.action === {action}"
        client.run(f"[...document.querySelectorAll('#page button')].find({same_action}).focus()")
        person.take(lambda: client.key("Enter"))
    assert "Just what was asked for" in client.text("#end")
    assert client.run("document.activeElement.id") == "end"
    assert "1 episode recorded in demos.jsonl" in client.text("#record")
    assert client.text("#reward") == "1" and "Turn" in client.text("#turn")
    assert client.run("document.querySelector('#end details').textContent").count("r_type") == 1
    [episode] = read_episodes(file)
    assert episode.policy == "human" and episode.success
    assert main(["replay", str(file)]) == 0
    assert "1 equal" in capsys.readouterr().out.replace("\n", " ")
    ready_before = client.run(READY)
    client.run("document.querySelector('#next-task').click()")
    client.wait(f"{READY} !== {json.dumps(ready_before)}")
    assert client.run("state.task.index") == 5 and client.run("state.turn") == 0


def test_a_second_tab_is_another_visit_and_a_reload_the_same(
    shop: Serve, client: Page, browser: Any
) -> None:
    served = shop()
    person = Person(client, served)
    person.search("rug")
    client.visit(served.url, READY)
    assert client.run("state.turn") == 1 and "Results for" in client.text("#where")
    other_page = Page(browser)
    other_page.visit(served.url, READY)
    assert other_page.run("state.turn") == 0 and len(served.visits) == 2
    assert other_page.run("state.session") != client.run("state.session")
    other_page.close()


def test_what_goes_wrong_is_said(shop: Serve, client: Page) -> None:
    served = shop()
    person = Person(client, served)
    person.search("rug")
    session = client.run("state.session")
    served.ask("act", session=session, turn=1, action="click[back to search]")
    client.run("document.querySelector('.hit .link').click()")
    client.wait("!document.querySelector('#problem').hidden")
    assert "in turn 2" in client.text("#problem") and client.run("state.turn") == 2
    served.visits.close()
    client.run("send({ search: 'rug' })")
    client.wait("state.turn === 0")
    assert "closed" in client.text("#problem")
    client.run("begin({ split: 'test', index: 100000 })")
    client.wait("document.querySelector('#problem').textContent.includes('index')")
    assert client.run("state.turn") == 0
    # Chromium reports answers of 400 and above on the console by itself.
    assert {complaint["text"][:23] for complaint in client.complaints()} == {
        "Failed to load resource"
    }
    client.forget()


def test_the_choice_of_a_task(shop: Serve, client: Page) -> None:
    person = Person(client, shop(), split="valid", index="3", seed="12")
    assert client.run("state.task.id").endswith("/valid/3")
    assert client.run("[state.task.split, state.task.seed]") == ["valid", 12]
    assert "valid task 3 of" in client.text("#strip")
    person.choose(task_id=client.run("state.task.id").replace("valid/3", "test/2"))
    assert client.run("[state.task.split, state.task.index]") == ["test", 2]
    client.run("document.querySelector('#task-button').click()")
    assert client.run("document.querySelector('#index').value") == "2"
    client.key("Escape")
    assert client.run("document.querySelector('#task-dialog').open") is False


def test_what_the_agent_sees_can_be_shown_and_hidden(shop: Serve, client: Page) -> None:
    person = Person(client, shop())
    toggle = "document.querySelector('#agent-button')"
    visible = "document.querySelector('#agent').checkVisibility()"
    assert not client.run(visible) and client.run(f"{toggle}.ariaPressed") == "false"
    client.run(f"{toggle}.click()")
    assert client.run(visible) and client.run(f"{toggle}.ariaPressed") == "true"
    assert client.text("#observation") == person.observation
    client.run("document.querySelector('#agent details').open = true")
    assert person.env.action_prompt() in client.texts("#agent details pre")
    client.key("/")
    assert client.run("document.activeElement.id") == "q"


WIDTHS = (1280, 390)


@pytest.mark.parametrize("mode", ["text_rich", "compact"])
def test_every_page_has_contrast_names_and_one_direction(
    shop: Serve, client: Page, mode: str
) -> None:
    """And it says what the agent is told: on the way every page is compared."""
    served = shop(observation_mode=mode, horizon=60)
    person = Person(client, served, split="test", index=7)
    client.run("document.querySelector('#agent-button').click()")
    for page in wander(person):
        for width in WIDTHS:
            client.resize(width, 844)
            assert client.run("document.documentElement.scrollWidth <= innerWidth"), (page, width)
            if page in ("search page", "results, first page", "item, with an option", "the end"):
                check_contrast_and_names(client, page, width)


def check_contrast_and_names(client: Page, page: str, width: int) -> None:
    """Look at a page in light and in darkness, and as somebody hears it who does not see it."""
    for dark in (True, False):
        client.resize(width, 844, dark=dark)
        client.run("document.querySelectorAll('details').forEach((e) => e.open = true)")
        assert client.run(CONTRAST) == [], (page, width, dark)
    tree = client.call("Accessibility.getFullAXTree")["nodes"]
    usable = {"button", "textbox", "searchbox", "combobox", "spinbutton", "progressbar"}
    names = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if node.get("role", {}).get("value") in usable and not node.get("ignored")
    ]
    assert len(names) > 3 and all(name.strip() for _, name in names), (page, names)
