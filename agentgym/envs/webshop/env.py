"""WebShop as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.later import Later
from agentgym.core.options import choice, flag
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskSet
from agentgym.envs.session_env import SessionEnv
from agentgym.envs.webshop.engine import commands, compact, pages
from agentgym.envs.webshop.engine.commands import ShopCommand, one_line
from agentgym.envs.webshop.engine.nouns import NounSource
from agentgym.envs.webshop.engine.session import INDEX, ITEM, NEXT, RESULTS, ShopSession
from agentgym.envs.webshop.engine.shop import Shop, plain_query
from agentgym.envs.webshop.experts.base import Expert
from agentgym.envs.webshop.generator import GeneratorConfig
from agentgym.envs.webshop.shared_shop import (
    OBSERVATION_MODES,
    SharedShop,
    ShopConfig,
    VisitConfig,
    open_shop,
    page_size,
)
from agentgym.envs.webshop.tasks import GOALS_PER_PRODUCT
from agentgym.errors import ConfigurationError

WORDY = (("compact", None), ("compact", "native"))
"""Observation modes and grammars that allow words before an action."""
SPEAKING = ("thinking", "hurried", "lazy")
"""Experts that write their comparisons."""


class WebShopEnv(SessionEnv[ShopSession]):
    """Find and buy the product that an instruction describes.

    Args:
        size: Products of the generated shop.
        difficulty: Difficulty of the generated shop: ``easy``, ``medium``, ``hard``, or a
            :class:`~agentgym.envs.webshop.generator.GeneratorConfig`.
        generator_seed: Seed of the generated shop.
        data: Folder with the official files, used instead of a generated shop.
        num_products: Number of products to read from the official files.
        goal_mode: ``generated`` (a few solvable goals per product) or ``official``.
        human_goals: Use the goals written by people; official files and goal mode only.
        goals_per_product: Maximum number of goals per product in goal mode ``generated``.
        split_mode: ``product`` (no product of the test split is a training target) or
            ``official-index`` (ranges of the original's order, for comparison with the literature).
        nouns: Nouns of the type reward: ``builtin``, ``spacy:<model>``, a mapping from asin to
            nouns, or a JSON file of one (``.gz`` too); None selects the best without a model.
        observation_mode: ``text`` and ``text_rich`` are the original's; ``compact`` saves tokens.
        results_per_page: Products on a results page; compact mode only, the others show ten.
        reward: ``official`` (bit-exact), ``strict`` (exact options) or ``sparse`` (1 for a purchase
            that the official reward gives 1, else 0; the score stays the official reward).
        expert: The demonstrator: ``oracle`` knows the target and takes
            the shortest path, ``careful`` uses only what a shopper can read, so it can be imitated,
            ``thinking`` also writes its comparison before the action (compact, native grammar),
            ``hasty`` buys the first hit with a matching line and often fails, ``hurried`` acts as
            ``thinking`` in 40% of tasks and as ``hasty`` in the others, ``lazy`` acts as
            ``thinking`` but omits a word of its query in 85% of tasks.
        highlights: Whether lines of results show short features that the title omits (compact).
        show_score: Whether the last page shows the reward, as in the original.
        world: A :class:`Shop`, used instead of the arguments from ``size`` to ``nouns``.
        tasks: The task set of ``world``; required with it.
        horizon: Turn budget.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range, or contradicts another.
        DataError: The official files are missing or damaged.

    If an action has no effect, the observation gives the reason, and so does
    ``info["details"]["reason"]``. With the grammars ``native`` and ``action_tag`` the modes
    ``text`` and ``text_rich`` give it only there: they show the same page again, as in the
    original.
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
            (
                # Verbatim, since official option values hold double and no-break spaces.
                Param(
                    "element",
                    description="The text of what to click, such as buy now.",
                    verbatim=True,
                ),
            ),
            examples=("click[next >]", "click[buy now]"),
            native="click[{element}]",
        ),
    )

    def __init__(
        self,
        *,
        size: int = 1000,
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        data: str | os.PathLike[str] | None = None,
        num_products: int | None = None,
        goal_mode: str = "generated",
        human_goals: bool = False,
        goals_per_product: int = GOALS_PER_PRODUCT,
        split_mode: str = "product",
        nouns: NounSource | None = None,
        observation_mode: str = "text",
        results_per_page: int | None = None,
        reward: str = "official",
        expert: str = "oracle",
        highlights: bool = False,
        show_score: bool = False,
        world: Shop | None = None,
        tasks: TaskSet | None = None,
        horizon: int = 15,
        **kwargs: Any,
    ) -> None:
        self.observation_mode = choice(observation_mode, "observation_mode", OBSERVATION_MODES)
        # One value instead of four attributes: with more than 30 of them Python would no longer
        # share the keys of the environments' dictionaries, at 1.3 kB each.
        hits_per_page = page_size(observation_mode, results_per_page)
        self.visit = VisitConfig(hits_per_page, expert, highlights, reward)
        self.show_score = flag(show_score, "show_score")
        if expert in SPEAKING and (observation_mode, kwargs.get("grammar")) not in WORDY:
            raise ConfigurationError(
                f"expected expert={expert!r} only with observation_mode='compact' and the native "
                f"grammar, which allow words before an action; got {observation_mode!r} and "
                f"{kwargs.get('grammar')!r}"
            )
        if world is None and tasks is None:
            config = ShopConfig(
                size, difficulty, generator_seed, data, num_products, goal_mode,
                human_goals, goals_per_product, split_mode, nouns,
            )  # fmt: skip
            self._shared = open_shop(config, self.visit)
        else:
            self._shared = SharedShop.of(world, tasks, self.visit)
        super().__init__(self._shared.tasks, horizon=horizon, **kwargs)
        self._original = observation_mode != "compact" and self.language.literal

    @property
    def shop(self) -> Shop:
        """The shop that this environment shares with others of its configuration."""
        return self._shared.shop

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._session = self._new_session(task)
        return self._page()

    def _act(self, action: str) -> Outcome:
        command = self._read_command(action)
        if command is None or command.argument.strip() == commands.BLANK:
            return self._refused(commands.UNREADABLE)
        if command.name == "search":
            self.session.search(command.argument)
            return self._outcome(self._page())
        if self.observation_mode == "compact":
            return self._click_compact(command.argument)
        name = command.argument
        if not self.language.literal:
            # Other grammars carry names as text in which white space may have been changed.
            name = commands.clickable_like(self.session, name)
        if not self.session.click(name):
            return self._refused(commands.refusal(self.session, name))
        return self._outcome(self._page())

    def _admissible(self) -> Sequence[str]:
        session = self.session
        if session.state.page == INDEX:
            query = plain_query(session.goal.instruction_text)
            return [f"search[{query}]"] if query else []
        if self.observation_mode == "compact":
            names: Sequence[str] = compact.clickables(session)
        elif session.state.page == ITEM:
            names = session.product.admissible
        else:
            names = session.clickables()
        return [f"click[{name}]" for name in names]

    def _state(self) -> str:
        # The shopper's actions, with positions instead of asins: a hash of anything hidden could be
        # compared with the hashes of guesses.
        shop_state = self.session.state
        place = None if shop_state.asin is None else self.session.ranking().index(shop_state.asin)
        visited = shop_state.visited if self.observation_mode == "text_rich" else ()
        state = (
            shop_state.page,
            shop_state.query,
            shop_state.number,
            place,
            sorted(shop_state.options),
            visited,
            shop_state.sub,
        )
        return f"{self.task.id} {state!r}"

    def _oracle_turns(self) -> Later[int | None]:
        session = self.session
        return Later(self._shared.expert.turns_left, session.goal, session.state, session.page_size)

    def _oracle_action(self) -> str | None:
        return self._action_of(self._shared.oracle)

    def _demonstrator_action(self) -> str | None:
        return self._action_of(self._shared.expert)

    def _action_of(self, expert: Expert) -> str | None:
        """Return an expert's next action as this observation mode has it, after its thought."""
        step = expert.step(self.session)
        if step is None:
            return None
        argument = step.argument
        if step.name == "click" and self.observation_mode == "compact":
            argument = compact.short(self.session, argument)
        thought = plain_query(expert.thought(self.session))
        return f"{thought} {step.name}[{argument}]".lstrip()

    def _potential(self) -> float:
        details = self.session.value()
        return 0.0 if details is None else details.reward

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        self._session = self._new_session(self.task)
        self._session.restore(state)

    # -- parts ----------------------------------------------------------------------------------

    def _new_session(self, task: Task) -> ShopSession:
        shared, visit = self._shared, self.visit
        return ShopSession(shared.shop, shared.goal(task), visit.page_size, visit.reward)

    def _read_command(self, action: str) -> ShopCommand | None:
        """Read an action as the original does, or forgivingly where its words need not be kept."""
        if self._original:
            command = commands.official(action)
            return command if command is not None and command.name in ("search", "click") else None
        if self.language.literal:
            command = commands.forgiving(action)
        else:
            command = commands.declared(action, self.action_specs)
        if command is None or not one_line(command.argument):
            return None
        return (
            command
            if command.name == "click"
            else command._replace(argument=one_line(command.argument))
        )

    def _click_compact(self, name: str) -> Outcome:
        """Click the name that a short name of the compact mode stands for."""
        session = self.session
        old_page = session.state.page
        full = compact.resolve(session, name)
        past_end = old_page == RESULTS and full == NEXT and not compact.more(session)
        if full is None or past_end or not session.click(full):
            label = one_line(name) if full is None else full
            return self._refused(commands.refusal(session, label))
        return self._outcome(compact.answer(session, old_page, full, self.visit.highlights))

    def _refused(self, reason: str) -> Outcome:
        """Answer an action that changes nothing, with the page where the original shows it."""
        observation = reason
        if self._original:
            observation = self._page()
        elif self.observation_mode != "compact":
            observation = f"{reason}\n{self._page()}"
        return Outcome(observation, valid=False, details={"reason": reason})

    def _outcome(self, observation: str) -> Outcome:
        """Report a turn that did something, with the reward if it was the purchase."""
        details = self.session.details
        if details is None:
            return Outcome(observation)
        success = details.reward == 1.0
        return Outcome(
            observation,
            reward=float(success) if self.visit.reward == "sparse" else details.reward,
            terminated=True,
            success=success,
            score=details.reward,
            details=details.as_dict(),
        )

    def _page(self) -> str:
        session = self.session
        if self.observation_mode == "compact":
            return compact.page(session, self.visit.highlights)
        parts = pages.parts(session, show_score=self.show_score)
        if self.observation_mode == "text":
            return pages.text(parts)
        return pages.rich_text(parts, session)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the shared shop; unpickling finds a configured shop by its key."""
        state = super().__getstate__()
        if self._shared.config is not None:
            del state["tasks"]
            state["_shared"] = self._shared.config
        return state

    def _find_again(self) -> None:
        if isinstance(self._shared, ShopConfig):
            self._shared = open_shop(self._shared, self.visit)
            self.tasks = self._shared.tasks
