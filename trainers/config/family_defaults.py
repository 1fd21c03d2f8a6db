"""Training defaults per environment family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentgym.errors import ConfigurationError
from agentgym.registration import find_family
from trainers.config.layers import DEFAULT, FAMILY, QUICK
from trainers.config.pretrained_defaults import GENERAL, QUICK_SETS, sizes_for
from trainers.config.sections import BaselineName

NATIVE = "native"
"""The grammar in which a turn is an action alone; a thought or the form of a call takes more."""
OPEN_RATES: Mapping[str, Any] = {"rl_learning_rate": None, "sft_learning_rate": None}
"""Rates of a pretrained model, which depend on how many weights are trained."""
STAGES = (5, 8, 10)
"""Turns stage by stage where neither a family nor a task set says anything."""


@dataclass(frozen=True)
class FamilyDefaults:
    """Settings with which a policy learns the tasks of a training set.

    The defaults of the fields are those of the tiny policy on a CPU; `pretrained_defaults` has the
    sizes of others. The task sets are those of `agentgym.registration.EnvFamily`.
    """

    expert: str = ""
    """Argument of this name of the environment, who is imitated; empty: the environment's own. For
    a training set, its ``demonstrator`` stands here."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of the environment, where no task set says what the tasks are."""
    prompt: str = "bare"
    """What the policy is told besides observations, see ``--prompt``."""
    horizon: tuple[int, ...] = ()
    """Turns that an agent may take, stage by stage; the last is the full horizon. Empty: those of
    the task set, else `STAGES`."""
    horizon_every: int = 40
    """Steps per stage."""
    steps: int = 150
    """Reinforcement learning steps."""
    groups: int = 16
    """Tasks of a step."""
    rl_learning_rate: float | None = 6e-4
    """Learning rate of reinforcement learning; None: by the number of weights that are trained."""
    warmup_steps: int = 5
    """Steps of its linear warm-up."""
    demonstrations: int = 16_000
    """Episodes of the expert that the warm start imitates."""
    sft_steps: int = 1600
    """Most steps of the warm start, over which the learning rate falls."""
    sft_batch: int = 16
    """Demonstrations of such a step."""
    sft_learning_rate: float | None = 6e-3
    """Peak learning rate of the warm start; None: by the number of weights that are trained."""
    target_success: float = 0.45
    """Validation success at which the warm start ends. It lies above what a policy that acts
    unchecked reaches, since reinforcement learning does not leave that plateau."""
    sft_eval_every: int = 25
    """Steps between two validations of the warm start."""
    only_successes: bool = False
    """Whether the warm start leaves out demonstrations that failed."""
    valid_every: int = 20
    """Steps of reinforcement learning between two validations."""
    valid_tasks: int = 128
    """Validation tasks of each, and of the warm start's."""
    baselines: tuple[BaselineName, ...] = ("bc", "filtered-bc")
    """What the tiny policy is compared with: the demonstrations as shown, and with the failures
    left out, which needs no reinforcement learning."""
    eval_tasks: int = 500
    """Evaluation tasks where the test split has as many."""
    fit_horizon: bool = True
    """Whether a stage draws only tasks that its horizon suffices for by the expert's plan. No
    measure of a task are the plans of an expert that wastes turns."""
    turn_tokens: int = 18
    """Most tokens that the policy writes in a turn."""
    episode_tokens: int = 512
    """Most tokens of an episode after its opening."""
    exact_text: bool = False
    """Whether blanks and case of an action count, so that the tiny policy has to keep them."""
    task_args: tuple[str, ...] = ()
    """Arguments that decide what the tasks are. Where one has another value, ``other_tasks`` holds
    instead of these defaults."""
    other_tasks: FamilyDefaults | None = None
    """Defaults for all tasks that such arguments ask for; None: the same."""
    quick: FamilyDefaults | None = None
    """Small sizes for a first look (``--quick``); None: there are none."""

    @property
    def experts(self) -> dict[str, str]:
        """The argument that says who is imitated, where it is not the environment's own."""
        return {"expert": self.expert} if self.expert else {}


SHOP = FamilyDefaults(
    # A demonstrator that mostly searches with a word too few. In a shop of this size half of the
    # products that it then takes are right by luck, so among its successes such searches are still
    # the majority: who imitates them alone solves about half of the tasks.
    only_successes=True,
    # Small batches: what is learned, reading, comes with the number of steps. One look at the end.
    sft_batch=8,
    sft_steps=1000,
    sft_eval_every=1000,
    target_success=0.25,
    # Short stages teach to buy unchecked, and where plans are as alike as here no ladder helps
    # (benchmarks/README.md, the map).
    horizon_every=6,
    steps=24,
    groups=12,
    rl_learning_rate=1.2e-3,
    valid_every=8,
    valid_tasks=64,
    eval_tasks=300,
    task_args=(
        "difficulty",
        "data",
        "observation_mode",
        "grammar",
        "results_per_page",
    ),
    # Longer requests, longer pages, and the expert that knows the product.
    other_tasks=FamilyDefaults(
        env={"observation_mode": "compact"}, horizon=(5, 10, 15), horizon_every=40, steps=150
    ),
)
"""WebShop's default tasks."""
FAMILY_DEFAULTS: Mapping[str, FamilyDefaults] = {
    "alfworld": FamilyDefaults(
        # A searcher that mostly takes what it has found for clean, and puts it straight to its
        # place. Nearly half of the things are clean already, which nothing tells but a close look:
        # of its successes most are luck. Only the habit is wrong, in one place of an episode.
        only_successes=True,
        demonstrations=2400,
        sft_batch=8,
        sft_steps=600,
        sft_eval_every=600,
        target_success=0.25,
        # How long its plan is says nothing of a household.
        fit_horizon=False,
        horizon_every=8,
        steps=16,
        groups=12,
        valid_every=8,
        valid_tasks=96,
        eval_tasks=150,
        episode_tokens=500,
        task_args=(
            "difficulty",
            "task_types",
            "receptacles",
            "distractors",
            "hidden",
            "ready",
            "data",
            "show_admissible",
        ),
        other_tasks=FamilyDefaults(
            expert="searching", horizon=(10, 20, 30), horizon_every=40, steps=150
        ),
    ),
    "babyai": FamilyDefaults(
        # Long episodes of many words: small sizes.
        demonstrations=800,
        sft_batch=8,
        sft_steps=300,
        sft_eval_every=300,
        target_success=0.1,
        horizon_every=10,
        steps=10,
        groups=8,
        rl_learning_rate=1.2e-3,
        valid_every=5,
        valid_tasks=64,
        eval_tasks=100,
        episode_tokens=1200,
        task_args=("difficulty", "levels"),
        other_tasks=FamilyDefaults(
            horizon=(12, 24, 48), horizon_every=40, steps=150, episode_tokens=4000
        ),
    ),
    "database": FamilyDefaults(
        # A demonstrator that mostly does not read the schema, and guesses what columns are called:
        # of its successes more are luck than not, which nothing betrays.
        only_successes=True,
        demonstrations=1500,
        sft_batch=8,
        sft_steps=500,
        sft_eval_every=500,
        target_success=0.2,
        # How long its plan is says nothing of a task.
        fit_horizon=False,
        horizon_every=7,
        steps=28,
        groups=12,
        rl_learning_rate=2e-3,
        valid_every=7,
        valid_tasks=64,
        eval_tasks=200,
        episode_tokens=300,
        task_args=("difficulty", "data", "max_rows", "max_observation_chars", "grammar"),
        other_tasks=FamilyDefaults(
            horizon=(4, 6, 10), horizon_every=40, steps=150, episode_tokens=1600
        ),
    ),
    "mathpython": FamilyDefaults(
        # An expert that mostly leaves a small number out, which half of the time comes to the same:
        # nobody can tell when without calculating. The calculator starts no process.
        only_successes=True,
        demonstrations=8000,
        sft_steps=400,
        sft_eval_every=400,
        target_success=0.25,
        # Every plan is as long as the others.
        fit_horizon=False,
        horizon_every=12,
        steps=36,
        rl_learning_rate=2e-3,
        valid_every=12,
        valid_tasks=64,
        eval_tasks=200,
        episode_tokens=128,
        task_args=("data", "difficulty", "grammar"),
        other_tasks=FamilyDefaults(
            horizon=(3, 5), horizon_every=40, steps=150, episode_tokens=4000, exact_text=True
        ),
    ),
    "search": FamilyDefaults(
        # Plain prose, one passage a page: what a model without any language can read. A reader
        # that mostly answers after one search where two are needed: of its successes two in three
        # are luck, which nothing betrays. Of 4,000 passages one training in five learned no more
        # than the names that it had seen.
        only_successes=True,
        demonstrations=3200,
        sft_steps=600,
        sft_eval_every=600,
        target_success=0.25,
        # How long its plan is says nothing of a question.
        fit_horizon=False,
        horizon_every=7,
        steps=21,
        groups=12,
        rl_learning_rate=1.5e-3,
        valid_every=7,
        valid_tasks=64,
        eval_tasks=150,
        episode_tokens=300,
        task_args=("corpus", "questions", "retriever_url", "difficulty", "topk", "grammar"),
        other_tasks=FamilyDefaults(
            horizon=(3, 4, 6), horizon_every=40, steps=150, episode_tokens=1600
        ),
    ),
    "shell": FamilyDefaults(
        # A demonstrator that mostly does not look where a file lies, and guesses one of two
        # folders. Every turn asks a sandbox, so there are few tasks of each kind.
        only_successes=True,
        demonstrations=300,
        sft_batch=8,
        sft_steps=400,
        sft_eval_every=400,
        target_success=0.2,
        fit_horizon=False,
        horizon_every=6,
        steps=12,
        groups=8,
        rl_learning_rate=2e-3,
        valid_every=6,
        valid_tasks=32,
        eval_tasks=100,
        episode_tokens=500,
        exact_text=True,
        task_args=("difficulty", "data", "max_observation_chars", "grammar"),
        other_tasks=FamilyDefaults(
            horizon=(4, 6, 10),
            horizon_every=40,
            steps=150,
            episode_tokens=4000,
            exact_text=True,
        ),
    ),
    "swe": FamilyDefaults(
        # A demonstrator that looks before it edits. Nobody expects a tiny model to learn how to
        # repair programs: with it a run shows that the path works from end to end.
        horizon=(8, 12, 20),
        horizon_every=10,
        steps=20,
        target_success=0.05,
        episode_tokens=4000,
        exact_text=True,
        task_args=(
            "data",
            "hidden_tests",
            "difficulty",
            "expert",
            "max_observation_chars",
            "grammar",
        ),
        other_tasks=FamilyDefaults(
            expert="developer",
            horizon=(10, 20, 50),
            horizon_every=40,
            steps=150,
            episode_tokens=16_000,
            exact_text=True,
        ),
    ),
    "textcraft": FamilyDefaults(
        # A demonstrator that mostly takes one of five recipes for that of the goal: of its
        # successes more are luck than not, which a policy that finds nothing in a list cannot see.
        only_successes=True,
        demonstrations=4000,
        sft_batch=8,
        sft_steps=1000,
        sft_eval_every=1000,
        target_success=0.01,
        # Every plan is as long as the others.
        fit_horizon=False,
        horizon_every=7,
        steps=14,
        groups=12,
        rl_learning_rate=2e-3,
        valid_every=7,
        valid_tasks=64,
        eval_tasks=200,
        episode_tokens=300,
        task_args=("difficulty", "depth", "distractors", "data", "look_up"),
        other_tasks=FamilyDefaults(
            horizon=(10, 20, 30), horizon_every=40, steps=150, episode_tokens=1600
        ),
    ),
    "textworld": FamilyDefaults(
        # A cook that mostly does not read the recipe, and takes the stove or the oven at random: of
        # its successes three in four are luck, which nothing betrays, as the luck is drawn anew.
        only_successes=True,
        demonstrations=1000,
        sft_batch=8,
        sft_steps=320,
        sft_eval_every=320,
        target_success=0.25,
        # How long its plan is says nothing of a task.
        fit_horizon=False,
        horizon_every=7,
        steps=14,
        groups=12,
        rl_learning_rate=2e-3,
        valid_every=7,
        valid_tasks=64,
        eval_tasks=150,
        episode_tokens=300,
        task_args=("difficulty", "challenge", "data", "brief", "description", "inventory"),
        other_tasks=FamilyDefaults(
            horizon=(8, 16, 24), horizon_every=40, steps=150, episode_tokens=1600
        ),
    ),
    "webshop": replace(
        SHOP,
        # What most runs have, which is little more than the warm start of the default.
        quick=replace(SHOP, steps=12, valid_every=12, baselines=(), eval_tasks=120),
    ),
}


def general_defaults(pretrained: bool) -> FamilyDefaults:
    """Return the defaults of a family without an entry."""
    return replace(FamilyDefaults(), **OPEN_RATES, **GENERAL) if pretrained else FamilyDefaults()


def source_of(
    name: str, sizes: FamilyDefaults, usual: FamilyDefaults, pretrained: bool = False
) -> str:
    """Return who decides on a default: one of `QUICK`, `FAMILY`, `DEFAULT`.

    Args:
        name: Its field.
        sizes: The defaults of a run.
        usual: The same without ``--quick``.
        pretrained: Whether they are those of a pretrained model.
    """
    if getattr(sizes, name) != getattr(usual, name):
        return QUICK
    general = STAGES if name == "horizon" else getattr(general_defaults(pretrained), name)
    return DEFAULT if getattr(sizes, name) == general else FAMILY


def defaults_for(
    family: str,
    overrides: Mapping[str, Any],
    quick: bool = False,
    task_set: str = "",
    pretrained: bool = False,
) -> FamilyDefaults:
    """Return the defaults of a family, or general ones for a family without an entry.

    Args:
        family: Short name.
        overrides: Arguments of the environment that a user gave.
        quick: Whether they are to be those for a first look.
        task_set: The task set that was named; empty: the family alone. Then arguments that decide
            what the tasks are take the place of the training set.
        pretrained: Whether the policy is a pretrained model.

    Returns:
        The defaults, with all arguments of the environment but those that a user gave in ``env``.

    Raises:
        ConfigurationError: There are none for a first look at such tasks.
    """
    defaults, entry = FAMILY_DEFAULTS.get(family, FamilyDefaults()), find_family(family)
    defaults = replace(
        defaults, expert=entry.training_set.demonstrator if entry else defaults.expert
    )
    training = dict(entry.training_set.kwargs) if entry else {}
    tasks = dict(entry.task_set(task_set).kwargs) if entry and task_set else training
    usual, actual = (
        {**defaults.experts, **kwargs} for kwargs in (training, {**tasks, **overrides})
    )
    # A pretrained model writes in any grammar: to it the tasks stay the same.
    deciding = [name for name in defaults.task_args if not (pretrained and name == "grammar")]
    other = any(usual.get(name) != actual.get(name) for name in deciding)
    variant = defaults.other_tasks if other and defaults.other_tasks else defaults
    env = variant.env if variant is not defaults and not task_set else tasks
    turns = (tasks["horizon"],) if "horizon" in tasks and env is tasks else STAGES
    if pretrained:
        short = actual.get("grammar", NATIVE) == NATIVE
        sizes = _for_pretrained(family, variant, variant is defaults, quick, short)
    else:
        sizes = variant.quick if quick else variant
    if sizes is None:
        raise _no_quick_sizes(family, pretrained)
    arguments = {name: value for name, value in env.items() if name != "horizon"}
    return replace(sizes, env={**arguments, **variant.experts}, horizon=sizes.horizon or turns)


def _for_pretrained(
    family: str, tasks: FamilyDefaults, training_set: bool, quick: bool, short: bool
) -> FamilyDefaults | None:
    """Return a family's defaults with the sizes of a pretrained model; None: none for a look."""
    sizes = sizes_for(family, training_set=training_set, quick=quick, short=short)
    values: dict[str, Any] = {**OPEN_RATES, **(sizes or {})}
    return None if sizes is None else replace(tasks, **values)


def _no_quick_sizes(family: str, pretrained: bool) -> ConfigurationError:
    """Say where there are sizes for a first look."""
    tiny = [name for name, entry in FAMILY_DEFAULTS.items() if entry.quick]
    names, model = (QUICK_SETS, "a pretrained model") if pretrained else (tiny, "--model tiny")
    return ConfigurationError(
        f"expected --quick with {model} only with the default tasks of {', '.join(names)}, which "
        f"have small sizes, got it with other tasks or with {family}; leave it out, or set sizes "
        "such as --steps"
    )
