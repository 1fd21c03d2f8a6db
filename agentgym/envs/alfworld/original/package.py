"""The installed alfworld and textworld packages, imported without their side effects.

- Importing alfworld makes a folder in the user's home and sets ``ALFWORLD_DATA``; here it does not.
- Translating a game replaces ``sys.argv`` and ``sys.stdout``; :func:`undisturbed` puts them back.
- Each new ``PddlEnv`` leaks a private copy of a shared library, so a process has only one.
- Its parser keeps an exception, and with it every frame down to the program's own, for ever;
  :func:`release` makes it let go.
- The words of its grammar are not found from Python 3.13 on; :func:`name_what_is_derived` helps.
- ``alfworld.agents.modules.generic``, which others start from, would import torch; it is not used.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

from agentgym.errors import DataError, require

DATA_VARIABLE = "ALFWORLD_DATA"
PARSERS = ("textworld.envs.pddl.textgen", "textworld.envs.pddl.logic", "textworld.logic")
"""Modules of textworld with a parser at module level."""
UNNAMED_TASK = "Your task is to: UNKNOWN GOAL."
"""The sentence that the package's grammar has in place of a game's own."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put ``sys.argv`` and ``sys.stdout`` back, whatever happens within."""
    argv, stdout = sys.argv, sys.stdout
    try:
        yield
    finally:
        sys.argv, sys.stdout = argv, stdout
        release()


def release() -> None:
    """Make textworld's parsers forget the exception that they keep."""
    for name in PARSERS:
        parser: Any = getattr(sys.modules.get(name), "_PARSER", None)
        if getattr(parser, "_furthest_exception", None) is not None:
            parser._furthest_exception = None


@functools.cache
def import_alfworld() -> Any:
    """Import ``alfworld.info`` without its side effects.

    The import makes the folder that ``ALFWORLD_DATA`` names and sets that variable. It is shown a
    folder that exists, and the variable and the module's own constant are set back.

    Raises:
        DependencyNotInstalled: alfworld is absent.
    """
    if "alfworld" in sys.modules:
        return require("alfworld.info", "alfworld")
    old_path = os.environ.get(DATA_VARIABLE)
    os.environ[DATA_VARIABLE] = tempfile.gettempdir()
    try:
        package, info = require("alfworld", "alfworld"), require("alfworld.info", "alfworld")
    finally:
        if old_path is None:
            del os.environ[DATA_VARIABLE]
        else:
            os.environ[DATA_VARIABLE] = old_path
    folder = os.path.expanduser("~/.cache/alfworld") if old_path is None else old_path
    for module in (package, info):
        vars(module)[DATA_VARIABLE] = folder
    return info


@functools.cache
def package_texts() -> tuple[str, str]:
    """Return the PDDL domain and the text grammar of the installed alfworld package.

    In the grammar stands :data:`UNNAMED_TASK`, exactly once.

    Raises:
        DependencyNotInstalled: alfworld is absent.
        DataError: The grammar is of another make.
    """
    info = import_alfworld()
    domain = Path(info.ALFRED_PDDL_PATH).read_text(encoding="utf-8")
    grammar = Path(info.ALFRED_TWL2_PATH).read_text(encoding="utf-8")
    if grammar.count(UNNAMED_TASK) != 1:
        raise DataError(
            f"expected {UNNAMED_TASK!r} once in {info.ALFRED_TWL2_PATH}, but it is there "
            f"{grammar.count(UNNAMED_TASK)} times; install alfworld==0.4.2"
        )
    return domain, grammar


@functools.cache
def name_what_is_derived(textgen: Any) -> None:
    """Let the expressions of a text grammar see the things that they name, on any Python.

    textworld 1.7 writes them into ``locals()``, which from Python 3.13 on is a copy that the
    expression does not see (PEP 667). Here its own code runs with them among its globals, so that
    they come after its variables and before the names of its module, as they do elsewhere.

    Args:
        textgen: The module ``textworld.envs.pddl.textgen``, which is changed.
    """
    code = textgen.EvalSymbol.derive.__code__

    def derive(symbol: Any, context: Any = None) -> Any:
        named = (context or symbol.context)["variables"]
        return FunctionType(code, {**vars(textgen), **named})(symbol, context)

    textgen.EvalSymbol.derive = derive


@functools.cache
def original_engine() -> Any:
    """Make the one ``PddlEnv`` of this process, with the demangled names of ALFWorld."""
    with undisturbed():
        import_alfworld()
        require("fast_downward", "alfworld")
        textworld = require("textworld", "alfworld")
        pddl = require("textworld.envs.pddl", "alfworld")
        wrappers = require("alfworld.agents.environment.alfred_tw_env", "alfworld")
        if sys.version_info >= (3, 13):
            name_what_is_derived(require("textworld.envs.pddl.textgen", "alfworld"))
        infos = textworld.EnvInfos(won=True, admissible_commands=True)
        return wrappers.AlfredDemangler(pddl.PddlEnv(infos))
