"""The server inside, as far as it can be looked at from outside."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentgym.sandbox import pid1
from agentgym.sandbox.pid1 import Output

SOURCE = Path(pid1.__file__).read_text()


def test_it_keeps_to_the_syntax_of_old_interpreters() -> None:
    ast.parse(SOURCE, feature_version=(3, 6))


def test_it_stands_alone() -> None:
    """An image holds no other file of ours, and no package."""
    imported = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        str(node.module).split(".")[0]
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names


def test_it_ends_when_nobody_is_there() -> None:
    command = [sys.executable, "-I", "-S", pid1.__file__]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@given(st.lists(st.binary(max_size=40)), st.integers(0, 50))
def test_both_ends_of_the_output_are_kept(parts: list[bytes], kept: int) -> None:
    output, whole = Output(kept), b"".join(parts)
    for part in parts:
        output.add(part)
    half = kept // 2
    assert output.total == len(whole)
    if len(whole) <= 2 * half:
        assert output.joined() == whole and not output.left_out
    else:
        assert output.left_out == len(whole) - 2 * half
        assert output.joined().startswith(whole[:half])
        assert output.joined().endswith(whole[len(whole) - half :])
