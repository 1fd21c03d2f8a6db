"""Build a sandbox from a Dockerfile without an image.

Many task folders only copy files into an image of Python. If the programs of this machine can
replace that image, a namespace sandbox needs no engine: it gets the files, the variables and the
working folder. All other instructions are reported, so that no task is run incompletely.

A ``RUN`` line needs an image, unless a comment ``# agentgym: no-image`` declares that the programs
of this machine, including Python and pytest, replace it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentgym.errors import DataError
from agentgym.sandbox.base import Sandbox
from agentgym.support.strict_json import parse_json
from agentgym.support.text_lines import split_lines

NAME = "Dockerfile"
NO_IMAGE = "# agentgym: no-image"
"""The comment by which a Dockerfile declares that it needs no image."""
WORKDIR = "/app"
"""Default working folder."""
LARGEST = 1 << 20
"""Maximum size of a Dockerfile, in bytes."""
MOST_FILES, MOST_BYTES = 20_000, 256 << 20
"""Maximum number of files of a folder, and their maximum total size, in bytes."""
_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "var")
"""Folders of the root that come from this machine, and so are not writable in the sandbox."""
_SILENT = frozenset({"ARG", "CMD", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL"})
"""Instructions without effect on commands in a sandbox."""
_ALONE = frozenset({"", "0", "root"})
_PAIR = re.compile(r"""(?<!\w)(\w+)=("(?:\\.|[^"\\])*"|'[^']*'|(?:\\.|[^\s\\])*)""")


@dataclass(frozen=True)
class ImageRecipe:
    """The content of a sandbox."""

    image: str = ""
    """The image that it is based on."""
    workdir: str = WORKDIR
    """Working folder of commands."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Their variables."""
    files: tuple[tuple[str, Path], ...] = ()
    """Path of each file inside -> its path on this machine."""
    obstacles: tuple[str, ...] = ()
    """Lines of the file that need an image; empty if there are none."""

    @property
    def writable(self) -> tuple[str, ...]:
        """Folders of the root, besides :attr:`workdir`, with files."""
        tops = {"/" + place.split("/")[1] for place, _ in self.files}
        inside = ("/" + self.workdir.split("/")[1], "/tmp", "/home")
        return tuple(sorted(tops - {*inside}))

    def fill(self, box: Sandbox) -> None:
        """Write the files into a running sandbox.

        Raises:
            OSError: A file cannot be written, for instance because the sandbox's disk is full.
            SandboxDied: The sandbox ended.
        """
        for place, path in self.files:
            box.write(place, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))


def read_recipe(folder: Path, image: str = "", workdir: str = "") -> ImageRecipe:
    """Read the folder of an environment.

    Args:
        folder: Folder with a Dockerfile and the files that it copies; without a Dockerfile, the
            whole folder is copied into ``workdir``.
        image: An existing image that replaces the Dockerfile.
        workdir: Working folder of commands, if it differs from the Dockerfile's.

    Raises:
        DataError: The file cannot be read, leads out of the folder, or exceeds a limit.
    """
    path = folder / NAME
    if image or not path.is_file():
        place = workdir or WORKDIR
        obstacles = [f"docker_image = {image}"] if image else []
        if (folder / "docker-compose.yaml").exists():
            obstacles.append("docker-compose.yaml")
        built = image and path.is_file()
        files = () if built or not folder.is_dir() else tuple(_copied(folder, ".", place, place))
        return ImageRecipe(image, place, files=files, obstacles=tuple(obstacles))
    if path.stat().st_size > LARGEST:
        raise DataError(f"expected a Dockerfile of at most {LARGEST:,} bytes, got {path}")
    text = path.read_text("utf-8", "replace")
    reader = _Reader(folder, NO_IMAGE in (line.strip() for line in split_lines(text)))
    for line in _instructions(text):
        reader.take(line)
    if (folder / "docker-compose.yaml").exists():
        reader.obstacles.append("docker-compose.yaml")
    recipe = reader.recipe(workdir)
    if len(recipe.files) > MOST_FILES:
        raise DataError(f"expected at most {MOST_FILES:,} files in {folder}, got more")
    size = sum(file.stat().st_size for _, file in recipe.files)
    if size > MOST_BYTES:
        raise DataError(f"expected files of at most {MOST_BYTES:,} bytes in {folder}, got {size:,}")
    return recipe


def _instructions(text: str) -> Iterator[str]:
    """Yield the instructions, each on one line."""
    line = ""
    for part in split_lines(text):
        if part.lstrip().startswith("#"):
            continue
        line += part.strip()
        if line.endswith("\\"):
            line = line[:-1].rstrip() + " "
            continue
        if line.strip():
            yield line.strip()
        line = ""
    if line.strip():
        yield line.strip()


class _Reader:
    """Reads instructions one by one.

    Args:
        folder: Source folder of ``COPY``.
        no_image: Whether ``RUN`` lines can be ignored.
    """

    def __init__(self, folder: Path, no_image: bool) -> None:
        self.folder, self.no_image = folder, no_image
        self.image, self.workdir = "", ""
        self.environment: dict[str, str] = {}
        self.files: dict[str, Path] = {}
        self.obstacles: list[str] = []

    def take(self, line: str) -> None:
        """Read an instruction."""
        word, _, arguments = line.partition(" ")
        word, arguments = word.upper(), arguments.strip()
        if word == "FROM" and not self.image:
            self.image = arguments.split()[0] if arguments else ""
        elif word == "WORKDIR" and not set("$\0") & set(arguments):
            self.workdir = posixpath.normpath(
                posixpath.join("/", self.workdir, arguments.strip("\"'"))
            )
        elif word == "ENV" and "$" not in arguments:
            self._set(line, arguments)
        elif word in ("COPY", "ADD"):
            self._copy(line, arguments)
        elif word == "USER":
            self.obstacles += [] if arguments.partition(":")[0] in _ALONE else [line]
        elif not (word in _SILENT or (word in ("RUN", "SHELL") and self.no_image)):
            self.obstacles.append(line)

    def _set(self, line: str, arguments: str) -> None:
        name, _, value = arguments.partition(" ")
        pairs = _PAIR.findall(arguments) if "=" in name else [(name, value)]
        try:
            self.environment |= {key: " ".join(shlex.split(text)) for key, text in pairs}
        except ValueError:  # an unclosed quotation
            self.obstacles.append(line)

    def _copy(self, line: str, arguments: str) -> None:
        try:
            parts = parse_json(arguments) if arguments.startswith("[") else shlex.split(arguments)
        except ValueError:
            parts = []
        words = [word for word in parts if isinstance(word, str)] if isinstance(parts, list) else []
        flags = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if word not in flags] or [""]
        supported = all(
            flag.partition("=")[0] in ("--chown", "--chmod", "--link") for flag in flags
        )
        is_plain = not any(
            set("$*?[<\0") & set(word) or "://" in word for word in (*sources, target)
        )
        place = posixpath.normpath(posixpath.join("/", self.workdir, target))
        if not (supported and is_plain and sources) or place.split("/")[1] in _SYSTEM:
            self.obstacles.append(line)
            return
        for source in sources:
            self.files |= dict(_copied(self.folder, source, place, target))

    def recipe(self, workdir: str) -> ImageRecipe:
        """Return the recipe of the instructions read so far."""
        place = workdir or self.workdir
        place = WORKDIR if place in ("", "/") else place
        obstacles = list(self.obstacles)
        if place.split("/")[1] in _SYSTEM:
            obstacles.append(f"WORKDIR {place}")
        for path in self.files:
            if path.count("/") == 1:
                obstacles.append(f"COPY to {path}")
        files = tuple(sorted(self.files.items()))
        return ImageRecipe(self.image, place, self.environment, files, tuple(obstacles))


def _copied(folder: Path, source: str, place: str, target: str) -> Iterator[tuple[str, Path]]:
    """Yield path inside and path on this machine of each file of a source; links are left out.

    Raises:
        DataError: The source is missing or outside of the folder.
    """
    path = folder / source.lstrip("/")
    if not path.resolve().is_relative_to(folder.resolve()) or not path.exists():
        raise DataError(f"expected {source!r:.120} inside {folder}, which a Dockerfile copies")
    if path.is_dir():
        for count, file in enumerate(sorted(path.rglob("*"))):
            if count > 4 * MOST_FILES:
                raise DataError(f"expected at most {MOST_FILES:,} files in {folder}, got more")
            if file.is_file() and not file.is_symlink() and _inside(file, folder):
                yield posixpath.join(place, file.relative_to(path).as_posix()), file
        return
    into_folder = target.endswith("/") or target in (".", "..")
    yield (posixpath.join(place, path.name) if into_folder else place), path


def _inside(file: Path, folder: Path) -> bool:
    """Return whether a file is inside a folder after resolving all links."""
    return file.resolve().is_relative_to(folder.resolve())
