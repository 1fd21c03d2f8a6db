"""A hash of the source code of a user's policy, so that an edited policy counts as a new one.

The hash covers the module that defines the policy and the modules that it imports from the same
folder or package. Files are read when the process first needs them, because imported code does not
change with its file. The hash is the same on every machine and contains no path. For a function it
includes the constants in its closure and defaults. It excludes the state of objects, because
playing changes it: ``facts()`` distinguishes instances.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

DIGITS = 16
"""Number of hexadecimal digits of a hash."""
_HOUSE = __name__.partition(".")[0]
_INSTALLED = ("site-packages", "dist-packages")
_digests: dict[str, tuple[object, str]] = {}
"""Module name -> the spec by which it was loaded, and its hash."""


def source_sha256(*parts: object) -> str:
    """Hash the source code of a policy.

    Args:
        *parts: Modules, functions, classes, or objects of classes. Objects of this package are
            skipped: reports contain its version.

    Returns:
        The first 16 hexadecimal digits of a SHA-256; empty if there is no source.
    """
    texts = [text for text in map(_text, parts) if text]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:DIGITS] if texts else ""


def is_ours(part: object) -> bool:
    """Return whether a class, a function or the class of an object belongs to this package."""
    return _module_name(_definition(part)).partition(".")[0] == _HOUSE


def _text(part: Any) -> str:
    """Return a text that changes with the source of a part."""
    if isinstance(part, ModuleType):
        return _module(part)
    if isinstance(part, partial):
        arguments = json.dumps(
            [part.args, part.keywords], default=lambda value: type(value).__name__
        )
        return f"{_text(part.func)} {arguments}"
    definition = _definition(part)
    if is_ours(definition):
        return ""
    module = sys.modules.get(_module_name(definition))
    named = getattr(definition, "__name__", "") != "<lambda>"
    if module is not None and module.__name__ != "__main__" and (text := _module(module)):
        return " ".join([text, *_bound(definition), *(() if named else _codes(definition))])
    # A script or notebook also contains the call of the evaluation, which changes with its
    # settings. So only the definition itself is hashed, not the whole file.
    if named:  # inspect.getsource of a lambda returns its whole line, so its bytecode is used
        try:
            return " ".join([inspect.getsource(definition), *_bound(definition)])
        except (OSError, TypeError):
            pass
    return " ".join([*_codes(definition), *_bound(definition)])


def _bound(function: Any) -> Iterator[str]:
    """Yield the constants in a function's closure and defaults, which its source does not show.

    Variables that the function itself assigns, such as a counter, are left out.
    """
    if not inspect.isfunction(function):
        return
    code = function.__code__
    rebound = {instruction.argval for instruction in dis.get_instructions(code)
               if instruction.opname in ("STORE_DEREF", "DELETE_DEREF")}  # fmt: skip
    values = {**(function.__kwdefaults__ or {})}
    values |= {f"default {place}": value for place, value in enumerate(function.__defaults__ or ())}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if name not in rebound:
            with suppress(ValueError):  # the cell is still empty
                values[name] = cell.cell_contents
    for name, value in sorted(values.items()):
        if isinstance(value, str | int | float | None):
            yield f"{name}={value!r}"


def _definition(part: Any) -> Any:
    """Return the function or class that defines an object's behaviour."""
    definition = inspect.unwrap(part)
    definition = getattr(definition, "__func__", definition)
    return (
        definition
        if inspect.isfunction(definition) or isinstance(definition, type)
        else type(definition)
    )


def _module_name(definition: object) -> str:
    return str(getattr(definition, "__module__", None) or "")


def _codes(definition: Any) -> Iterator[str]:
    """Yield the bytecode of a function, or of the methods of a class."""
    members = (
        sorted(vars(definition).items()) if isinstance(definition, type) else [("", definition)]
    )
    for name, member in members:
        code = getattr(inspect.unwrap(member), "__code__", None)
        if isinstance(code, CodeType):
            yield f"{name} {_code(code)}"


def _code(code: CodeType) -> str:
    constants = [_code(constant) if isinstance(constant, CodeType) else _plain_text(constant)
                 for constant in code.co_consts]  # fmt: skip
    return f"{code.co_code.hex()} {constants} {code.co_names}"


def _plain_text(constant: object) -> str:
    if isinstance(constant, frozenset):  # its order differs from process to process
        return str(sorted(map(repr, constant)))
    return repr(constant)


# -- modules ---------------------------------------------------------------------------------------


def _module(module: ModuleType) -> str:
    """Return the hash of a module and of the neighbours that it imports; empty without a file."""
    name, spec = module.__name__, module.__spec__
    entry = _digests.get(name)
    # A reloaded module has a new spec, and possibly another source.
    if entry is not None and entry[0] is spec and spec is not None:
        return entry[1]
    file = getattr(module, "__file__", None)
    digest = ""
    if file and file.endswith(".py") and Path(file).is_file():
        place = Path(file).resolve()
        depth = name.count(".") + (place.name == "__init__.py")
        texts = [_hashed(_source(place))]  # separately, because its name may differ from its file
        if depth < len(place.parents):
            texts += map(" ".join, sorted(_neighbours(place.parents[depth], name).items()))
        digest = _hashed("\n".join(texts).encode())
    _digests[name] = spec, digest
    return digest


def _neighbours(root: Path, first: str) -> dict[str, str]:
    """Hash a module and, recursively, the modules under ``root`` that it imports.

    If the module is an installed package, only modules of the same package count.

    Returns:
        Module name -> hash.
    """
    top, installed = first.partition(".")[0], any(part in _INSTALLED for part in root.parts)
    hashes: dict[str, str] = {}
    waiting = [first]
    while waiting:
        name = waiting.pop()
        first_package = name.partition(".")[0]
        if name in hashes or (first_package != top and (installed or first_package == _HOUSE)):
            continue
        place = root.joinpath(*name.split("."))
        package = (place / "__init__.py").is_file()
        file = place / "__init__.py" if package else place.with_name(f"{place.name}.py")
        if file.is_file():
            source = _source(file)
            hashes[name] = _hashed(source)
            waiting += _imports(source, name if package else name.rpartition(".")[0])
    return hashes


def _source(file: Path) -> bytes:
    """Read a source file with Unix line ends, so that its hash is the same on every system."""
    return file.read_bytes().replace(b"\r\n", b"\n")


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _imports(source: bytes, package: str) -> Iterator[str]:
    """Yield the names that a source imports and that may be modules, with their parent packages."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):  # the file has been changed since it was imported
        return
    for node in nodes:
        names = [alias.name for alias in getattr(node, "names", ())
                 if isinstance(node, ast.Import | ast.ImportFrom)]  # fmt: skip
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            names = [base, *(f"{base}.{name}" for name in names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1) if all(parts[:n]))
