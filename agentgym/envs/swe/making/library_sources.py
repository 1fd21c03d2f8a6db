"""Where a library comes from: a folder, a source distribution, an index, what is installed."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath

from agentgym.errors import ConfigurationError, DataError
from agentgym.support.caching import publish
from agentgym.support.text_lines import split_lines

INSTALLED = "installed:"
"""Stands before the name of a distribution that is installed."""
MOST_FILES = 20_000
"""Most files of a source distribution."""
MOST_BYTES = 512 << 20
"""Most bytes of a source distribution, unpacked."""
_ARCHIVES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")
_PATIENCE = 600


def obtain(library: str, work: Path) -> Path:
    """Return a folder with a library and its tests.

    Args:
        library: A folder, the file of a source distribution, ``installed:NAME``, or a requirement
            such as ``toolz==1.2.0``, whose source distribution pip downloads. For its metadata pip
            runs the library's own build script, outside of any box.
        work: Where files are downloaded and unpacked.

    Returns:
        The folder, whose name is that of the library, mostly with its version.

    Raises:
        ConfigurationError: It is none of these.
        DataError: It cannot be had.
    """
    path = Path(library).expanduser()
    if library.startswith(INSTALLED):
        return _installed(library.removeprefix(INSTALLED), work)
    if path.is_dir():
        return path.absolute()
    if library.endswith(_ARCHIVES):
        if not path.is_file():
            raise ConfigurationError(f"expected a source distribution, got no file {library}")
        return unpack(path, work)
    return unpack(_download(library, work / "downloads"), work)


def _download(requirement: str, folder: Path) -> Path:
    """Download the source distribution of a requirement."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        parsed = Requirement(requirement)
    except InvalidRequirement as error:
        raise ConfigurationError(
            "expected a folder, the file of a source distribution, installed:NAME or a requirement "
            f"such as toolz==1.2.0, got {requirement!r:.200}"
        ) from error
    target = folder / f"{parsed.name}{str(parsed.specifier).replace('=', '')}"
    cached = [file for file in _files(target) if file.name.endswith(_ARCHIVES)]
    if cached:
        return cached[0]
    target.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
               ":all:", "--dest", str(target), requirement]  # fmt: skip
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataError(f"expected pip to download {requirement}, got: {error}") from error
    archives = [file for file in _files(target) if file.name.endswith(_ARCHIVES)]
    if process.returncode or not archives:
        reason = [line for line in split_lines(process.stderr) if "ERROR" in line]
        raise DataError(
            f"expected pip to download the source distribution of {requirement}, got: "
            f"{' '.join(reason)[-300:] or 'no file'}; download it yourself and give its file"
        )
    return archives[0]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def unpack(file: Path, work: Path) -> Path:
    """Unpack a source distribution and return its top folder.

    Only regular files are taken, and none outside of the folder.

    Raises:
        DataError: It is none, or too large.
    """
    name = next(file.name.removesuffix(end) for end in _ARCHIVES if file.name.endswith(end))
    target = work / "unpacked" / name
    if target.is_dir():
        return target
    scratch = target.with_name(f".{name}")
    shutil.rmtree(scratch, ignore_errors=True)
    size = 0
    try:
        for number, (path, content) in enumerate(_members(file)):
            size += len(content)
            if number >= MOST_FILES or size > MOST_BYTES:
                raise DataError(f"expected a source distribution of usual size, got {file}")
            parts = PurePosixPath(path).parts[1:]  # behind the one folder that holds all
            if parts and ".." not in parts:
                place = scratch.joinpath(*parts)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"expected a source distribution, got {file}: {error}") from error
    if not scratch.is_dir():
        raise DataError(f"expected a source distribution with one folder, got {file}")
    publish(scratch, target)
    return target


def _members(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the regular files of an archive."""
    if file.name.endswith(".zip"):
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and entry.file_size <= MOST_BYTES:
                    yield entry.filename, archive.read(entry)
        return
    with tarfile.open(file) as archive_:
        for member in archive_:
            if member.isfile() and member.size <= MOST_BYTES:
                yield member.name, (archive_.extractfile(member) or io.BytesIO()).read()


def _installed(name: str, work: Path) -> Path:
    """Copy the modules of an installed distribution; its tests have to be among them."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            f"expected a distribution that is installed, got {name!r}; see pip list"
        ) from error
    target = work / "unpacked" / f"{name}-{distribution.version}"
    for file in distribution.files or ():
        parts = PurePosixPath(str(file)).parts
        source = Path(str(file.locate()))
        if ".." in parts or "__pycache__" in parts or parts[0].endswith(".dist-info"):
            continue
        if source.is_file() and not source.name.endswith((".so", ".pyd")):
            place = target.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
    if not target.is_dir():
        raise DataError(f"expected {name} to be installed with its source files, got none")
    return target
