"""Reading a protocol from its file, and finding those of the package.

A protocol is a TOML file:

.. code-block:: toml

    format = "agentgym.protocol/1"
    name = "mine"                      # ends up in reports
    about = "What it is, in a sentence."
    sources = ["arXiv:..."]            # paper and code
    differences = ["..."]              # what is known to be other here; may be left out

    [alfworld]                         # short name or id of an environment; one section for each
    horizon = 50                       # turn budget
    grammar = "action_tag"             # how answers are written

    [alfworld.env]                     # arguments of the environment
    show_admissible = false

    [alfworld.data]                    # official data, if the paper is about such
    argument = "data"              # argument of the environment that names its folder
    variable = "ALFWORLD_DATA"         # environment variable that does so, too
    remedy = "alfworld-download fetches it"
    env = { human_goals = false }      # arguments that go with it

    [alfworld.tasks]
    split = "valid_seen"
    also = ["valid_unseen"]            # other splits that the paper reports
    sizes = { valid_seen = 140 }       # numbers of tasks there
    # items = { prefix = "webshop_", order = ["test", "valid", "train"], listed_in = "FILE" }
    # items = { prefix = "alfworld_", task_id = "alfworld/official/x/{name}", names = "LIST.txt" }

    [alfworld.sampling]                # count where the policy has none of its own
    temperature = 0.4
    top_p = 1.0
    max_tokens = 512

    [alfworld.prompt]                  # fields of agentgym.policies.Layout
    kind = "step"                      # one message in each turn; "turns": the conversation
    first = "... {task} ... {observation} ... {admissible} ..."
    later = "... {step} ... {history} ..."
    history = "[{number}: {observation} {action}]"
    window = 2

    [[alfworld.figures]]               # what the paper prints, in its order
    name = "Pick"
    value = "success"                  # or "score"
    scale = 100.0
    where = { task_type = "pick_and_place_simple" }

Only ``format``, ``name`` and one section with ``tasks.split`` are needed. Names in ``items`` stand
in a text file beside the protocol, a number and a name in each line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentgym.conversation import AdmissibleStyle, Layout, ObservationStyle, OpeningMessage
from agentgym.errors import ConfigurationError, DataError
from agentgym.protocols.file_claims import protocol_claims
from agentgym.protocols.schema import (
    Items,
    OfficialData,
    Protocol,
    ProtocolFigure,
    Setup,
    TaskChoice,
)
from agentgym.support.structured_files import parse_structured, parse_toml, read_text
from agentgym.support.text_lines import split_lines
from agentgym.trust import check_trusted

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Made = TypeVar("Made", bound="DataclassInstance")
FORMAT = "agentgym.protocol/1"
"""Name and version of the format."""
BUNDLED = Path(__file__).parent / "files"
"""The protocols of the package."""
LARGEST = 1 << 20
"""Most bytes of a file."""
SAMPLING: Mapping[str, type | tuple[type, ...]] = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": int,
}
"""Settings of a model that a protocol may name."""
HEAD = ("format", "name", "about", "sources", "differences")
_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "float": ("a number", lambda value: isinstance(value, int | float) and value == value),
    "tuple[str, ...]": (
        "a list of texts",
        lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
    ),
    "Mapping[str, str]": (
        "a table of texts",
        lambda value: isinstance(value, dict) and all(isinstance(v, str) for v in value.values()),
    ),
    "Mapping[str, int]": (
        "a table of whole numbers",
        lambda value: isinstance(value, dict) and all(type(v) is int for v in value.values()),
    ),
    "Mapping[str, Any]": ("a table", lambda value: isinstance(value, dict)),
}
"""Annotation of a field -> what it is called, and what checks it."""


def bundled() -> dict[str, Path]:
    """Return the protocols of the package: name -> file."""
    return {file.stem: file for file in sorted(BUNDLED.glob("*.toml"))}


def load_protocol(name: str | Path) -> Protocol:
    """Read a protocol.

    Args:
        name: Name of one of the package, or the path of a file.

    Raises:
        ConfigurationError: There is none of this name, or the file says something that it cannot.
        DataError: The file is missing or cannot be read.
    """
    return read_protocol(protocol_file(name))


def protocol_file(name: str | Path, subject: str = "a protocol", also: Sequence[str] = ()) -> Path:
    """Return the file of a protocol.

    Args:
        name: Name of one of the package, or the path of a file.
        subject: What is asked for.
        also: Further names that would do.

    Raises:
        ConfigurationError: There is none of this name.
    """
    files = bundled()
    path = files.get(str(name), Path(name))
    if path.suffix != ".toml" and not path.is_file():
        raise ConfigurationError(
            f"expected {subject} ({', '.join((*also, *files))}) or a file that ends in .toml, got "
            f"{str(name)!r:.200}; agentgym protocols shows them"
        )
    return path


def read_protocol(path: Path) -> Protocol:
    """Read a protocol from its file.

    Raises:
        ConfigurationError: It says something that it cannot.
        DataError: It is missing, or no TOML.
        NotTrusted: It names more than plain data.
    """
    text = _text(path)
    data = parse_structured(text, f"TOML in {path}", parse_toml)
    if data.get("format") != FORMAT:
        raise DataError(f'expected {path} to have format = "{FORMAT}", got {data.get("format")!r}')
    if path.parent != BUNDLED:
        check_trusted(protocol_claims(data), f"the protocol {path}")
    try:
        return _protocol(path, hashlib.sha256(text.encode()).hexdigest(), data)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} ({path})") from error


def _text(path: Path) -> str:
    return read_text(path, "the file of a protocol", LARGEST)


def _protocol(path: Path, sha256: str, data: Mapping[str, Any]) -> Protocol:
    head = {name: data[name] for name in HEAD if name in data}
    about = {"name": "", "about": "", "sources": [], "differences": [], **head}
    for name, value in about.items():
        _check(name, value, "tuple[str, ...]" if name in ("sources", "differences") else "str")
    sections = {name: value for name, value in data.items() if name not in HEAD}
    if not about["name"].strip() or not sections:
        raise ConfigurationError(
            "expected a protocol with a name and a section for each environment, such as [webshop]"
        )
    for name, value in sections.items():
        _check(name, value, "Mapping[str, Any]")
    return Protocol(
        about["name"],
        about["about"],
        tuple(about["sources"]),
        tuple(about["differences"]),
        {
            name: _setup(about["name"], sha256, name, value, path)
            for name, value in sections.items()
        },
        path,
    )


def _setup(protocol: str, sha256: str, env: str, data: Mapping[str, Any], path: Path) -> Setup:
    names = ("horizon", "grammar", "env", "data", "tasks", "sampling", "prompt", "figures")
    _check_names(env, data, names)
    for name, kind in (("horizon", "int"), ("grammar", "str"), ("env", "Mapping[str, Any]")):
        if name in data:
            _check(f"{env}.{name}", data[name], kind)
    arguments = dict(data.get("env", {}))
    if "grammar" in data:
        arguments["grammar"] = data["grammar"]
    figures = data.get("figures", [])
    if not isinstance(figures, list):
        raise ConfigurationError(f"expected [[{env}.figures]], got {figures!r:.80}")
    return Setup(
        protocol,
        sha256,
        env,
        _choice(f"{env}.tasks", data.get("tasks", {}), path),
        data.get("horizon"),
        arguments,
        _make_dataclass(OfficialData, f"{env}.data", data["data"]) if "data" in data else None,
        _sampling(f"{env}.sampling", data.get("sampling", {})),
        _layout(f"{env}.prompt", data["prompt"]) if "prompt" in data else None,
        tuple(_make_dataclass(ProtocolFigure, f"{env}.figures", figure) for figure in figures),
    )


def _choice(where: str, data: Any, path: Path) -> TaskChoice:
    _check(where, data, "Mapping[str, Any]")
    items = data.get("items")
    if items is not None:
        _check(f"{where}.items", items, "Mapping[str, Any]")
        names = _names(path.parent / str(items["names"])) if "names" in items else {}
        rest = {name: value for name, value in items.items() if name != "names"}
        items = _make_dataclass(Items, f"{where}.items", rest, names=names)
        if bool(items.order) == bool(items.names and items.task_id):
            raise ConfigurationError(
                f"expected either order, or names and task_id, in {where}.items"
            )
    rest = {name: value for name, value in data.items() if name != "items"}
    return _make_dataclass(TaskChoice, where, rest, items=items)


def _names(path: Path) -> dict[int, str]:
    """Read a number and a name in each line."""
    names: dict[int, str] = {}
    for line in split_lines(_text(path)):
        number, _, name = line.strip().partition(" ")
        if not number.isdecimal() or not name or int(number) in names:
            raise DataError(
                f"expected lines of a number, each only once, and a name in {path}, got "
                f"{line!r:.80}"
            )
        names[int(number)] = name
    return names


def _sampling(where: str, data: Any) -> dict[str, Any]:
    _check(where, data, "Mapping[str, Any]")
    _check_names(where, data, tuple(SAMPLING))
    for name, value in data.items():
        _check(f"{where}.{name}", value, "int" if name == "max_tokens" else "float")
    return dict(data)


def _layout(where: str, data: Any) -> Layout:
    _check(where, data, "Mapping[str, Any]")
    opening = data.get("opening", [])
    if not isinstance(opening, list):
        raise ConfigurationError(f"expected a list of messages in {where}.opening")
    parts = {
        "opening": tuple(
            _make_dataclass(OpeningMessage, f"{where}.opening", message) for message in opening
        ),
        "admissible": _make_dataclass(
            AdmissibleStyle, f"{where}.admissible", data.get("admissible", {})
        ),
        "observation": _make_dataclass(
            ObservationStyle, f"{where}.observation", data.get("observation", {})
        ),
    }
    rest = {name: value for name, value in data.items() if name not in parts}
    return _make_dataclass(Layout, where, rest, **parts)


def _make_dataclass(kind: type[Made], where: str, data: Any, **parts: Any) -> Made:
    """Make a dataclass of a table; ``parts`` are fields that are made already."""
    _check(where, data, "Mapping[str, Any]")
    entries = {entry.name: entry for entry in fields(kind) if entry.name not in parts}
    _check_names(where, data, tuple(entries))
    values = {}
    for name, value in data.items():
        # Read as text: the annotations of the schema are never evaluated.
        annotation = str(entries[name].type).removesuffix(" | None")
        _check(f"{where}.{name}", value, annotation)
        values[name] = tuple(value) if annotation.startswith("tuple") else value
    for name, entry in entries.items():
        if name not in values and entry.default is MISSING and entry.default_factory is MISSING:
            raise ConfigurationError(f"expected {name} in [{where}], but it is missing")
    return kind(**values, **parts)


def _check_names(where: str, data: Mapping[str, Any], names: Collection[str]) -> None:
    unknown = [name for name in data if name not in names]
    if unknown:
        raise ConfigurationError(
            f"expected entries of [{where}] among {', '.join(names)}; got {unknown[0]!r}"
        )


def _check(where: str, value: object, annotation: str) -> None:
    called, fits = _KINDS[annotation]
    if not fits(value):
        raise ConfigurationError(f"expected {where} to be {called}, got {value!r:.80}")
