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
"""The grammar in which a turn is an action alone; a thought or the form of a call takes more."""
OPEN_RATES: dict[str, Any] = {"rl_learning_rate": None, "sft_learning_rate": None}
"""Rates of a pretrained model, which depend on how many weights are trained."""
STAGES = (5, 8, 10)
"""Turns stage by stage where neither a family nor a task set says anything."""


@strict
@dataclass(frozen=True)
class FamilyDefaults:
    """Settings with which a policy learns the tasks of a training set.

    The defaults of the fields are those of the tiny policy on a CPU; ``family_recipes.yaml`` has
    those of each family, and of pretrained models. The task sets are those of
    `agentgym.registration.EnvFamily`.
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


_RECIPES = read_structured(Path(__file__).with_name("family_recipes.yaml"), "training defaults")
_FIELDS = TypeAdapter(FamilyDefaults)


def _sizes(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of `FamilyDefaults` from a file, with the types that they have there."""
    defaults = _FIELDS.validate_python(recipe)
    return {name: getattr(defaults, name) for name in recipe}


def _family(recipe: Mapping[str, Any]) -> FamilyDefaults:
    """Return the defaults of a family, of which quick ones are a change."""
    changes = ("quick", "pretrained", "pretrained_quick")
    fields = {name: value for name, value in recipe.items() if name not in changes}
    defaults, small = FamilyDefaults(**_sizes(fields)), recipe.get("quick")
    return replace(defaults, quick=replace(defaults, **_sizes(small))) if small else defaults


FAMILY_DEFAULTS = {name: _family(recipe) for name, recipe in _RECIPES["families"].items()}
"""The defaults of every family that has a recipe."""
ANY_TASKS = _sizes(_RECIPES["pretrained"]["any_tasks"])
"""Sizes of a pretrained model: of any tasks of any family."""
GENERAL = ANY_TASKS | _sizes(_RECIPES["pretrained"]["training_set"])
"""Those of the training set of any family, and of the tasks of one without a recipe."""
QUICK_SIZES = _sizes(_RECIPES["pretrained"]["quick"])
"""What is alike in all families under ``--quick``."""
TRAINING_SETS = {
    name: _sizes(recipe.get("pretrained", {})) for name, recipe in _RECIPES["families"].items()
}
"""What a family's training set changes of these sizes."""
QUICK_SETS = {
    name: {**QUICK_SIZES, "sft_eval_every": (QUICK_SIZES | sizes)["sft_steps"], **sizes}
    for name, recipe in _RECIPES["families"].items()
    if (sizes := _sizes(recipe.get("pretrained_quick", {})))
}
"""Sizes of the training set of a family under ``--quick``."""
ENOUGH = 0.1
"""Share of validation tasks that a base model has to solve to begin reinforcement learning without
a warm start. At this success six in ten groups of eight episodes have one that succeeds; at a
fifth of it, one in seven."""


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
    """Return a family's defaults with the sizes of a pretrained model; None: none for a look.

    Args:
        family: Short name.
        tasks: Its defaults.
        training_set: Whether the tasks are those of the family's training set.
        quick: Whether they are to be those for a first look.
        short: Whether an action stands alone in a turn, without thoughts or the form of a call.
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
    """Say where there are sizes for a first look."""
    tiny = [name for name, entry in FAMILY_DEFAULTS.items() if entry.quick]
    names, model = (QUICK_SETS, "a pretrained model") if pretrained else (tiny, "--model tiny")
    return ConfigurationError(
        f"expected --quick with {model} only with the default tasks of {', '.join(names)}, which "
        f"have small sizes, got it with other tasks or with {family}; leave it out, or set sizes "
        "such as --steps"
    )
