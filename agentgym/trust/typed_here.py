"""Remember what the user typed for a run folder on this machine, so that resuming needs no flags.

The list contains hashes of the folder's real path with ``NAME=VALUE``. It is stored outside of the
folder, so the sender of a folder cannot include trust for it. A folder that was moved, or copied
from another machine, is not trusted.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentgym.trust.claims import Claim

logger = logging.getLogger(__name__)

STATE = "XDG_STATE_HOME"
"""Environment variable that names the folder of the user's state."""
DEPTH = 3
"""Maximum number of levels from a checkpoint up to its run folder."""


@dataclass(frozen=True)
class TypedHere:
    """The texts ``NAME=VALUE`` that this user has typed for a folder."""

    folder: Path
    """The folder."""

    def __contains__(self, text: object) -> bool:
        """Return whether a text was typed."""
        with suppress(OSError):
            keys = {*_list().read_text("ascii").split()}
            # The folder may be a checkpoint inside the run folder that the user typed.
            places = [Path(os.path.realpath(self.folder))]
            places += places[0].parents[:DEPTH]
            return any(_key(place, text) in keys for place in places)
        return False

    def remember(self, claims: Iterable[Claim]) -> None:
        """Store the claims that need consent; failures to write are only logged."""
        place = Path(os.path.realpath(self.folder))
        new = [
            _key(place, claim.text)
            for claim in claims
            if not claim.plain and claim.text not in self
        ]
        if not new:
            return
        try:
            _list().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _list().open("a", encoding="ascii") as file:
                file.write("".join(f"{key}\n" for key in dict.fromkeys(new)))
        except OSError as error:
            logger.info("what was typed for %s is not noted: %s", self.folder, error)


def _key(place: Path, text: object) -> str:
    return hashlib.sha256(f"{place}\0{text}".encode("utf-8", "replace")).hexdigest()


def _list() -> Path:
    base = os.environ.get(STATE) or Path.home() / ".local" / "state"
    return Path(base) / "agentgym" / "typed-for-runs"
