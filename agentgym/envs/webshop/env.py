"""WebShop as a Gymnasium environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core import TextEnv
from agentgym.envs.webshop import compact, engine, pages
from agentgym.envs.webshop.careful import CarefulExpert
from agentgym.envs.webshop.catalogue import Difficulty
from agentgym.envs.webshop.engine import Session
from agentgym.envs.webshop.nouns import NounSource
from agentgym.envs.webshop.reward import check_mode
from agentgym.envs.webshop.shop import (
    Shop,
    ShopConfig,
    View,
    check_observation,
    open_shop,
    page_size,
)
from agentgym.envs.webshop.tasks import GOALS_PER_PRODUCT
from agentgym.envs.webshop.world import World, plain_query
from agentgym.errors import ConfigurationError
from agentgym.outcome import Outcome
from agentgym.tasks import Task, TaskSet

THINKING = (("compact", None), ("compact", "native"))
_OFFICIAL_ACTION = re.compile(r"(.+)\[(.+)\]")


class WebShopEnv(TextEnv):
    """Find and buy the product that an instruction describes.

    Args:
        size: Products of the generated catalogue.
        difficulty: Difficulty of the generated catalogue.
        catalogue_seed: Seed of the generated catalogue.
        data_dir: Folder with the official files, to be used instead of a generated catalogue.
        num_products: Read only this many products of the official files.
        goal_mode: ``generated`` (a few solvable goals per product) or ``official``.
        human_goals: Use the goals that people wrote; official files and goal mode only.
        goals_per_product: Most goals per product in goal mode ``generated``.
        split_mode: ``product`` (no product of the test split is a training target) or
            ``official-index`` (ranges of the original's order, for comparison with the literature).
        nouns: Nouns of the type reward: ``builtin``, ``spacy:<model>``, a mapping from asin to
            nouns, or a JSON file of one (``.gz`` too); None is the best that needs no model.
        observation_mode: ``text`` and ``text_rich`` are the original's; ``compact`` saves tokens.
        results_per_page: Products on a results page; compact mode only, the others show ten.
        reward: ``official`` (bit-exact) or ``strict`` (exact options).
        expert: Whose plans :meth:`oracle` follows: ``target`` knows the right product and takes the
            shortest way, ``careful`` checks candidates as a shopper must, and can be imitated,
            ``thinking`` also writes what it compares before the action (compact, native grammar).
        highlights: Whether results lines show short features that the title leaves out (compact).
        show_score: Whether the last page tells the reward, as the original's does.
        world: A shop made with :meth:`World.build`, in place of all of the above.
        tasks: Its task set; needed with ``world``.
        max_turns: Turn budget.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is out of range or contradicts another.
        DataError: The official files are missing or damaged.

    In the modes ``text`` and ``text_rich`` with the native grammar, an action that cannot be
    carried out shows the same page again, as in the original; ``info["action_valid"]`` tells.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = (
        ActionSpec(
            "search",
            "Search the shop; possible on every page.",
            (Param("query", description="Words that describe the product."),),
            examples=("search[red running shoes]",),
            native="search[{query}]",
        ),
        ActionSpec(
            "click",
            "Click a button, a product or an option that the page shows.",
            (Param("element", description="The text of what to click, such as buy now."),),
            examples=("click[next >]", "click[buy now]"),
            native="click[{element}]",
        ),
    )

    def __init__(
        self,
        *,
        size: int = 1000,
        difficulty: str | Difficulty = "medium",
        catalogue_seed: int = 0,
        data_dir: str | None = None,
        num_products: int | None = None,
        goal_mode: str = "generated",
        human_goals: bool = False,
        goals_per_product: int = GOALS_PER_PRODUCT,
        split_mode: str = "product",
        nouns: NounSource | None = None,
        observation_mode: str = "text",
        results_per_page: int | None = None,
        reward: str = "official",
        expert: str = "target",
        highlights: bool = False,
        show_score: bool = False,
        world: World | None = None,
        tasks: TaskSet | None = None,
        max_turns: int = 15,
        **kwargs: Any,
    ) -> None:
        self.observation_mode = check_observation(observation_mode)
        self.page_size = page_size(observation_mode, results_per_page)
        self.reward_mode = check_mode(reward)
        self.show_score = show_score
        self.view = View(self.page_size, expert, highlights)
        if expert == "thinking" and (observation_mode, kwargs.get("grammar")) not in THINKING:
            raise ConfigurationError(
                "expected expert='thinking' only with observation_mode='compact' and the native "
                f"grammar, which allow words before an action; got {observation_mode!r} and "
                f"{kwargs.get('grammar')!r}"
            )
        if (world is None) != (tasks is None):
            raise ConfigurationError(
                "expected world and tasks together, or neither of them; got "
                f"world={world!r:.40}, tasks={tasks!r:.40}"
            )
        if world is not None and tasks is not None:
            self._shop = Shop.of(world, tasks, self.view)
        else:
            config = ShopConfig(
                size, difficulty, catalogue_seed, None if data_dir is None else str(data_dir),
                num_products, goal_mode, human_goals, goals_per_product, split_mode, nouns,
            )  # fmt: skip
            self._shop = open_shop(config, self.view)
        self._session: Session | None = None
        super().__init__(self._shop.tasks, max_turns=max_turns, **kwargs)

    @property
    def session(self) -> Session:
        """The running session, for pages and tools that show the shop."""
        assert self._session is not None, "call env.reset() first"
        return self._session

    @property
    def world(self) -> World:
        """The shop that this environment shares with others of its configuration."""
        return self._shop.world

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        goal = self._shop.goal(task)
        self._session = Session(self._shop.world, goal, self.page_size, self.reward_mode)
        return self._page()

    def _act(self, action: str) -> Outcome:
        if self.observation_mode == "compact":
            return self._act_compact(action)
        command = self._command(action)
        valid = command is not None and self._carry_out(*command)
        return self._outcome(self._page(), valid)

    def _admissible(self) -> Sequence[str]:
        session = self.session
        if session.state.page == engine.INDEX:
            return [f"search[{plain_query(session.goal.instruction_text)}]"]
        if self.observation_mode == "compact":
            return [f"click[{name}]" for name in compact.clickables(session)]
        return [f"click[{name}]" for name in session.clickables() if "[" not in name]

    def _state(self) -> str:
        session = self.session
        state = session.state
        visited = state.visited if self.observation_mode == "text_rich" else ()
        seen = state._replace(options=tuple(sorted(state.options)), visited=visited)
        return f"{tuple(seen)!r} {session.goal.asin} {session.goal.instruction_text}"

    def _oracle_turns(self) -> int | None:
        session = self.session
        if session.state.page == engine.DONE:
            return 0
        step = self._shop.expert.step(session)
        return None if step is None else step.turns

    def _oracle_action(self) -> str | None:
        step = self._shop.expert.step(self.session)
        if step is None:
            return None
        argument = step.argument
        if step.name == "click" and self.observation_mode == "compact":
            argument = compact.short(self.session, argument)
        return f"{self._thought()}{step.name}[{argument}]"

    def _thought(self) -> str:
        """Return what the thinking expert says before its action."""
        expert = self._shop.expert
        if self.view.expert != "thinking" or not isinstance(expert, CarefulExpert):
            return ""
        thought = expert.thought(self.session)
        return thought and f"{thought} "

    def _potential(self) -> float:
        details = self.session.value()
        return 0.0 if details is None else details.reward

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        session = Session(
            self._shop.world, self._shop.goal(self.task), self.page_size, self.reward_mode
        )
        session.restore(state)
        self._session = session

    # -- parts ----------------------------------------------------------------------------------

    def _command(self, action: str) -> tuple[str, str] | None:
        """Read an action as the original does, or forgivingly behind another grammar."""
        if not self.language.native:
            return compact.read(action)
        found = _OFFICIAL_ACTION.match(action)
        return None if found is None else (found[1], found[2].lower())

    def _carry_out(self, name: str, argument: str) -> bool:
        """Do what an action says; tell whether anything could be done."""
        if name == "search":
            self.session.search(argument)
            return True
        return name == "click" and self.session.click(argument)

    def _act_compact(self, action: str) -> Outcome:
        session = self.session
        command = compact.read(action)
        if command is None or not command[1]:
            return Outcome("invalid: write search[words] or click[name]", valid=False)
        name, argument = command
        before = session.state.page
        if name == "click":
            argument = compact.resolve(session, argument)
            past_end = before == engine.RESULTS and argument == engine.NEXT
            if (past_end and not compact.more(session)) or not session.click(argument):
                return Outcome(compact.refusal(session, argument), valid=False)
            return self._outcome(
                compact.answer(session, before, argument, self.view.highlights), True
            )
        session.search(argument)
        return self._outcome(compact.page(session, self.view.highlights), True)

    def _outcome(self, observation: str, valid: bool) -> Outcome:
        """Report a turn, with the reward if it was the purchase."""
        details = self.session.details
        if details is None:
            return Outcome(observation, valid=valid)
        return Outcome(
            observation,
            reward=details.reward,
            terminated=True,
            valid=valid,
            success=details.reward == 1.0,
            score=details.reward,
            details=details.as_dict(),
        )

    def _page(self) -> str:
        session = self.session
        if self.observation_mode == "compact":
            return compact.page(session, self.view.highlights)
        shown = pages.parts(session, show_score=self.show_score)
        if self.observation_mode == "text":
            return pages.text(shown)
        return pages.rich_text(shown, session)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what every process shares; a configured shop is found again by its key."""
        state = dict(self.__dict__)
        session = state.pop("_session")
        state["session_state"] = None if session is None else session.snapshot()
        if self._shop.config is not None:
            del state["tasks"]
            state["_shop"] = self._shop.config
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Find the shop again and continue the session."""
        session_state = state.pop("session_state")
        self.__dict__.update(state)
        if isinstance(self._shop, ShopConfig):
            self._shop = open_shop(self._shop, self.view)
            self.tasks = self._shop.tasks
        self._session = None
        if session_state is not None:
            self._restore(session_state)
