"""An interface that shall change: a parameter gets another name, or two change places, everywhere.

The library is taken back to an older interface that works as well, in the definitions, the calls
and the docstrings of all its files; its tests speak the newer one, which the issue asks for.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import re
from collections.abc import Iterator

from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource, is_public
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.support.random_stream import Stream

OLDER = {
    "default": "fallback",
    "encoding": "charset",
    "indent": "tab",
    "items": "entries",
    "key": "keyfunc",
    "length": "size",
    "limit": "maximum",
    "name": "label",
    "path": "filename",
    "pattern": "expression",
    "position": "offset",
    "sep": "delimiter",
    "separator": "sep",
    "size": "length",
    "start": "begin",
    "stop": "end",
    "end": "stop",
    "strict": "exact",
    "text": "string",
    "value": "val",
    "width": "columns",
}
"""Older names of usual parameters; others get a word behind them, or are cut short."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def changed_interface(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield older interfaces, those that touch most files first.

    Args:
        library: The library.
        stream: Where the draws come from.
        count: Tasks that are asked for; all older interfaces are yielded.
    """
    candidates = [*_renamed(library), *_reordered(library)]
    order = stream.shuffled(candidates)
    yield from sorted(order, key=lambda candidate: -len({edit.path for edit in candidate.edits}))


def _renamed(library: LibrarySource) -> Iterator[Candidate]:
    """Yield candidates in which parameters of one name are called something else."""
    holders: dict[str, list[tuple[str, str, Function]]] = {}
    for path, name, node in library.functions():
        for entry in (*node.args.args, *node.args.kwonlyargs):
            if entry.arg not in ("self", "cls"):
                holders.setdefault(entry.arg, []).append((path, name, node))
    used_names = {
        part.id if isinstance(part, ast.Name) else part.arg
        for source in library.sources.values()
        for part in ast.walk(source.tree)
        if isinstance(part, (ast.Name, ast.arg))
    }
    for parameter, places in sorted(holders.items()):
        public_names = [name for _, name, _ in places if is_public(name)]
        spoken = re.search(rf"[(,]\s*{re.escape(parameter)}=", library.tests)
        old = _older(parameter, used_names)
        if not public_names or not spoken or not old:
            continue
        edits = sorted(set(_renaming(library, parameter, old, places)), key=_place)
        if len(places) > 1 or len({edit.path for edit in edits}) > 1:
            request = (
                f"the parameter `{old}` of {_listed(public_names)} should be called `{parameter}`"
            )
            yield Candidate("changed interface", f"{parameter}", (tuple(edits),), request)


def _renaming(
    library: LibrarySource, parameter: str, old: str, places: list[tuple[str, str, Function]]
) -> Iterator[Edit]:
    """Yield the edits that rename a parameter in definitions, bodies, docstrings and calls."""
    called = {name.split(".")[-2 if name.endswith("__init__") else -1] for _, name, _ in places}
    for path, _, node in places:
        source = library.sources[path]
        for part in ast.walk(node):
            is_use = isinstance(part, ast.Name) and part.id == parameter
            if is_use or (isinstance(part, ast.arg) and part.arg == parameter):
                yield from _word(source, path, source.start(part), parameter, old)
        text = ast.get_docstring(node, clean=False)
        if text is not None:
            start = source.start(node.body[0])
            docstring = source.text(node.body[0])
            for match in re.finditer(
                rf"(?m)(?<=``){parameter}(?=``)|(?<=^    ){parameter}(?=:)"
                rf"|(?<=^        ){parameter}(?=:)|(?<=^            ){parameter}(?=:)",
                docstring,
            ):
                position = start + len(docstring[: match.start()].encode())
                yield Edit(path, position, parameter, old)
    for path, source in library.sources.items():
        for part in ast.walk(source.tree):
            if isinstance(part, ast.Call) and _callee(part) in called:
                for entry in part.keywords:
                    if entry.arg == parameter:
                        yield from _word(source, path, source.start(entry), parameter, old)


def _word(source: ParsedSource, path: str, start: int, name: str, new: str) -> Iterator[Edit]:
    """Yield the edit of a name, if it stands where the parser says (not in every f-string)."""
    if source.content[start : start + len(name.encode())] == name.encode():
        yield Edit(path, start, name, new)


def _reordered(library: LibrarySource) -> Iterator[Candidate]:
    """Yield candidates in which the first two parameters of a function change places."""
    for path, name, node in library.functions():
        arguments = node.args
        is_plain = not arguments.posonlyargs and len(arguments.args) - len(arguments.defaults) >= 2
        if "." in name or not is_public(name) or not is_plain:
            continue
        first, second = arguments.args[:2]
        edits = [_swap(library.sources[path], path, first, second)]
        for module_path, source in library.sources.items():
            for part in ast.walk(source.tree):
                if _calls(part, name):
                    edits.append(_swap(source, module_path, *part.args[:2]))  # type: ignore[attr-defined]
        if len({edit.path for edit in edits}) > 1 and not _overlap(edits):
            request = (
                f"`{name}` should take `{first.arg}` before `{second.arg}`; "
                "today it is the other way round"
            )
            ordered = tuple(sorted(edits, key=_place))
            yield Candidate("changed interface", name, (ordered,), request)


def _calls(node: ast.AST, name: str) -> bool:
    """Return whether a node calls a function by its name, with two arguments by their places."""
    is_call = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    )
    return is_call and len(node.args) >= 2  # type: ignore[attr-defined]


def _swap(source: ParsedSource, path: str, left: ast.AST, right: ast.AST) -> Edit:
    """Return the edit that swaps two pieces; the text between them stays."""
    gap = source.content[source.end(left) : source.start(right)].decode()
    old = source.content[source.start(left) : source.end(right)].decode()
    return Edit(path, source.start(left), old, source.text(right) + gap + source.text(left))


def _overlap(edits: list[Edit]) -> bool:
    """Return whether two edits touch the same bytes, as those of nested calls do."""
    ordered = sorted(edits, key=_place)
    return any(
        first.path == second.path and second.start < first.start + len(first.old.encode())
        for first, second in itertools.pairwise(ordered)
    )


def _older(parameter: str, used_names: set[str]) -> str:
    """Return what a parameter may have been called before; nothing where all names are taken."""
    words = (OLDER.get(parameter, ""), f"{parameter}_option", parameter[:4].rstrip("_"))
    usable = (
        word
        for word in words
        if word.isidentifier()
        and word != parameter
        and word not in used_names
        and not keyword.iskeyword(word)
        and not hasattr(builtins, word)
    )
    return next(usable, "")


def _listed(names: list[str]) -> str:
    """Name functions as users call them: a class for what makes its objects."""
    labels = list(dict.fromkeys(f"`{name.removesuffix('.__init__')}`" for name in names))
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _callee(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _place(edit: Edit) -> tuple[str, int]:
    return edit.path, edit.start
