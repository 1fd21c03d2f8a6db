"""What a hostile file may name, of every kind that is not plain, and proof that none acts."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentgym.registration.imports import IMPORTS
from agentgym.trust.table import BASE, ENVIRONMENTS, EVALUATION, HOOKS, TOOLS, TRAINING, Entry

MODULE = "hostile_module_of_a_download"
SECRET = "sk-secret-of-this-machine"
"""Value of every variable that holds a token or key."""
TOKENS = (
    "AGENTGYM_OPENENV_TOKEN", "AGENTGYM_SANDBOX_TOKEN", "OPENAI_API_KEY", "HF_TOKEN",
    "WANDB_API_KEY",
)  # fmt: skip


@dataclass
class Place:
    """A folder with a downloaded file, in which the user types the command."""

    folder: Path
    """The working directory."""
    port: int
    """A port of this machine that nobody should talk to."""
    messages: list[bytes] = field(default_factory=list)
    """What was said to it."""

    def assert_that_nothing_happened(self) -> None:
        """Check the marks that commands, modules, files and requests would have left."""
        assert not (self.folder / "ran").exists(), "a command ran"
        assert not (self.folder / "imported").exists() and MODULE not in sys.modules, "an import"
        assert not self.messages, "somebody was contacted"

    def value(self, entry: Entry, name: str) -> Any:
        """Return a hostile value of a kind."""
        values = {
            "path": str(self.folder / "data.json"),
            "address": f"http://127.0.0.1:{self.port}",
            "command": "touch ran",
            "code": f"{MODULE}:Thing",
            "right": True if name in ("allow_unsafe", "build", "otel") else "AWS_SECRET_ACCESS_KEY",
        }
        return values[entry.nature]

    def environments(self) -> dict[str, str]:
        """Return a hostile name of each kind of environments that has one."""
        references = {
            "path": "data.json", "address": f"http://127.0.0.1:{self.port}",
            "command": "touch ran", "code": f"{MODULE}.py@task",
        }  # fmt: skip
        kinds = {name: kind.reference.nature for name, kind in ENVIRONMENTS.items()}
        named = {name: f"{name}:{references[n]}" for name, n in kinds.items() if n != "plain"}
        named |= {"gymnasium": f"gymnasium:{MODULE}:X-v0", "verifiers": f"verifiers:{MODULE}"}
        return {**named, "own": f"{MODULE}:hostile/X-v0"}


@contextmanager
def hostile_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Make a folder with a hostile module, secrets in the variables, and a port that listens."""
    folder.mkdir(exist_ok=True)
    (folder / f"{MODULE}.py").write_text("open('imported', 'w').close()\nThing = 1\n")
    (folder / "data.json").write_text("[]")
    monkeypatch.chdir(folder)
    sys.modules.pop(MODULE, None)
    monkeypatch.syspath_prepend(str(folder))
    for name in TOKENS:
        monkeypatch.setenv(name, SECRET)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = Place(folder, server.getsockname()[1])
        threading.Thread(target=_listen, args=(server, place.messages), daemon=True).start()
        yield place


def _listen(server: socket.socket, messages: list[bytes]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(1)
            try:
                messages.append(connection.recv(4096))
            except OSError:
                messages.append(b"")


def harmless_name(kind: str) -> str:
    """Return a name of a kind of environments whose arguments are hostile."""
    return f"{kind}:harmless" if kind in IMPORTS else kind


def acting_arguments() -> list[tuple[str, str, Entry]]:
    """Return every argument of an environment that is not plain: kind, name and row."""
    arguments = [(kind, name, row) for kind, env in ENVIRONMENTS.items()
             for name, row in {**BASE, **env.arguments}.items()]  # fmt: skip
    return [argument for argument in arguments if argument[2].nature != "plain"]


def acting_settings(table: Any) -> list[tuple[str, Entry]]:
    """Return every setting of a table that is not plain by itself."""
    return [
        (n, row) for n, row in table.items() if isinstance(row, Entry) and row.nature != "plain"
    ]


def acting_hooks() -> list[str]:
    """Return reward hooks as a file would name hostile ones."""
    named = [f"{name}:model=m,url=http://127.0.0.1:9/v1" if "judge" in name else f"{name}:rules=x"
             for name, row in HOOKS.items() if row.nature != "plain"]  # fmt: skip
    return [*named, f"{MODULE}:Thing=0.5"]


__all__ = [
    "EVALUATION", "MODULE", "SECRET", "TOOLS", "TRAINING", "Place", "acting_arguments",
    "acting_hooks", "acting_settings", "harmless_name", "hostile_place",
]  # fmt: skip
