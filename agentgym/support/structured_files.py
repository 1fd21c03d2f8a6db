"""Read YAML, TOML and JSON files: plain data of bounded size and nesting, every key once.

Suites, protocols, specifications, settings and reports are passed on, so that any of them may be
somebody else's: none takes long to refuse, and none means something else than what it shows.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import DataError
from agentgym.support.strict_json import DEEPEST, check_nesting, parse_json

if TYPE_CHECKING:
    import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST = 1 << 18
"""Maximum size of a file that a person writes, in bytes."""
LARGEST_WRITTEN = 1 << 26
"""Maximum size of a file that a program writes, such as a report with its episodes, in bytes."""
MOST_NODES = 100_000
"""Maximum number of values in a YAML file; each counts as often as it is referenced."""


def read_structured(file: Path, subject: str, *, largest: int = LARGEST) -> Any:
    """Read a file by its ending: ``.toml``, ``.json``, or else YAML.

    Args:
        file: The file.
        subject: Description of its content, for the message: ``a suite``.
        largest: Maximum size, in bytes.

    Raises:
        DataError: It cannot be read, is too large or too deeply nested, or names a key twice.
    """
    parse, kind = _PARSERS.get(file.suffix, (parse_yaml, "YAML"))
    text = read_text(file, f"{subject} in {kind}", largest)
    return parse_structured(text, f"{subject} in {kind} at {file}", parse)


def parse_structured(text: str, subject: str, parse: Callable[[str], Any]) -> Any:
    """Read a text of one of the formats.

    Args:
        text: The text.
        subject: What it holds and where it stands, for the message.
        parse: One of `parse_yaml`, `parse_toml` and `~agentgym.support.strict_json.parse_json`.

    Raises:
        DataError: It cannot be read.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise DataError(f"expected {subject}, but: {' '.join(str(error).split()):.500}") from error


def read_text(file: Path, subject: str, largest: int = LARGEST) -> str:
    """Read a text file of bounded size.

    Raises:
        DataError: It cannot be read, or is larger.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(largest + 1)
        if len(data) > largest:
            raise ValueError(f"it has more than {largest:,} bytes")
        return data.decode("utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"expected {subject} at {file}, which cannot be read: {reason}") from error
    except ValueError as error:
        raise DataError(f"expected {subject} at {file}, but: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Read TOML, in which no key comes twice by its own rules.

    Raises:
        ValueError: It is none, or nested too deeply.
    """
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"more than {DEEPEST} lists and tables in one another") from None
    check_nesting(data)  # a name with dots nests without a bracket
    return data


def parse_yaml(text: str, *, references: bool = True) -> Any:
    """Read YAML as plain data.

    Args:
        text: The text.
        references: Whether values may reference others by ``*name``.

    Raises:
        ValueError: It is none, is nested too deeply, names a key twice, or grows by its references.
    """
    import yaml

    loaders = [yaml.SafeLoader]
    if hasattr(yaml, "CSafeLoader"):  # ten times faster; the other is plainer about what is wrong
        loaders.insert(0, yaml.CSafeLoader)  # type: ignore[arg-type]
    for base in loaders:
        try:
            loader = _unique_loader(base)(text)
        except yaml.reader.ReaderError as error:
            raise ValueError(str(error)) from error
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_nodes(node, references)
            return loader.construct_document(node)
        except RecursionError:
            raise ValueError(f"more than {DEEPEST} lists and mappings in one another") from None
        except yaml.YAMLError as error:
            if base is loaders[-1]:
                mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "")
                place = f"line {mark.line + 1}: " if mark and problem else ""
                raise ValueError(place + (problem or str(error))) from error
        finally:
            loader.dispose()
    raise AssertionError("unreachable")


@functools.cache
def _unique_loader(base: type[yaml.SafeLoader]) -> type[yaml.SafeLoader]:
    """Return a loader that refuses a key that comes twice."""
    from yaml.constructor import ConstructorError

    class UniqueLoader(base):  # type: ignore[valid-type, misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys: set[Any] = set()
            for key_node, _ in node.value if node not in self._merged else ():
                if key_node.tag == "tag:yaml.org,2002:merge":
                    self._merged.add(node)
                    continue
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, Hashable):
                    continue  # which the constructor itself refuses
                if key in keys:
                    raise ConstructorError(
                        None, None, f"the key {key!r:.80} comes twice", key_node.start_mark
                    )
                keys.add(key)
            return super().construct_mapping(node, deep)

        @functools.cached_property
        def _merged(self) -> set[Any]:
            """Mappings into which ``<<`` has put the entries of others, which it may repeat."""
            return set()

    return UniqueLoader


def _check_nodes(root: yaml.Node, references: bool) -> None:
    """Check the nesting and the number of a document's nodes.

    Raises:
        ValueError: They are too deep or too many, or one refers to another and may not.
    """
    sizes: dict[yaml.Node, tuple[int, int]] = {}
    """Values and levels of each node that has been counted."""
    path: set[yaml.Node] = set()
    waiting = [root]
    while waiting:
        node = waiting[-1]
        children = _children(node)
        fresh = [child for child in children if child not in sizes]
        if node not in path and fresh:
            path.add(node)
            if not path.isdisjoint(fresh):
                raise ValueError("a value that holds itself")
            waiting += fresh
            if len(path) > DEEPEST:
                raise ValueError(f"more than {DEEPEST} lists and mappings in one another")
            continue
        waiting.pop()
        path.discard(node)
        if node in sizes:
            continue
        count = 1 + sum(sizes[child][0] for child in children)
        depth = max((sizes[child][1] + 1 for child in children), default=0)
        sizes[node] = count, depth
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} lists and mappings in one another")
        if count > MOST_NODES:
            raise ValueError(f"more than {MOST_NODES:,} values")
    if not references and sizes[root][0] > len(sizes):
        raise ValueError("a reference (*name) is not allowed: write it out")


def _children(node: Any) -> list[Any]:
    """Return the direct children of a node."""
    if isinstance(node.value, str):
        return []
    flat = (part if isinstance(part, tuple) else (part,) for part in node.value)
    return [child for parts in flat for child in parts]


_PARSERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    ".toml": (parse_toml, "TOML"),
    ".json": (parse_json, "JSON"),
}
