"""The table of reward hooks: by name on a command line, by class in a record."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import reduce
from typing import Any

from agentgym.core import options
from agentgym.core.hooks import TurnReward
from agentgym.core.reward_functions import (
    FORMS,
    RewardFunction,
    is_reward_function,
    name_of,
    read_hooks,
)
from agentgym.errors import ConfigurationError, DataError
from agentgym.rewards.costs import Calls, Characters, Forbidden, Needless
from agentgym.rewards.judge.terms import Judge, JudgeMask
from agentgym.rewards.machine import RewardMachine
from agentgym.rewards.search_terms import (
    Format,
    GoldEvidence,
    NoSearchPenalty,
    RetrievalHit,
    SearchCost,
)
from agentgym.rewards.terms import (
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    StagedAlpha,
    SuccessBonus,
    SuppliedHook,
    ToolBonus,
    TurnCost,
    family_potential,
    potential_gain,
)

HOOKS: Mapping[str, type[SuppliedHook]] = {
    "potential": Potential,
    "invalid_action": InvalidAction,
    "turn_cost": TurnCost,
    "repeat": Repeat,
    "success_bonus": SuccessBonus,
    "tool_bonus": ToolBonus,
    "progressive": Progressive,
    "format": Format,
    "retrieval_hit": RetrievalHit,
    "gold_evidence": GoldEvidence,
    "search_cost": SearchCost,
    "no_search_penalty": NoSearchPenalty,
    "calls": Calls,
    "forbidden": Forbidden,
    "needless": Needless,
    "characters": Characters,
    "machine": RewardMachine,
    "judge": Judge,
    "judge_mask": JudgeMask,
}
"""The supplied hooks by their names on a command line, which are also the names of their terms."""
_CLASSES: dict[str, Any] = {cls.__name__: cls for cls in HOOKS.values()}
_NESTED: dict[str, dict[str, Any]] = {
    "phi": {"family_potential": family_potential},
    "alpha": {"LinearAlpha": LinearAlpha, "StagedAlpha": StagedAlpha},
    "step": {"potential_gain": potential_gain, **_CLASSES},
}
"""Permitted functions of a field that holds a function, by field name."""
_SCHEDULES: dict[str, tuple[Any, ...]] = {"alpha": (LinearAlpha, StagedAlpha)}
"""Schedules of fields that may change with the training step; their field names are distinct."""
_DEPTH = 8
_HELP = (
    f"write one of {', '.join(HOOKS)}, with its size (turn_cost=0.01) or its fields by name "
    "(potential:gamma=0.95,weight=0.5), or MODULE:NAME of your own in its place"
)
_OWN = (
    "the class of a reward hook: a dataclass with name, weight, __call__(context) and reset(), and "
    f"a default for each of its fields; or a reward function with the signature {FORMS}"
)


def parse_hooks(texts: Sequence[str]) -> list[TurnReward]:
    """Make reward hooks from command-line text: ``["potential", "invalid_action=0.05"]``.

    A hook is written as its name; as ``name=size``, where the size is its main field: the penalty,
    cost or bonus, the weight of ``potential``, the alpha of ``progressive``; or as
    ``name:field=value,field=value`` with any fields that hold a number or a truth value, or that
    the class lists in ``texts``: ``judge:model=NAME,url=URL,rubric=FILE``. A field that may change
    with the training step can be replaced by the fields of a schedule:
    ``progressive:start=0,end=1,steps=100``, or ``progressive:first=0.3,every=50``. Instead of a
    name, ``MODULE:CLASS`` names your own dataclass; its size is the field named by its attribute
    ``size``, or else the weight. ``MODULE:FUNCTION`` names a reward function of TRL, verl or
    verifiers, with the fields of `RewardFunction`: ``my_rewards:accuracy:each=true,weight=0.5``.

    Args:
        texts: The hooks, in the order in which they run.

    Returns:
        New hooks.

    Raises:
        ConfigurationError: A name or field is unknown (the message lists the known ones), a value
            is missing or out of range, or a hook is named twice.
    """
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise ConfigurationError(f"expected a list of reward hooks, got {texts!r:.80}; {_HELP}")
    hooks = [_parse(text) for text in texts]
    names = [hook.name for hook in hooks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigurationError(f"expected each reward hook once, got {', '.join(twice)} twice")
    return hooks


def _parse(text: str) -> TurnReward:
    head, colon, tail = str(text).partition(":")
    name, equals, size = head.partition("=")
    cls: Any = HOOKS.get(name)
    values: dict[str, Any] = {}
    if cls is None and colon and not equals:
        head, colon, tail = tail.partition(":")
        attribute, equals, size = head.partition("=")
        name = f"{name}:{attribute}"
        cls = options.import_own(name, "the name of a reward hook or MODULE:NAME", _OWN, _is_own)
        if not _is_hook(cls):
            values["function"], cls = cls, RewardFunction
    if cls is None:
        raise ConfigurationError(f"expected the name of a reward hook, got {text!r:.80}; {_HELP}")
    sized = getattr(cls, "size", "weight")  # of one's own it may be a field like others
    pairs = [f"{sized if isinstance(sized, str) else 'weight'}={size}"] if equals else []
    pairs += tail.split(",") if colon else []
    # A name on the command line is that of the hook; another one is for lists made in Python.
    texts: Mapping[str, Callable[[str], str]] = getattr(cls, "texts", {})
    arguments = {e.name: e for e in _arguments(cls) if not _is_text(e) or e.name in texts}
    schedules = [
        (name, schedule)
        for name in _SCHEDULES
        if name in arguments
        for schedule in _SCHEDULES[name]
    ]
    for _, schedule in schedules:
        arguments |= {entry.name: entry for entry in _arguments(schedule)}
    for pair in pairs:
        field_name, _, literal = pair.partition("=")
        entry = arguments.get(field_name)
        parse_text = texts.get(field_name)
        value = parse_text(literal) if parse_text and literal else _number(literal, entry)
        if entry is None or value is None or field_name in values:
            raise ConfigurationError(
                f"expected the fields of {name} ({', '.join(arguments)}), each once and as "
                f"name=value, got {pair!r:.80} in {text!r:.120}; {_HELP}"
            )
        values[field_name] = value
    for field_name, schedule in schedules:
        parts = [entry.name for entry in _arguments(schedule) if entry.name in values]
        if parts and field_name in values:
            raise ConfigurationError(
                f"expected {field_name} or one schedule of it ({', '.join(parts)}), got both in "
                f"{text!r:.120}; leave one out"
            )
        if parts:
            values[field_name] = schedule(**{part: values.pop(part) for part in parts})
    hook: TurnReward = cls(**values)
    return hook


def _is_own(candidate: object) -> bool:
    """Return whether something is a user's hook or reward function."""
    return _is_hook(candidate) or is_reward_function(candidate)


def _is_hook(candidate: object) -> bool:
    """Return whether something is the class of a reward hook that a command line can write."""
    if not (isinstance(candidate, type) and is_dataclass(candidate)):
        return False
    has = {*dir(candidate), *(entry.name for entry in fields(candidate))}
    defaults = [entry.default for entry in _arguments(candidate)]
    return {"name", "weight", "__call__", "reset"} <= has and MISSING not in defaults


def _number(text: str, entry: Field[Any] | None) -> float | bool | None:
    """Read a number or truth value of a field's kind; None if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if entry is not None and _is_plain(value, entry) else None


def _is_text(entry: Field[Any]) -> bool:
    """Return whether a field holds what cannot be written on a command line."""
    return not isinstance(entry.default, bool | int | float)


def hooks_to_json(hooks: Any) -> tuple[dict[str, Any], ...] | None:
    """Describe reward hooks by class name and fields, so that `hooks_from_json` can rebuild them.

    Returns None unless all are supplied hooks with plain values, supplied functions and such hooks
    as fields, or hooks of a user's class or function, named ``MODULE:NAME``, with plain values.
    """
    if isinstance(hooks, str) or not isinstance(hooks, Sequence):
        return None
    entries = [_describe_hook(hook) for hook in read_hooks(hooks)]
    return None if None in entries else tuple(entry for entry in entries if entry is not None)


def hooks_from_json(entries: Sequence[Any]) -> list[TurnReward]:
    """Rebuild reward hooks from the data of `hooks_to_json`.

    Only names of a fixed table, and classes and functions of already imported modules, are
    accepted, so that a record cannot choose the code that runs.

    Raises:
        ConfigurationError: A hook rejects the value of a field, or its module is not imported.
        DataError: An entry is damaged or names an unknown class or function.
    """
    return [_build_hook(entry, f"reward_hooks[{i}]") for i, entry in enumerate(entries)]


def hook_words(entry: Any) -> str:
    """Write a hook of `hooks_to_json` as `parse_hooks` reads it: ``my_reward:Mine:weight=0.01``.

    Fields with their default are left out, but for one's own class, which is not imported. What is
    no such entry, in a damaged report, is written as it is.
    """
    stored = entry.get("fields") if isinstance(entry, Mapping) else None
    if not isinstance(stored, Mapping) or not isinstance(entry.get("class"), str):
        return str(entry)
    cls = _CLASSES.get(entry["class"])
    name = next((name for name, hook_class in HOOKS.items() if hook_class is cls), entry["class"])
    usual = {argument.name: argument.default for argument in _arguments(cls)} if cls else {}
    pairs: list[str] = []
    for field_name, value in stored.items():
        schedule = value.get("fields") if isinstance(value, Mapping) else None
        if field_name in _SCHEDULES and isinstance(schedule, Mapping):
            pairs += [f"{part}={_typed(number)}" for part, number in schedule.items()]
        elif field_name == "name" or isinstance(value, Mapping):
            continue  # not written on a command line
        elif field_name not in usual or value != usual[field_name]:
            pairs.append(f"{field_name}={_typed(value)}")
    return f"{name}:{','.join(pairs)}" if pairs else name


def _typed(value: object) -> str:
    """Write a value as it is typed on a command line."""
    return value if isinstance(value, str) else json.dumps(value)


def _describe_hook(hook: TurnReward) -> dict[str, Any] | None:
    """Describe a hook; a reward function under its own name."""
    if type(hook) is not RewardFunction:
        return _describe(hook, _CLASSES | _own_class(type(hook)), _DEPTH)
    function = hook.function
    name = f"{function.__module__}:{getattr(function, '__qualname__', '')}"
    if function.__module__ == "__main__" or _reached(name) is not function:
        return None
    values = {entry.name: getattr(hook, entry.name) for entry in _arguments(RewardFunction)}
    usual = {entry.name: entry.default for entry in _arguments(RewardFunction)}
    usual |= {"function": function, "name": name_of(function)}
    return {"class": name, "fields": {k: v for k, v in values.items() if v != usual[k]}}


def _build_hook(entry: Any, source_name: str) -> TurnReward:
    """Rebuild a hook from its description."""
    builder = _imported(entry)
    if is_reward_function(builder) and not _is_hook(builder):
        return RewardFunction(builder, **_stored_values(entry, RewardFunction, source_name, _DEPTH))
    own_class = {entry["class"]: builder} if _is_hook(builder) else {}
    hook: TurnReward = _build(entry, _CLASSES | own_class, source_name, _DEPTH)
    return hook


def _own_class(cls: type) -> dict[str, Any]:
    """Return the entry of a table for the class of a hook of one's own; none if it has no name."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    importable = cls.__module__ != "__main__" and _reached(name) is cls
    return {name: cls} if importable and _is_hook(cls) else {}


def _imported(entry: Any) -> Any:
    """Return the user's class or function that a record names; None if it names none.

    Raises:
        ConfigurationError: Its module is not imported.
    """
    name = entry.get("class") if isinstance(entry, Mapping) else None
    if not isinstance(name, str) or ":" not in name:
        return None
    module = name.partition(":")[0]
    if module not in sys.modules:
        raise ConfigurationError(
            f"expected the module {module!r} to be imported, because the record names the reward "
            f"hook {name!r:.80} of it, and no record decides what is run: import it "
            f"(agentgym replay --env {module}:ENV does), or make the environment and pass it as "
            "env="
        )
    return _reached(name)


def _reached(name: str) -> Any:
    """Return what ``MODULE:NAME`` stands for among modules that are imported; None if nothing."""
    module, _, attribute = name.partition(":")
    start = sys.modules.get(module)
    return reduce(lambda owner, part: getattr(owner, part, None), attribute.split("."), start)


def _describe(value: Any, table: Mapping[str, Any], depth: int) -> dict[str, Any] | None:
    """Describe a hook, schedule or function of the table; None if it is not there."""
    for name, supplied in table.items():
        if value is supplied and not isinstance(supplied, type):
            return {"function": name}
        if type(value) is supplied and depth:
            return _describe_fields(name, value, depth)
    return None


def _describe_fields(name: str, value: Any, depth: int) -> dict[str, Any] | None:
    stored: dict[str, Any] = {}
    for entry in _arguments(type(value)):
        part = getattr(value, entry.name)
        if not _is_plain(part, entry):
            part = _describe(part, _NESTED.get(entry.name, {}), depth - 1)
            if part is None:
                return None
        stored[entry.name] = part
    return {"class": name, "fields": stored}


def _build(entry: Any, table: Mapping[str, Any], source_name: str, depth: int) -> Any:
    kind = "function" if isinstance(entry, Mapping) and "function" in entry else "class"
    name = entry.get(kind) if isinstance(entry, Mapping) else None
    supplied = table.get(name) if isinstance(name, str) else None
    if supplied is None or isinstance(supplied, type) != (kind == "class") or not depth:
        raise DataError(
            f"expected {' or '.join(table) or 'a value like the default'} at {source_name}, got "
            f"{entry!r:.80}: the record is damaged or of a later version; make the environment and "
            "pass it as env="
        )
    if kind == "function":
        return supplied
    return supplied(**_stored_values(entry, supplied, source_name, depth))


def _stored_values(
    entry: Mapping[str, Any], supplied: Any, source_name: str, depth: int
) -> dict[str, Any]:
    """Return the values of a hook's fields in its description."""
    stored = entry.get("fields")
    arguments = {
        argument.name: argument
        for argument in _arguments(supplied)
        if argument.default is not MISSING
    }
    if not isinstance(stored, Mapping) or not set(stored) <= set(arguments):
        raise DataError(
            f"expected an object with fields of {', '.join(arguments)} at {source_name}.fields, "
            f"got {stored!r:.80}: the record is damaged or of a later version; make the "
            "environment and pass it as env="
        )
    values = {}
    for key, value in stored.items():
        if not _is_plain(value, arguments[key]):
            value = _build(value, _NESTED.get(key, {}), f"{source_name}.{key}", depth - 1)
        values[key] = value
    return values


def _arguments(cls: Any) -> list[Field[Any]]:
    return [entry for entry in fields(cls) if entry.init]


def _is_plain(value: Any, entry: Field[Any]) -> bool:
    """Return whether a value is of the type of the field's default, finite if it is a number."""
    default = entry.default
    assert default is not MISSING, f"{entry.name} needs a default"
    if isinstance(default, float | int) and not isinstance(default, bool):
        kinds = (int, float) if isinstance(default, float) else (int,)
        number = isinstance(value, kinds) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    return isinstance(default, bool | str) and isinstance(value, type(default))
