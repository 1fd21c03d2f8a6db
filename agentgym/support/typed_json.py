"""Read JSON into annotated classes, with one clear sentence for invalid files.

The validator is pydantic's core, with a schema that is made here. Pydantic itself would make two
other ones: one takes ``"1"`` for a number, the other a tuple alone where JSON can only have a list.
It also takes .08 s of CPU time to import and to prepare for an episode, its core .015 s.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from agentgym.errors import DataError
from agentgym.support.guesses import with_guesses

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator, ValidationError

Kind = TypeVar("Kind")
_SCALARS: Mapping[Any, str] = {
    Any: "any", str: "str", bool: "bool", int: "int", types.NoneType: "none",
}  # fmt: skip
"""Type -> its name in a schema."""
_LARGEST = int(sys.float_info.max)
_EXPECTATIONS: Mapping[str, str] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_long": "a shorter list",
    "dict_type": "an object",
}
"""Type of an error of the validator -> what it says that the value should be."""


def read_json(
    kind: type[Kind],
    value: Any,
    source_name: str = "",
    *,
    may_lack: Collection[str] | None = None,
    finite: bool = True,
    closed: bool = False,
) -> Kind:
    """Read a value of JSON as a dataclass or a ``TypedDict``, down to its last element.

    Objects become dataclasses and dicts, lists become tuples or lists, as the annotations say; what
    is ``Any`` stays as it is. Keys that a class does not know are for later versions: a dataclass
    drops them, a ``TypedDict`` keeps them. In a file that a person writes they are mistakes.

    Args:
        kind: The class.
        value: What ``json.loads`` gave, or `dataclasses.asdict`.
        source_name: Its place, for the message.
        may_lack: Names of the fields of dataclasses that may be missing; None: all with a default.
        finite: Whether NaN and the infinities, which Python writes and JSON lacks, are no numbers.
        closed: Whether keys that a class does not know are errors.

    Returns:
        The value.

    Raises:
        DataError: It is not what the class says; names the place.
    """
    from pydantic_core import ValidationError

    hint: Any = kind
    lacking = None if may_lack is None else frozenset(may_lack)
    try:
        instance: Kind = _validator(hint, lacking, finite, closed).validate_python(value)
    except ValidationError as error:
        raise _to_error(error, value, source_name) from None
    return instance


@cache
def _validator(
    kind: Any, may_lack: frozenset[str] | None = None, finite: bool = True, closed: bool = False
) -> SchemaValidator:
    """Return what reads a value of a type; made once, as files hold many of each."""
    from pydantic_core import SchemaValidator

    schema: Any = _SchemaMaker(may_lack, finite, closed).schema(kind)
    return SchemaValidator(schema)


@dataclass(frozen=True)
class _SchemaMaker:
    """Makes schemas of types (``pydantic_core.core_schema``)."""

    may_lack: frozenset[str] | None
    finite: bool
    closed: bool

    def schema(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type."""
        origin, arguments = get_origin(kind), get_args(kind)
        if kind is float:
            return self._number(int, float)
        if kind in _SCALARS:
            return {"type": _SCALARS[kind], "strict": True}
        if is_dataclass(kind) or is_typeddict(kind):
            return self._object(kind)
        if origin is Literal:
            return {"type": "literal", "expected": list(arguments)}
        if origin in (Union, types.UnionType):
            choices = [self.schema(part) for part in arguments if part is not types.NoneType]
            schema = choices[0] if len(choices) == 1 else {"type": "union", "choices": choices}
            nullable = types.NoneType in arguments
            return {"type": "nullable", "schema": schema} if nullable else schema
        if origin is tuple and arguments[-1] is not ...:
            return {"type": "tuple", "items_schema": [self.schema(part) for part in arguments]}
        # Containers of any length stop at their first error: each one takes memory.
        if origin is tuple:
            items = [self.schema(arguments[0])]
            return {
                "type": "tuple", "items_schema": items, "variadic_item_index": 0, "fail_fast": True
            }  # fmt: skip
        if origin is list:
            return {"type": "list", "items_schema": self.schema(arguments[0]), "fail_fast": True}
        # Truth values add up like numbers, and environments of others name such parts.
        is_float = arguments[1] is float
        values = self._number(bool, int, float) if is_float else self.schema(arguments[1])
        return {"type": "dict", "values_schema": values, "fail_fast": True}

    def _number(self, *kinds: type) -> dict[str, Any]:
        choices = [{"type": kind.__name__, "strict": True} for kind in kinds]
        if self.finite:
            # JSON holds integers that no float does.
            choices[-2] |= {"ge": -_LARGEST, "le": _LARGEST}
            choices[-1] |= {"allow_inf_nan": False}
        schema = {"type": "union", "choices": choices, "mode": "left_to_right"}
        return {
            "type": "custom-error",
            "schema": schema,
            "custom_error_type": "number",
            "custom_error_message": "a finite number" if self.finite else "a number",
        }

    def _object(self, kind: Any) -> dict[str, Any]:
        required = _required(kind)
        if self.may_lack is not None and not is_typeddict(kind):
            required = {entry.name for entry in fields(kind)} - self.may_lack
        entries: dict[str, Any] = {
            name: {"schema": self.schema(hint), "required": name in required}
            for name, hint in get_type_hints(kind).items()
        }
        schema = {"type": "typed-dict", "fields": entries}
        if self.closed:
            check = {"type": "no-info", "function": partial(_refuse_unknown, names=list(entries))}
            schema = {"type": "function-before", "function": check, "schema": schema}
        if not is_typeddict(kind):
            make = {"type": "no-info", "function": lambda values: kind(**values)}
            return {"type": "function-after", "function": make, "schema": schema}
        # Checked and kept as it is: the validator's copy can have no key with a lone surrogate.
        keep = {"type": "no-info", "function": lambda value, check: (check(value), value)[1]}
        return {"type": "function-wrap", "function": keep, "schema": schema}


def _refuse_unknown(value: Any, names: list[str]) -> Any:
    from pydantic_core import PydanticCustomError

    if isinstance(value, Mapping) and (unknown := [key for key in value if key not in names]):
        guesses = with_guesses(unknown[:1], names)
        raise PydanticCustomError("unknown", f"made of the keys {', '.join(names)}; got {guesses}")
    return value


def _required(kind: Any) -> Collection[str]:
    """Return the names of the fields of a dataclass or a ``TypedDict`` that have no default."""
    if is_typeddict(kind):
        keys: frozenset[str] = kind.__required_keys__
        return keys
    return {
        entry.name
        for entry in fields(kind)
        if entry.default is MISSING and entry.default_factory is MISSING
    }


def _to_error(error: ValidationError, value: Any, source_name: str) -> ValueError:
    """Return the first error, with the place of the value."""
    first, *later_errors = error.errors()
    if first["type"] == "value_error":  # of the class itself
        raised: ValueError = first["ctx"]["error"]
        return raised
    path = _path(first["loc"], value)
    place = (source_name + path).removeprefix(".")
    if first["type"] == "missing":
        return DataError(f"expected the field {place!r}, but it is missing")
    alternatives = [
        first,
        *(error_entry for error_entry in later_errors if _path(error_entry["loc"], value) == path),
    ]
    expected = " or ".join(
        dict.fromkeys(
            _EXPECTATIONS.get(error_entry["type"])
            or error_entry["msg"].removeprefix("Input should be ")
            for error_entry in alternatives
        )
    )
    subject = repr(place) if place else "the top"
    if first["type"] == "unknown":  # says which keys were given
        return DataError(f"expected {subject} to be {expected}")
    return DataError(f"expected {subject} to be {expected}, got {first['input']!r:.80}")


def _path(location: Sequence[int | str], value: Any) -> str:
    """Write a location without the names of alternatives of a type, which the validator adds."""
    path = ""
    for step in location:
        if isinstance(value, Mapping):
            path, value = f"{path}.{step!s:.80}", value.get(step)
        elif isinstance(value, list | tuple) and isinstance(step, int):
            path, value = f"{path}[{step}]", value[step] if step < len(value) else None
    return path
