"""The games that come with the package, so that the first episode needs neither generator nor disk.

They are the first games of each split of the default setting, exactly as
:func:`agentgym.envs.textworld.splits.deal` makes them; a test makes some of them again. After the
generator changed, ``python -m agentgym.envs.textworld.games.bundled`` makes the file anew.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from agentgym.envs.textworld.games.packs import Pack, pack
from agentgym.envs.textworld.generator.generate import version
from agentgym.envs.textworld.generator.settings import DEFAULT, settings
from agentgym.envs.textworld.splits import deal
from agentgym.errors import DataError

SIZES = {"train": 2000, "valid": 100, "test": 200}
"""Bundled games of each split."""


def bundled(key: str) -> Pack | None:
    """Return the bundled games of a setting, or None where there are none.

    Args:
        key: Key of the setting.

    Raises:
        DataError: The file is missing or damaged.
    """
    return _open(key) if key == DEFAULT else None


@lru_cache(maxsize=1)
def _open(key: str) -> Pack:
    try:
        return Pack((files(__package__) / "data" / f"{key}.games").read_bytes())
    except OSError as error:
        raise DataError(
            f"expected the bundled games of {key} in the package, but they cannot be read "
            f"({error}); install agentgym again"
        ) from error


def build(sizes: dict[str, int] | None = None, key: str = DEFAULT) -> bytes:
    """Generate the bundled games; takes about seven minutes.

    Args:
        sizes: Games of each split; the default is :data:`SIZES`.
        key: Key of the setting.

    Returns:
        Content of the file.

    Raises:
        DependencyNotInstalled: The package ``textworld`` is missing.
    """
    chosen = settings(key)
    games = {
        split: [deal(chosen, split, index) for index in range(size)]
        for split, size in (sizes or SIZES).items()
    }
    return pack(key, version(), games)


if __name__ == "__main__":
    from pathlib import Path

    target = Path(__file__).parent / "data" / f"{DEFAULT}.games"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(build())
