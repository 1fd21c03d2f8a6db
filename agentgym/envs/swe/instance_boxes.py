"""Sandboxes with an instance's repository: for the agent's work, and for grading it.

"Box" means such a sandbox in this package.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agentgym.envs.swe.diffs import read_diff
from agentgym.envs.swe.instance import FolderSource, ImageSource, Instance
from agentgym.envs.swe.runtime import SHOWN, WORKDIR, runtime
from agentgym.envs.swe.trees import tree
from agentgym.errors import EnvFailure
from agentgym.sandbox import Sandbox, SandboxConfig, SandboxDied, SandboxLimits, SandboxLost
from agentgym.sandbox.registry import check_backend, choose_backend, open_sandbox
from agentgym.support.caching import BoundedCache

SMALL = SandboxLimits(
    memory=1 << 30, processes=64, disk=64 << 20, files=5_000, file_size=16 << 20, output=20 << 20
)
"""Limits of a box with a repository from a folder."""
LARGE = SandboxLimits(
    memory=8 << 30, processes=1024, disk=4 << 30, files=200_000, file_size=1 << 30
)
"""Limits of a box with a repository from an image."""
PULLS = ("missing", "always", "never")
"""Policies for pulling images."""
PULLING = ("namespace", "docker")
"""Back ends that pull images themselves; the server of ``remote`` follows its own policy."""
LONGEST_LOG = 32 << 20
"""Maximum size, in bytes, of the log of a test run; thousands of tests write megabytes."""
LARGEST_FILE = 4 << 20
"""Maximum size of a file that an agent can see and change, in bytes."""
MOUNTING = ("namespace", "container")
"""Isolation kinds of the back ends that can mount host files read-only."""
LONGEST_REPORT = SMALL.output
"""Maximum size of the stored output of a grading box, in bytes; it contains reports and answers."""
GIT = "git -c safe.directory='*' -c core.autocrlf=false"
_DIFF = "/tmp/agentgym.diff"
_BACKUP = "/tmp/agentgym.tar"
_DATE = "2000-01-01T00:00:00Z"
_ONE_COMMIT = f"""\
find . -name .git -prune -exec rm -rf {{}} +
command -v git > /dev/null || exit 0
export GIT_AUTHOR_DATE={_DATE} GIT_COMMITTER_DATE={_DATE} GIT_CONFIG_NOSYSTEM=1
{GIT} init -q --template= && mkdir -p .git/info && echo /.venv > .git/info/exclude &&
{GIT} add -A &&
{GIT} -c user.name=maintainer -c user.email=maintainer@localhost -c commit.gpgsign=false \
commit -q --no-verify --allow-empty -m 'Initial commit'
"""
"""Replaces the history by one commit of the current files. Images contain the history of their
repository, often with the commit of the solution, and agents have read it there (SWE-bench#465)."""

_LISTING = "/tmp/agentgym.files"
_LIST = f"""\
{{ command -v git > /dev/null && {GIT} ls-files -z --cached --others --exclude-standard; }} \
> {_LISTING} || find . -path './.*' -prune -o -type f -print0 > {_LISTING}
"""
LARGEST_LISTING = 64 << 20
"""Maximum size, in bytes, of the list of a repository's files."""
_files: BoundedCache[ImageSource, frozenset[str]] = BoundedCache(512)


@dataclass(frozen=True)
class Boxes:
    """Settings by which boxes are opened."""

    sandbox: str = "auto"
    """Back end of the sandboxes; repositories in images need ``namespace``, ``docker`` or
    ``remote``."""
    allow_unsafe: bool = False
    """Whether commands may run without isolation if no isolating back end is available."""
    pull: str = "missing"
    """When images are pulled: one of :data:`PULLS`."""

    def check(self, source: FolderSource | ImageSource) -> None:
        """Raise SandboxUnavailable if no back end on this machine supports a source."""
        image = source.image if isinstance(source, ImageSource) else ""
        check_backend(SandboxConfig(image=image, trusted=self.allow_unsafe), self.sandbox)

    def open(self, instance: Instance, *, grading: bool = False) -> Sandbox:
        """Start a box with the repository and its fault.

        Args:
            instance: The instance.
            grading: Whether it is for grading: then it contains files that agents must not see.

        Raises:
            SandboxUnavailable: No back end can run on this machine.
            EnvFailure: The repository cannot be prepared. If the box dies, this is a SandboxLost
                and no other SandboxDied: no command of an agent can have caused it.
        """
        try:
            return self._open_box(instance, grading)
        except SandboxDied as error:
            raise SandboxLost(f"expected a box for {instance.id}, got: {error}") from error

    @contextmanager
    def judging(
        self,
        instance: Instance,
        brought: Mapping[str, bytes],
        folders: Collection[str] = (),
    ) -> Iterator[tuple[Sandbox, Callable[[str], str]]]:
        """Start a box for grading, with files that commands inside cannot change.

        The files are mounted read-only from a temporary folder of the host, which also holds
        against processes that run as root. Back ends that cannot mount (``remote``,
        ``subprocess``) get copies, and the source under test can change those.

        Args:
            instance: The instance; its source must be a folder.
            brought: The files: content by absolute path in the box.
            folders: Folders that are mounted as a whole, so that they contain no other files.

        Yields:
            The box, and a function that maps a path of ``brought`` to its actual path in the box.

        Raises:
            SandboxUnavailable: No back end can run on this machine.
            EnvFailure: The box cannot be started.
        """
        assert isinstance(instance.source, FolderSource)
        config = self._folder(instance, instance.source, grading=True)
        with tempfile.TemporaryDirectory(prefix="agentgym-judge-") as folder:
            mounts = _mounts(Path(folder), brought, folders)
            mount_config = replace(config, mounts={**config.mounts, **mounts})
            box = open_sandbox(mount_config, self.sandbox)
            mounted = box.isolation in MOUNTING
            if not mounted:
                box = open_sandbox(config, self.sandbox)
            try:
                box.start()
            except SandboxDied as error:
                raise SandboxLost(f"expected a box for {instance.id}, got: {error}") from error
            with box:
                if mounted:
                    yield box, str
                    return
                for path, content in brought.items():
                    box.write(_locate_file(path), content)
                yield box, _locate_file

    def _open_box(self, instance: Instance, grading: bool) -> Sandbox:
        """Start a box as `open` does, without translating errors."""
        source = instance.source
        if isinstance(source, FolderSource):
            return open_sandbox(self._folder(instance, source, grading), self.sandbox).start()
        config = self._image(instance, source, grading)
        backend = choose_backend(config) if self.sandbox == "auto" else self.sandbox
        options = {"pull": self.pull} if backend in PULLING else {}
        box = open_sandbox(config, backend, **options).start()
        try:
            _prepare(box, source, grading)
            if not grading and source not in _files:
                _files.put(source, _list_files(box))
        except BaseException:
            box.close()
            raise
        return box

    def files(self, instance: Instance) -> frozenset[str]:
        """Return the files of a repository in an image, as an agent receives it.

        They are the files that git tracks, and untracked ones that it does not ignore. Without
        git: all files outside top-level hidden folders.

        Args:
            instance: The instance; its source must be an image.

        Raises:
            SandboxUnavailable: No back end can run on this machine.
            EnvFailure: The repository cannot be prepared.
        """
        assert isinstance(instance.source, ImageSource)
        files = _files.get(instance.source)
        if files is None:
            self.open(instance).close()
            files = _files[instance.source]
        return files

    def _folder(
        self, instance: Instance, source: FolderSource, grading: bool = False
    ) -> SandboxConfig:
        """Return the configuration of a box with a repository from a folder."""
        shared = runtime()
        return SandboxConfig(
            tree=tree(source),
            workdir=WORKDIR,
            visible=(shared.folder,),
            mounts={SHOWN: shared.folder},
            hidden=shared.hidden,
            path=shared.path,
            environment={**shared.environment, **instance.environment},
            limits=replace(SMALL, kept_output=LONGEST_REPORT) if grading else SMALL,
            trusted=self.allow_unsafe,
        )

    def _image(self, instance: Instance, source: ImageSource, grading: bool) -> SandboxConfig:
        """Return the configuration of a box with a repository from an image."""
        return SandboxConfig(
            workdir=source.workdir,
            image=source.image,
            path=source.path,
            environment={"PAGER": "cat", "GIT_PAGER": "cat", **instance.environment},
            limits=replace(LARGE, kept_output=LONGEST_LOG) if grading else LARGE,
            trusted=self.allow_unsafe,
        )


def changes_since(
    box: Sandbox, initial_changes: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """Return the files that an agent has changed.

    Args:
        box: Its box.
        initial_changes: Differences from the image's files at the start, such as the fault.
    """
    new_changes = box.changes()
    changes = {
        path: content for path, content in new_changes.items()
        if path not in initial_changes or initial_changes[path] != content
    }  # fmt: skip
    for path in (
        initial_changes.keys() - new_changes.keys()
    ):  # the agent restored the image's version
        try:
            changes[path] = box.read(path, LARGEST_FILE)
        except FileNotFoundError:
            changes[path] = None
    return changes


def _mounts(
    folder: Path, brought: Mapping[str, bytes], folders: Collection[str]
) -> dict[str, Path]:
    """Write files into a folder of the host; return its mounts: path inside -> path on the host."""
    mounts: dict[str, Path] = {}
    for path, content in sorted(brought.items()):
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        place = next((mount for mount in folders if path.startswith(f"{mount}/")), path)
        mounts[place] = folder / place.lstrip("/")
    for entry in (folder, *folder.rglob("*")):  # readable for any user in the box
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    return mounts


def _locate_file(path: str) -> str:
    """Return the path of a file that is copied into a box because it cannot be mounted.

    The path is relative to the repository: without isolation that is not at `WORKDIR`, and nothing
    outside of it should be written.
    """
    inside = path == WORKDIR or path.startswith(f"{WORKDIR}/")
    return path.removeprefix(WORKDIR).lstrip("/") if inside else f".brought{path}"


def write_files(box: Sandbox, files: Mapping[str, bytes | None]) -> None:
    """Write files into a box, and delete those whose content is None.

    Raises:
        OSError: A file cannot be written.
    """
    removed = [path for path, content in files.items() if content is None]
    if removed:
        box.exec(f"rm -rf -- {shlex.join(removed)}")
    for path, content in files.items():
        if content is not None:
            box.write(path, content)


def run_checked(box: Sandbox, command: str, purpose: str, timeout: float = 300.0) -> None:
    """Run a command that has to succeed.

    Args:
        box: The box.
        command: The command.
        purpose: What it does, for the error message.
        timeout: Time limit in seconds.

    Raises:
        EnvFailure: The exit code is not 0.
    """
    result = box.exec(command, timeout=timeout)
    if result.exit_code:
        raise EnvFailure(
            f"expected {purpose} to succeed, got exit code {result.exit_code}: {result.text[-500:]}"
        )


def _prepare(box: Sandbox, source: ImageSource, grading: bool) -> None:
    """Reset the repository of an image, apply the fault, and hide what an agent may not see."""
    if source.commit:
        run_checked(box, f"git reset --hard -q {shlex.quote(source.commit)}", "git reset")
    if source.fault:
        apply_in_box(box, source.fault, "the fault")
    if grading:
        return
    if source.hidden:
        run_checked(box, f"rm -rf -- {shlex.join(source.hidden)}", "hiding the tests")
    one_commit(box)


def one_commit(box: Sandbox) -> None:
    """Replace the history of an image's repository by one commit of the current files.

    Raises:
        EnvFailure: git fails.
    """
    run_checked(box, _ONE_COMMIT, "making one commit of the repository")


def _list_files(box: Sandbox) -> frozenset[str]:
    """List the files of the repository in a box that no agent has used."""
    run_checked(box, _LIST, "listing the files of the repository")
    listing = box.read(_LISTING, LARGEST_LISTING).decode("utf-8", "surrogateescape")
    box.exec(f"rm -f {_LISTING}")
    return frozenset(path.removeprefix("./") for path in listing.split("\0") if path)


def apply_in_box(box: Sandbox, diff: str, purpose: str) -> None:
    """Apply a diff in a box with git or patch, trying the commands of SWE-bench's harness in turn.

    A command that fails may leave some hunks applied, so the files are restored before the next.

    Args:
        box: The box.
        diff: Unified diff.
        purpose: What the diff contains, for the error message.

    Raises:
        DataError: The text is not a diff.
        EnvFailure: No command can apply it.
    """
    paths = {
        path
        for file_diff in read_diff(diff, binary=True)
        for path in (file_diff.old_path, file_diff.new_path)
    }
    files = sorted(filter(None, paths))
    leavings = [f"{file}{end}" for file in files for end in ("", ".rej", ".orig")]
    box.write(_DIFF, diff.encode())
    command = f"""\
back() {{
  rm -f -- {shlex.join(leavings)}; [ ! -e {_BACKUP} ] || tar xf {_BACKUP}
  {GIT} reset -q 2> /dev/null; false
}}
rm -f {_BACKUP}; set --
for file in {shlex.join(files)}; do [ ! -e "$file" ] || set -- "$@" "$file"; done
[ $# = 0 ] || tar cf {_BACKUP} -- "$@"
{GIT} apply --whitespace=nowarn {_DIFF} ||
{GIT} apply --whitespace=nowarn --3way {_DIFF} || back ||
{GIT} apply --whitespace=nowarn --reject {_DIFF} || back ||
patch --batch --fuzz=5 -p1 -i {_DIFF} || back
code=$?; rm -f {_DIFF} {_BACKUP}; exit $code
"""
    run_checked(box, command, f"applying {purpose}")
