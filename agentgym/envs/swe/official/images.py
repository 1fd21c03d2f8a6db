"""Determine the name of a row's image.

The row may name it; otherwise the naming rule of its set applies
(:data:`~agentgym.envs.swe.official.sets.DATA_SETS`). With a mirror of the images, its registry and
namespace, such as ``registry.example/mine``, replace those of the name (``docker.io/swebench``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentgym.envs.swe.official.sets import DataSet
from agentgym.errors import ConfigurationError, DataError
from agentgym.sandbox.images.names import canonical

IMAGE_FIELDS = ("image", "image_name", "docker_image")
"""Fields of a row that may contain the name of its image; the first non-empty one counts."""


def image_name(
    data_set: DataSet, row: Mapping[str, Any], instance_id: str, image_mirror: str = ""
) -> str:
    """Return the image of a row.

    Args:
        data_set: The set of the row.
        row: The row.
        instance_id: Id of the instance.
        image_mirror: Registry and namespace that replace those of the image; empty: none.

    Raises:
        ConfigurationError: ``image_mirror`` is invalid.
        DataError: The row names no image and the set has no rule, or the name is invalid.
    """
    named = next((row[name] for name in IMAGE_FIELDS if row.get(name)), None)
    if named is not None and not isinstance(named, str):
        raise DataError(f"expected the name of an image in image_name, got {named!r:.80}")
    name = named or _by_rule(data_set, row, instance_id)
    name = name.strip()
    canonical(name)
    return relocated(name, image_mirror) if image_mirror else name


def relocated(image: str, image_mirror: str) -> str:
    """Return an image's name with another registry and namespace.

    Raises:
        ConfigurationError: ``image_mirror`` is not a registry and namespace.
    """
    moved = f"{image_mirror.strip('/')}/{image.rpartition('/')[2]}"
    try:
        canonical(moved)
    except DataError:
        raise ConfigurationError(
            "expected a registry and namespace such as registry.example:5000/mine, "
            f"got {image_mirror!r:.200}"
        ) from None
    return moved


def _by_rule(data_set: DataSet, row: Mapping[str, Any], instance_id: str) -> str:
    if not data_set.image:
        raise DataError(
            f"expected the image of the instance in {' or '.join(IMAGE_FIELDS)}, but there is "
            f"none, and the set {data_set.name} has no rule for names"
        )
    repo = str(row.get("repo", "")).rpartition("/")[2]
    names = {"id": instance_id, "repo": repo}
    dashed = {key: name.lower().replace("__", data_set.separator) for key, name in names.items()}
    return data_set.image.format(**dashed)
