"""Read a protocol from its file, and find the bundled protocols.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from agentgym.conversation import Layout
from agentgym.errors import ConfigurationError, DataError
from agentgym.protocols.file_claims import protocol_claims
from agentgym.protocols.schema import OfficialData, Protocol, ProtocolFigure, Setup, TaskChoice
from agentgym.support.structured_files import parse_structured, parse_toml, read_text
from agentgym.support.text_lines import split_lines
from agentgym.support.typed_json import read_json
from agentgym.trust import check_trusted

Part = TypeVar("Part")
FORMAT = "agentgym.protocol/1"
"""Name and version of the format."""
BUNDLED = Path(__file__).parent / "files"
"""The protocols of the package."""
LARGEST = 1 << 20
"""Maximum size of a file, in bytes."""
HEAD = ("format", "name", "about", "sources", "differences")


@dataclass(frozen=True)
class _Head:
    """What a file says of the protocol itself."""

    name: str
    about: str = ""
    sources: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


class _Sampling(TypedDict, total=False):
    """Settings of a model that a protocol may name."""

    temperature: float
    top_p: float
    max_tokens: int


@dataclass(frozen=True)
class _Section:
    """What a file says of an environment."""

    tasks: TaskChoice
    horizon: int | None = None
    grammar: str | None = None
    env: Mapping[str, Any] = field(default_factory=dict)
    data: OfficialData | None = None
    sampling: _Sampling = field(default_factory=_Sampling)
    prompt: Layout | None = None
    figures: tuple[ProtocolFigure, ...] = ()


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
    sections = {name: value for name, value in data.items() if name not in HEAD}
    head = _read_part(_Head, {"name": "", **data}, "")
    if not head.name.strip() or not sections:
        raise ConfigurationError(
            "expected a protocol with a name and a section for each environment, such as [webshop]"
        )
    setups = {
        name: _setup(head.name, sha256, name, _with_item_names(section, path))
        for name, section in sections.items()
    }
    return Protocol(head.name, head.about, head.sources, head.differences, setups, path)


def _setup(protocol: str, sha256: str, env: str, data: Any) -> Setup:
    section = _read_part(_Section, data, env, closed=True)
    items = section.tasks.items
    if items is not None and bool(items.order) == bool(items.names and items.task_id):
        raise ConfigurationError(
            f"expected either order, or names and task_id, in {env}.tasks.items"
        )
    grammar = {} if section.grammar is None else {"grammar": section.grammar}
    return Setup(
        protocol,
        sha256,
        env,
        section.tasks,
        section.horizon,
        {**section.env, **grammar},
        section.data,
        section.sampling,
        section.prompt,
        section.figures,
    )


def _with_item_names(section: Any, path: Path) -> Any:
    """Return a section with the names of its items in place of the name of their file."""
    items = section
    for name in ("tasks", "items"):
        items = items.get(name) if isinstance(items, Mapping) else None
    if not isinstance(items, Mapping) or "names" not in items:
        return section
    names = _names(path.parent / str(items["names"]))
    return {**section, "tasks": {**section["tasks"], "items": {**items, "names": names}}}


def _read_part(kind: type[Part], data: Any, source_name: str, *, closed: bool = False) -> Part:
    try:
        return read_json(kind, data, source_name, closed=closed)
    except DataError as error:
        raise ConfigurationError(str(error)) from error


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
