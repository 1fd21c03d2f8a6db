"""Validation of arguments, of options of ``reset``, and of objects named as ``MODULE:NAME``.

Single values, each in a line of Python: every ``gym.make`` and ``reset`` needs these, and importing
pydantic would add .05 s of CPU time to the first. Structured data are read with
`agentgym.support.typed_json`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

import numpy as np

from agentgym.errors import ConfigurationError
from agentgym.support.guesses import with_guesses

Preset = TypeVar("Preset")
LARGEST = 2**31 - 1
"""Maximum horizon and training step: fits into integer arrays on every platform."""
_INTEGERS = (int, np.integer)


def integer(value: Any, name: str, low: int | None = None, high: int | None = LARGEST) -> int:
    """Validate an integer; truth values and floats are rejected.

    Args:
        value: The number.
        name: Name of the value in the message.
        low: Minimum; None: no bounds.
        high: Maximum; None: no upper bound.

    Returns:
        The number as an ``int``.

    Raises:
        ConfigurationError: The value is not an integer or out of range.
    """
    fits = isinstance(value, _INTEGERS) and not isinstance(value, bool)
    too_high = high is not None and fits and value > high
    if not fits or (low is not None and (value < low or too_high)):
        span = f" from {low} to {high:,}" if high is not None else f" of at least {low}"
        bounds = "" if low is None else span
        raise ConfigurationError(f"expected {name} to be an integer{bounds}, got {value!r:.80}")
    return int(value)


def flag(value: object, name: str) -> bool:
    """Validate a truth value, because text such as ``"false"`` would count as true.

    Raises:
        ConfigurationError: The value is not a truth value.
    """
    if not isinstance(value, bool | np.bool_):
        raise ConfigurationError(f"expected {name} to be True or False, got {value!r:.80}")
    return bool(value)


def choice(value: object, name: str, choices: Collection[str]) -> str:
    """Validate one of several words.

    Raises:
        ConfigurationError: The value is none of the choices; the message lists them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ConfigurationError(
            f"expected {name} to be one of {', '.join(choices)}; got {value!r:.80}"
        )
    return value


def preset(value: object, name: str, presets: Mapping[str, Preset]) -> Preset:
    """Return the preset with a name; a configuration object of the same type is returned unchanged.

    Raises:
        ConfigurationError: There is no such preset; the message lists the existing ones.
    """
    kind = type(next(iter(presets.values())))
    if isinstance(value, kind):
        return value
    if not isinstance(value, str) or value not in presets:
        raise ConfigurationError(
            f"expected {name} among {', '.join(presets)}, got {value!r:.80}; pass one of them, or "
            f"a {kind.__name__} of your own"
        )
    return presets[value]


def text(value: object, name: str) -> str:
    """Validate a text.

    Raises:
        ConfigurationError: The value is not a ``str``.
    """
    if not isinstance(value, str):
        raise ConfigurationError(f"expected {name} to be a str, got {value!r:.80}")
    return value


def look_here() -> None:
    """Add the working directory to the module search path."""
    folder = os.getcwd()
    if folder not in sys.path:  # behind the rest: nothing that is installed is hidden
        sys.path.append(folder)


def import_named(module: str, form: str) -> ModuleType:
    """Import a module by a user's name for it, also from the working directory.

    Args:
        module: Name of the module.
        form: Expected format, such as ``MODULE:ID``, for the message.

    Raises:
        ConfigurationError: The module cannot be imported, for any reason.
    """
    look_here()
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        hint = ""
        if isinstance(error, ModuleNotFoundError) and module.startswith(error.name or ":"):
            hint = "; run the command where the module lies, or install it"
        raise ConfigurationError(
            f"expected {form} with a module that can be imported, got {module!r}: "
            f"{type(error).__name__}: {error}{hint}"
        ) from error


def find_own(name: str, form: str) -> tuple[ModuleType, Any]:
    """Import a user's object by ``MODULE:NAME``; the name may contain dots.

    Args:
        name: The user's text.
        form: Expected format, such as ``--preset MODULE:NAME``, for the message.

    Returns:
        The module, and the object with this name.

    Raises:
        ConfigurationError: The module cannot be imported, or has no such name.
    """
    place, colon, attribute = name.partition(":")
    if not (place and colon and attribute):
        raise ConfigurationError(f"expected {form}, got {name!r:.80}")
    target: Any = (module := import_named(place, form))
    for part in attribute.split("."):
        if not hasattr(target, part):
            names = [member for member in vars(module) if not member.startswith("_")]
            raise ConfigurationError(
                f"expected {form}, but {place} has no {with_guesses([attribute], names)}"
            )
        target = getattr(target, part)
    return module, target


def import_own(name: str, form: str, kind: str, fits: Callable[[object], bool]) -> Any:
    """Import a user's object by ``MODULE:NAME`` and check its kind.

    Args:
        name: The user's text.
        form: Expected format, such as ``--preset MODULE:NAME``, for the message.
        kind: Description of the expected object.
        fits: Returns whether an object is of this kind.

    Raises:
        ConfigurationError: The module cannot be imported, lacks the name, or holds another kind of
            object.
    """
    target = find_own(name, form)[1]
    if not fits(target):
        raise ConfigurationError(f"expected {form} with {kind}, got {name!r}: {target!r:.120}")
    return target


def prices(value: Any, name: str) -> dict[str, float]:
    """Validate prices by the names of reward hooks.

    Raises:
        ConfigurationError: The value is not a dict of texts and finite numbers of at least 0.
    """
    if not isinstance(value, Mapping) or not all(
        isinstance(key, str) and isinstance(price, int | float) and 0 <= price <= sys.float_info.max
        for key, price in value.items()
    ):
        raise ConfigurationError(
            f"expected {name} to be a dict of names of reward hooks and finite prices of at least "
            f"0, got {value!r:.80}"
        )
    return {key: float(price) for key, price in value.items()}


RESET_OPTIONS: Mapping[str, Callable[[Any, str], Any]] = {
    "split": text,
    "index": integer,
    "task_id": text,
    "horizon": partial(integer, low=1),
    "training_step": partial(integer, low=0),
    "reward_hooks": flag,
    "prices": prices,
}
"""The options of ``reset`` that every environment has, each with its validator."""


def check_reset(
    options: Mapping[str, Any] | None,
    further: Mapping[str, Callable[[Any, str], Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Validate the options of ``reset``, and drop those that are None.

    Args:
        options: Options of the caller.
        further: Additional options of a family, each with its validator.

    Raises:
        ConfigurationError: An option is unknown, of the wrong type or out of range.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ConfigurationError(f"expected reset options as a dict, got {options!r:.80}")
    allowed = {**RESET_OPTIONS, **further} if further else RESET_OPTIONS
    unknown = [name for name in options if name not in allowed]
    if unknown:
        raise ConfigurationError(
            f"expected reset options among {', '.join(allowed)}; "
            f"got {with_guesses(unknown, list(allowed))}"
        )
    return {
        name: allowed[name](value, f"the reset option {name!r}")
        for name, value in options.items()
        if value is not None
    }


def check_seed(seed: object) -> int | None:
    """Validate the seed of a reset, an evaluation or a panel.

    Raises:
        ConfigurationError: The seed is neither None nor an integer of at least 0.
    """
    if seed is None:
        return None
    number = integer(seed, "the seed")
    if number < 0:
        raise ConfigurationError(f"expected the seed to be at least 0, got {number}")
    return number


def check_render_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    """Return ``mode``.

    Raises:
        ConfigurationError: The mode is neither None nor one of ``modes``.
    """
    if mode is not None and mode not in modes:
        raise ConfigurationError(
            f"expected render_mode to be None or one of {', '.join(modes)}; got {mode!r}. To play "
            "an environment at the terminal, use `agentgym play`"
        )
    return mode


TURN_BUDGETS = ("max_turns", "max_steps", "turns", "n_turns")
"""Names of the argument `horizon` in other projects."""


def check_arguments(cls: type, unknown: Mapping[str, Any]) -> None:
    """Reject keyword arguments that no constructor of an environment's classes accepts.

    Raises:
        ConfigurationError: There are unknown arguments; the message lists valid and similar names.
    """
    if unknown:
        names = sorted(arguments(cls))
        turns = [name for name in unknown if name in TURN_BUDGETS]
        raise ConfigurationError(
            f"expected arguments of {cls.__name__} among {', '.join(names)}; "
            f"got {with_guesses(unknown, names)}"
            + (f"; the turn budget is 'horizon' here, not {turns[0]!r}" if turns else "")
        )


@cache
def arguments(cls: type) -> Mapping[str, Any]:
    """Collect the keyword arguments of a constructor and of the bases it passes ``**kwargs`` to.

    Each name maps to its default, or to ``inspect.Parameter.empty`` if there is none.
    """
    defaults: dict[str, Any] = {}
    for parameters in _constructors(cls):
        for parameter in parameters:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                defaults.setdefault(parameter.name, parameter.default)
        if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
            break  # What stands behind gets nothing from the caller.
    return defaults


def _constructors(cls: type) -> Iterator[list[inspect.Parameter]]:
    """Yield the parameters of each constructor, from the class to its bases."""
    for depth, owner in enumerate(base for base in cls.__mro__ if "__init__" in vars(base)):
        if owner is object:
            return
        parameters = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
        # What a base requires by position is what its subclass supplies, not the caller.
        yield [
            parameter
            for parameter in parameters
            if not depth
            or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD
            or parameter.default is not parameter.empty
        ]
