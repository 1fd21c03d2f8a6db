"""Training defaults per environment family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agentgym.errors import ConfigurationError
from agentgym.registration import find_family
from agentgym.support.structured_files import read_structured
from trainers.config.field_types import strict
from trainers.config.layers import DEFAULT, FAMILY, QUICK
from trainers.config.sections import BaselineName

NATIVE = "native"
"""The grammar whose turns hold only an action; thoughts and tool calls need more tokens."""
OPEN_RATES: dict[str, Any] = {"rl_learning_rate": None, "sft_learning_rate": None}
"""Learning rates of a pretrained model, which depend on the number of trained weights."""
STAGES = (5, 8, 10)
"""Turns per stage if neither the family nor the task set has its own."""


@strict
@dataclass(frozen=True)
class FamilyDefaults:
    """Settings with which a policy learns the tasks of a training set.

    The defaults of the fields are those of the tiny policy on a CPU; ``family_recipes.yaml`` has
    those of each family, and of pretrained models. The task sets are those of
    `agentgym.registration.EnvFamily`.
    """

    expert: str = ""
    """The environment's argument ``expert``, which selects the demonstrator; empty: the
    environment's default. For a training set it is the ``demonstrator`` of the set."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of the environment if no task set selects the tasks."""
    prompt: str = "bare"
    """The prompt, as for ``--prompt``."""
    horizon: tuple[int, ...] = ()
    """Maximum turns of each stage; the last is the full horizon. Empty: those of the task set, else
    `STAGES`."""
    horizon_every: int = 40
    """Steps per stage."""
    steps: int = 150
    """Reinforcement learning steps."""
    groups: int = 16
    """Tasks per step."""
    rl_learning_rate: float | None = 6e-4
    """Learning rate of reinforcement learning; None: by the number of trained weights."""
    warmup_steps: int = 5
    """Steps of its linear warm-up."""
    demonstrations: int = 16_000
    """Episodes of the expert that the warm start imitates."""
    sft_steps: int = 1600
    """Maximum steps of the warm start, over which the learning rate decays."""
    sft_batch: int = 16
    """Demonstrations per step of the warm start."""
    sft_learning_rate: float | None = 6e-3
    """Peak learning rate of the warm start; None: by the number of trained weights."""
    target_success: float = 0.45
    """Validation success at which the warm start ends. It lies above the plateau of policies that
    never check their actions, which reinforcement learning does not leave."""
    sft_eval_every: int = 25
    """Steps between two validations of the warm start."""
    only_successes: bool = False
    """Whether the warm start leaves out demonstrations that failed."""
    valid_every: int = 20
    """Steps of reinforcement learning between two validations."""
    valid_tasks: int = 128
    """Tasks of each validation, in the warm start too."""
    baselines: tuple[BaselineName, ...] = ("bc", "filtered-bc")
    """Baselines of the tiny policy: behavior cloning of all demonstrations, and of the successful
    ones."""
    eval_tasks: int = 500
    """Maximum number of evaluation tasks."""
    fit_horizon: bool = True
    """Whether a stage draws only tasks that the expert solves within its horizon. Off where the
    expert wastes turns, because its plans then do not measure a task."""
    turn_tokens: int = 18
    """Maximum tokens of the policy per turn."""
    episode_tokens: int = 512
    """Maximum tokens of an episode after its opening."""
    exact_text: bool = False
    """Whether whitespace and case of an action matter, so that the tiny policy has to keep them."""
    task_args: tuple[str, ...] = ()
    """Arguments that select the tasks. If one has another value, ``other_tasks`` replaces these
    defaults."""
    other_tasks: FamilyDefaults | None = None
    """Defaults for the tasks that such arguments select; None: the same."""
    quick: FamilyDefaults | None = None
    """Small sizes for a first look (``--quick``); None: there are none."""

    @property
    def experts(self) -> dict[str, str]:
        """The argument that selects the demonstrator, unless it is the environment's default."""
        return {"expert": self.expert} if self.expert else {}


_RECIPES = read_structured(Path(__file__).with_name("family_recipes.yaml"), "training defaults")
_FIELDS = TypeAdapter(FamilyDefaults)


def _sizes(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of `FamilyDefaults` from a file, with the types that they have there."""
    defaults = _FIELDS.validate_python(recipe)
    return {name: getattr(defaults, name) for name in recipe}


def _family(recipe: Mapping[str, Any]) -> FamilyDefaults:
    """Return the defaults of a family, with its quick sizes."""
    changes = ("quick", "pretrained", "pretrained_quick")
    fields = {name: value for name, value in recipe.items() if name not in changes}
    defaults, small = FamilyDefaults(**_sizes(fields)), recipe.get("quick")
    return replace(defaults, quick=replace(defaults, **_sizes(small))) if small else defaults


FAMILY_DEFAULTS = {name: _family(recipe) for name, recipe in _RECIPES["families"].items()}
"""The defaults of every family that has a recipe."""
ANY_TASKS = _sizes(_RECIPES["pretrained"]["any_tasks"])
"""Sizes for a pretrained model on any tasks of any family."""
GENERAL = ANY_TASKS | _sizes(_RECIPES["pretrained"]["training_set"])
"""Sizes for the training set of any family, and for all tasks of a family without a recipe."""
QUICK_SIZES = _sizes(_RECIPES["pretrained"]["quick"])
"""Sizes that all families share under ``--quick``."""
TRAINING_SETS = {
    name: _sizes(recipe.get("pretrained", {})) for name, recipe in _RECIPES["families"].items()
}
"""Sizes that differ in the training set of a family."""
QUICK_SETS = {
    name: {**QUICK_SIZES, "sft_eval_every": (QUICK_SIZES | sizes)["sft_steps"], **sizes}
    for name, recipe in _RECIPES["families"].items()
    if (sizes := _sizes(recipe.get("pretrained_quick", {})))
}
"""Sizes of the training set of a family under ``--quick``."""
ENOUGH = 0.1
"""Share of validation tasks that a base model has to solve to begin reinforcement learning without
a warm start. At this success rate, six of ten groups of eight episodes contain a success; at a
fifth of it, one of seven."""


def general_defaults(pretrained: bool) -> FamilyDefaults:
    """Return the defaults of a family without an entry."""
    return replace(FamilyDefaults(), **OPEN_RATES, **GENERAL) if pretrained else FamilyDefaults()


def source_of(
    name: str, sizes: FamilyDefaults, usual: FamilyDefaults, pretrained: bool = False
) -> str:
    """Return the source of a default: `QUICK`, `FAMILY` or `DEFAULT`.

    Args:
        name: Name of its field.
        sizes: The defaults of a run.
        usual: The same without ``--quick``.
        pretrained: Whether they are for a pretrained model.
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
        quick: Whether to use the sizes of ``--quick``.
        task_set: The named task set; empty: none. Then arguments that select tasks replace the
            training set.
        pretrained: Whether the policy is a pretrained model.

    Returns:
        The defaults; ``env`` has the environment's arguments that the user did not give.

    Raises:
        ConfigurationError: There are no quick sizes for these tasks.
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
    # For a pretrained model, which can write in any grammar, the tasks stay the same.
    deciding = [name for name in defaults.task_args if not (pretrained and name == "grammar")]
    is_unusual = any(usual.get(name) != actual.get(name) for name in deciding)
    variant = defaults.other_tasks if is_unusual and defaults.other_tasks else defaults
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
    """Return a family's defaults with sizes for a pretrained model; None: no quick sizes.

    Args:
        family: Short name.
        tasks: Its defaults.
        training_set: Whether the tasks are the family's training set.
        quick: Whether to use the sizes of ``--quick``.
        short: Whether a turn holds only an action, without thoughts or a tool call.
    """
    if quick and not (training_set and family in QUICK_SETS):
        return None
    sizes = ANY_TASKS
    if training_set:
        sizes = GENERAL | TRAINING_SETS.get(family, {})
    if quick:
        sizes = sizes | QUICK_SETS[family]
    if not short:
        sizes = sizes | {name: ANY_TASKS[name] for name in ("turn_tokens", "episode_tokens")}
    return replace(tasks, **OPEN_RATES | sizes)


def _no_quick_sizes(family: str, pretrained: bool) -> ConfigurationError:
    """Return an error that lists what has quick sizes."""
    tiny = [name for name, entry in FAMILY_DEFAULTS.items() if entry.quick]
    names, model = (QUICK_SETS, "a pretrained model") if pretrained else (tiny, "--model tiny")
    return ConfigurationError(
        f"expected --quick with {model} only with the default tasks of {', '.join(names)}, which "
        f"have small sizes, got it with other tasks or with {family}; leave it out, or set sizes "
        "such as --steps"
    )
