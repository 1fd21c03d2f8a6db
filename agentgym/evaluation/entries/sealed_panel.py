"""Sealed panels: tasks that are fixed now and published later.

A seal is the SHA-256 of the tasks and of a random salt. Who publishes it can no longer choose other
tasks; who reads it learns nothing about them, because the salt is unknown. The opening holds salt,
seed and tasks.

    commitment = SHA-256(canonical JSON of [format, salt, terms, seed, panel hash, task ids])
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from agentgym.core.guard import GuardedEnv
from agentgym.core.options import check_seed
from agentgym.core.tasks import Panel, canonical_json
from agentgym.episodes.recorder import origin
from agentgym.episodes.replay import make_env_of
from agentgym.errors import ConfigurationError, DataError
from agentgym.registration.making import make
from agentgym.support.caching import write_atomically
from agentgym.support.strict_json import parse_json
from agentgym.support.typed_json import read_json

SEALED = "agentgym.sealed-panel/1"
"""Name and version of the format of a seal."""
OPENED = "agentgym.opened-panel/1"
"""Name and version of the format of an opening."""
_SALT_BYTES, _SEED_BITS = 32, 62


@dataclass(frozen=True, kw_only=True)
class SealedPanel:
    """What is published when a panel is sealed."""

    env_id: str
    """Id of the environment."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Its arguments."""
    split: str
    """Split of the tasks."""
    num_tasks: int
    """Number of tasks."""
    horizon: int | None = None
    """Turn budget; None: the environment's default."""
    commitment: str
    """Hash of the opening, hexadecimal."""

    def to_dict(self) -> dict[str, Any]:
        """Return the panel as JSON-safe data."""
        return {"format": OPENED if isinstance(self, OpenedPanel) else SEALED, **asdict(self)}

    def write(self, path: str | Path) -> None:
        """Write the panel to a JSON file.

        Raises:
            ConfigurationError: The file exists, or cannot be written.
        """
        path = Path(path)
        if path.exists():
            raise ConfigurationError(f"expected a new file, got {path}, which exists")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, (canonical_json(self.to_dict()) + "\n").encode())
        except OSError as error:
            raise ConfigurationError(f"expected to write {path}, but: {error}") from error

    @classmethod
    def read(cls, path: str | Path) -> Any:
        """Read a panel of this class from a JSON file.

        Raises:
            DataError: The file cannot be read, or is no such panel.
        """
        try:
            data = parse_json(Path(path).read_bytes())
        except (OSError, ValueError) as error:
            raise DataError(f"expected JSON in {path}, but: {error}") from error
        expected = OPENED if cls is OpenedPanel else SEALED
        if not isinstance(data, dict) or data.pop("format", None) != expected:
            raise DataError(f'expected {path} to have "format": "{expected}"')
        return read_json(cls, data, str(path), closed=True)


@dataclass(frozen=True, kw_only=True)
class OpenedPanel(SealedPanel):
    """What is kept secret until a panel is opened."""

    seed: int
    """Seed of the panel and of its episodes."""
    panel_sha256: str
    """Hash over the content of the tasks."""
    task_ids: tuple[str, ...]
    """The tasks, in order."""
    salt: str
    """Random text, hexadecimal, without which the tasks could be guessed from the commitment."""

    def recomputed(self) -> str:
        """Return the commitment to this opening."""
        terms = [self.env_id, self.env_kwargs, self.split, self.num_tasks, self.horizon]
        content = [SEALED, self.salt, terms, self.seed, self.panel_sha256, [*self.task_ids]]
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()

    def seal(self) -> SealedPanel:
        """Return what may be published before the panel is opened."""
        return SealedPanel(
            **{entry.name: getattr(self, entry.name) for entry in fields(SealedPanel)}
        )


def seal_panel(
    env: str,
    split: str,
    num_tasks: int,
    *,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> OpenedPanel:
    """Draw a panel that nobody can guess, and commit to it.

    Args:
        env: Name of the environment.
        split: Split of the tasks.
        num_tasks: Number of tasks.
        horizon: Turn budget; None: the environment's default.
        env_kwargs: Arguments of the environment.
        seed: Seed of the panel; None: drawn from the system's source of secrets.

    Returns:
        The opening; `OpenedPanel.seal` is what to publish now.

    Raises:
        ConfigurationError: An argument is invalid, or one of the environment cannot be stored.
    """
    number = secrets.randbits(_SEED_BITS) if seed is None else check_seed(seed)
    assert number is not None
    guarded_env: Any = GuardedEnv(make(env, **{"disable_env_checker": True, **(env_kwargs or {})}))
    try:
        facts = origin(guarded_env)
        panel: Panel = guarded_env.unwrapped.tasks.panel(split, num_tasks, number)
    finally:
        guarded_env.close()
    if lacking := [*facts["not_stored"], *facts["hooks"]]:
        raise ConfigurationError(
            f"expected arguments that a file can hold and no reward hooks, got {', '.join(lacking)}"
        )
    opened = OpenedPanel(
        env_id=facts["env_id"],
        env_kwargs=facts["env_kwargs"],
        split=panel.split,
        num_tasks=num_tasks,
        horizon=horizon,
        commitment="",
        seed=number,
        panel_sha256=panel.sha256,
        task_ids=panel.ids,
        salt=secrets.token_hex(_SALT_BYTES),
    )
    return _committed(opened)


def _committed(opened: OpenedPanel) -> OpenedPanel:
    values = {entry.name: getattr(opened, entry.name) for entry in fields(opened)}
    return OpenedPanel(**{**values, "commitment": opened.recomputed()})


def open_panel(sealed: SealedPanel, opened: OpenedPanel) -> OpenedPanel:
    """Check an opening against its seal, and draw its tasks again.

    Args:
        sealed: What was published first.
        opened: What was published later.

    Returns:
        The opening.

    Raises:
        DataError: The opening is not what was sealed, or its tasks are no longer the same.
        NotTrusted: It names more than plain data, see `agentgym.trust`.
    """
    check_opening(opened)
    for entry in fields(SealedPanel):
        expected, actual = getattr(sealed, entry.name), getattr(opened, entry.name)
        if canonical_json(expected) != canonical_json(actual):
            raise DataError(
                f"expected the opening of the sealed panel, whose {entry.name} is "
                f"{expected!r:.120}, got {actual!r:.120}"
            )
    env: Any = GuardedEnv(make_env_of(opened.env_id, opened.env_kwargs))
    try:
        panel = env.unwrapped.tasks.panel(opened.split, opened.num_tasks, opened.seed)
    finally:
        env.close()
    if (panel.ids, panel.sha256) != (opened.task_ids, opened.panel_sha256):
        raise DataError(
            "expected the tasks that the environment draws with the opened seed, got others: "
            f"panel {opened.panel_sha256:.16}, here {panel.sha256:.16}"
        )
    return opened


def check_opening(opened: OpenedPanel) -> None:
    """Check that tasks and salt of an opening give its commitment.

    Raises:
        DataError: They do not.
    """
    if (actual := opened.recomputed()) != opened.commitment:
        raise DataError(
            f"expected tasks, seed and salt with the commitment {opened.commitment:.80}, got those "
            f"of {actual}: the opening has been changed"
        )
