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
"""When images are pulled."""
PULLING = ("namespace", "docker")
"""Back ends that pull images themselves; the server of ``remote`` follows its own policy."""
LONGEST_LOG = 32 << 20
"""Bytes of the log of a test run that are kept; thousands of tests write megabytes."""
LARGEST_FILE = 4 << 20
"""Maximum size of a file that an agent can see and change, in bytes."""
MOUNTING = ("namespace", "container")
"""Isolation of the back ends that show files of this machine read-only."""
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
"""Images hold the history of their repository, and often the commit with the solution in it: agents
have read it there (SWE-bench#465). One commit is left, of the files as they are."""

_LISTING = "/tmp/agentgym.files"
_LIST = f"""\
{{ command -v git > /dev/null && {GIT} ls-files -z --cached --others --exclude-standard; }} \
> {_LISTING} || find . -path './.*' -prune -o -type f -print0 > {_LISTING}
"""
LARGEST_LISTING = 64 << 20
"""Bytes of the list of a repository's files."""
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
            EnvFailure: The repository cannot be brought into its state; SandboxLost, not another
                SandboxDied, if the box ended meanwhile: nothing of an agent has run in it.
        """
        try:
            return self._open(instance, grading)
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

        They lie in a folder of the host that is mounted read-only, whatever user commands are. A
        back end that shows no such folder (``remote``, ``subprocess``) gets them written, and then
        the source under test can change them.

        Args:
            instance: The instance, whose source is a folder.
            brought: Content by absolute path inside.
            folders: Folders of which nothing but what is brought shall be there.

        Yields:
            The box, and where a path of ``brought`` really lies.

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

    def _open(self, instance: Instance, grading: bool) -> Sandbox:
        """Start a box with the repository and its fault."""
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

        They are what git counts as its files: those under version control, and new ones that it
        does not ignore. Without git they are all that lie there.

        Args:
            instance: The instance, whose source is an image.

        Raises:
            SandboxUnavailable: No back end can run on this machine.
            EnvFailure: The repository cannot be brought into its state.
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
        """Describe a box for a repository of a folder."""
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
        """Describe a box for a repository of an image."""
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
    now = box.changes()
    changes = {
        path: content for path, content in now.items()
        if path not in initial_changes or initial_changes[path] != content
    }  # fmt: skip
    for path in initial_changes.keys() - now.keys():  # as the image has it, not as it was given
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
    for entry in (folder, *folder.rglob("*")):  # for whatever user reads them inside
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    return mounts


def _locate_file(path: str) -> str:
    """Return where a file lies that is written, since it cannot be mounted: below the repository.

    As a relative path, since that is not at its usual place without isolation.
    """
    inside = path == WORKDIR or path.startswith(f"{WORKDIR}/")
    return path.removeprefix(WORKDIR).lstrip("/") if inside else f".brought{path}"


def write_files(box: Sandbox, files: Mapping[str, bytes | None]) -> None:
    """Write files into a box, and remove those whose content is None.

    Raises:
        OSError: One cannot be written.
    """
    removed = [path for path, content in files.items() if content is None]
    if removed:
        box.exec(f"rm -rf -- {shlex.join(removed)}")
    for path, content in files.items():
        if content is not None:
            box.write(path, content)


def run_checked(box: Sandbox, command: str, purpose: str, timeout: float = 300.0) -> None:
    """Run a command that has to succeed.

    Raises:
        EnvFailure: It did not.
    """
    result = box.exec(command, timeout=timeout)
    if result.exit_code:
        raise EnvFailure(
            f"expected {purpose} to succeed, got exit code {result.exit_code}: {result.text[-500:]}"
        )


def _prepare(box: Sandbox, source: ImageSource, grading: bool) -> None:
    """Bring the repository of an image into the state that the instance names."""
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
    """Replace the history of the repository of an image by one commit of the files as they are.

    Raises:
        EnvFailure: It cannot be.
    """
    run_checked(box, _ONE_COMMIT, "making one commit of the repository")


def _list_files(box: Sandbox) -> frozenset[str]:
    """List the files of the repository in a box that no agent has used."""
    run_checked(box, _LIST, "listing the files of the repository")
    listing = box.read(_LISTING, LARGEST_LISTING).decode("utf-8", "surrogateescape")
    box.exec(f"rm -f {_LISTING}")
    return frozenset(path.removeprefix("./") for path in listing.split("\0") if path)


def apply_in_box(box: Sandbox, diff: str, purpose: str) -> None:
    """Apply a diff in a box with what it has, git or patch, in the ways of SWE-bench's harness.

    A way that fails may leave a part behind, so the files are put back before the next.

    Raises:
        EnvFailure: It fits in none of these ways.
    """
    paths = {
        path
        for file_diff in read_diff(diff, binary=True)
        for path in (file_diff.before, file_diff.after)
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
