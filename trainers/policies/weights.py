"""A short hash of the weights in a folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from trainers.config.model_files.adapter_folder import base_of, has_adapters

__all__ = ["weights_sha256"]

DIGITS = 16
"""Hexadecimal digits of the hash that are kept."""
WHOLE = 64 << 20
"""Maximum bytes of a file that is hashed completely."""
PIECE, PIECES = 1 << 20, 64
"""Size and number of the evenly spaced pieces that are hashed of a larger file: a training step
changes weights everywhere, and reading tens of gigabytes would take longer than many episodes."""
FILES = (
    "*.safetensors", "pytorch_model*.bin", "adapter_model.bin",
    "tokenizer.json", "chat_template.jinja", "generation_config.json",
)  # fmt: skip
"""Files that decide how a model plays and contain no paths."""


def weights_sha256(folder: Path) -> str:
    """Hash names, sizes and contents of a model's weights, tokenizer and chat template.

    Files of up to 64 MiB are hashed completely, larger ones by 64 pieces of 1 MiB. For adapters the
    base weights are included if they are in a local folder.

    Args:
        folder: The folder of a model or of adapters.

    Returns:
        The first 16 hexadecimal digits of a SHA-256.
    """
    digest = hashlib.sha256()
    for file in sorted({file for pattern in FILES for file in folder.glob(pattern)}):
        size = file.stat().st_size
        # Sizes are hashed, too, so that different lists of files never give the same bytes.
        digest.update(f"{file.name} {size} ".encode())
        _add(digest, file, size)
    digest.update(_template(folder).encode())
    if has_adapters(folder):
        base = Path(base_of(folder))
        digest.update((weights_sha256(base) if base.is_dir() else base.name).encode())
    return digest.hexdigest()[:DIGITS]


def _add(digest: hashlib._Hash, file: Path, size: int) -> None:
    with file.open("rb") as stream:
        if size <= WHOLE:
            while block := stream.read(PIECE):
                digest.update(block)
            return
        for piece in range(PIECES):
            stream.seek((size - PIECE) * piece // (PIECES - 1))
            digest.update(stream.read(PIECE))


def _template(folder: Path) -> str:
    """Return the chat template from the tokenizer's settings."""
    try:
        settings = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        return json.dumps(settings.get("chat_template"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
