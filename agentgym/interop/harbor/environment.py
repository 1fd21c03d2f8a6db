r"""Our namespace sandbox as an environment of Harbor: its tasks run without Docker or a daemon.

    harbor run -p TASKS -a oracle \
        --env agentgym.interop.harbor:NamespaceEnvironment

A task is supported if its Dockerfile only copies files and needs no programs that this machine
lacks (:mod:`agentgym.sandbox.dockerfile`); any other task is refused before it starts, with a list
of the lines that need an image. Commands use the Python and pytest of this process. There is a
single user, who owns all files. There is no network: a task that may use it
(``network_mode = "public"``, the default of tasks) is refused, unless ``--ek offline=true`` says
that it does not need it.
"""

from __future__ import annotations

import asyncio
import shlex
import stat
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, require
from agentgym.interop.harbor.boxes import ARCHIVE, LOGS, box_config
from agentgym.sandbox import SandboxLimits
from agentgym.sandbox.archives import pack_tree
from agentgym.sandbox.base import LONGEST, ExecResult
from agentgym.sandbox.dockerfile import read_recipe
from agentgym.sandbox.namespace import NamespaceSandbox

if TYPE_CHECKING:
    from harbor.environments.base import BaseEnvironment
    from harbor.environments.base import ExecResult as HarborResult
    from harbor.environments.capabilities import (
        EnvironmentCapabilities,
        EnvironmentResourceCapabilities,
    )
    from harbor.models.task.config import NetworkMode, NetworkPolicy
else:
    _base = require("harbor.environments.base", "harbor")
    BaseEnvironment, HarborResult = _base.BaseEnvironment, _base.ExecResult
    _capabilities = require("harbor.environments.capabilities", "harbor")
    EnvironmentCapabilities = _capabilities.EnvironmentCapabilities
    EnvironmentResourceCapabilities = _capabilities.EnvironmentResourceCapabilities
    _config = require("harbor.models.task.config", "harbor")
    NetworkMode, NetworkPolicy = _config.NetworkMode, _config.NetworkPolicy

__all__ = ["NamespaceEnvironment"]

MEMORY, DISK = 2048, 1024
"""Default memory and disk space of a task, in megabytes."""
KEPT_OUTPUT = 4 << 20
"""Maximum size of a command's output, in bytes."""
LARGEST_DOWNLOAD = 256 << 20
"""Maximum size of a file copied out of a sandbox, in bytes."""
TIMED_OUT = 124
"""Exit status of a command that exceeded its time limit, as of ``timeout``."""


class NamespaceEnvironment(BaseEnvironment):
    """A sandbox of Linux namespaces as an environment of Harbor's trials.

    Args:
        offline: Whether tasks that may use the network run without one.
        **kwargs: Harbor's arguments of every environment.

    Raises:
        ConfigurationError: The environment of the task needs an image.
        ValueError: The task may use a network, which the sandbox does not have.
    """

    def __init__(self, *args: Any, offline: bool = False, **kwargs: Any) -> None:
        self._offline = str(offline).lower() == "true"
        self._box: NamespaceSandbox | None = None
        self._turn = asyncio.Lock()
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Return its name."""
        return "agentgym-namespace"

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Return the enforced resource limits: memory."""
        return EnvironmentResourceCapabilities(memory_limit=True)

    @classmethod
    def preflight(cls) -> None:
        """Raise an error if this machine cannot open sandboxes.

        Raises:
            SystemExit: It cannot; the message says why.
        """
        reason = NamespaceSandbox.probe()
        if reason:
            raise SystemExit(reason)

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Its capabilities; it never has a network."""
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        image, workdir = self.task_env_config.docker_image, self.task_env_config.workdir
        self._recipe = read_recipe(self.environment_dir, image or "", workdir or "")
        memory = self._effective_memory_mb or MEMORY
        disk = self._effective_storage_mb or DISK
        limits = SandboxLimits(
            memory=memory << 20,
            disk=disk << 20,
            file_size=disk << 20,
            files=200_000,
            processes=512,
            kept_output=KEPT_OUTPUT,
        )
        self._namespace_sandbox = NamespaceSandbox(box_config(self._recipe, limits))

    def validate_network_policy_support(self, network_policy: NetworkPolicy | None = None) -> None:
        """Refuse a network policy that allows a network.

        Raises:
            ValueError: The policy allows a network.
        """
        super().validate_network_policy_support(network_policy)
        policy = network_policy or self.network_policy
        if policy.network_mode != NetworkMode.NO_NETWORK and not self._offline:
            raise ValueError(
                f"expected network_mode='no-network', as sandboxes have no network, got "
                f"{policy.network_mode.value!r}; if the task does not need a network, use "
                "--ek offline=true"
            )

    async def set_network_policy(self, network_policy: NetworkPolicy) -> None:
        """Change the network policy; it must not allow a network either.

        Raises:
            ValueError: The policy allows a network.
        """
        self.validate_network_policy_support(network_policy)
        self._network_policy = network_policy

    async def start(self, force_build: bool) -> None:
        """Start a fresh sandbox with the files of the environment."""
        await self.stop(delete=True)
        box = self._namespace_sandbox
        await asyncio.to_thread(box.start)
        self._box = box
        logs = " ".join(LOGS)
        await self._checked(f"mkdir -p {logs} && chmod 777 {logs}", "/")
        await asyncio.to_thread(self._recipe.fill, box)

    async def stop(self, delete: bool) -> None:
        """Close the sandbox and remove all of its files."""
        box, self._box = self._box, None
        if box is not None:
            await asyncio.to_thread(box.close)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> HarborResult:
        """Run a command as the only user; ``user`` is ignored."""
        async with self._turn:
            result = await self._run(command, cwd, self._merge_env(env) or {}, timeout_sec)
        if result.timed_out:
            stdout = f"{result.text}\n[timed out after {timeout_sec} s]"
            return HarborResult(stdout=stdout, stderr="", return_code=TIMED_OUT)
        return HarborResult(stdout=result.text, stderr="", return_code=result.exit_code)

    async def _run(
        self, command: str, cwd: str | None, env: dict[str, str], timeout: float | None
    ) -> ExecResult:
        """Run a command in the box; one that nobody waits for any longer is killed, not the box."""
        box = self._running()
        work = asyncio.ensure_future(
            asyncio.to_thread(box.exec, command, timeout=timeout or LONGEST, cwd=cwd, env=env)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            while not work.done():
                box.interrupt()
                await asyncio.wait([work], timeout=0.2)
            raise

    def _running(self) -> NamespaceSandbox:
        if self._box is None:
            raise ConfigurationError("expected an environment that runs: call start() first")
        return self._box

    async def _checked(self, command: str, cwd: str) -> None:
        result = await self.exec(command, cwd=cwd)
        if result.return_code:
            raise OSError(f"expected {command!r:.200} to succeed, got {result.stdout!r:.400}")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file of this machine into the sandbox."""
        source = Path(source_path)
        mode = stat.S_IMODE(source.stat().st_mode)
        box = self._running()
        async with self._turn:
            await asyncio.to_thread(box.write, str(target_path), source.read_bytes(), mode)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the files of a folder of this machine into the sandbox; links stay links."""
        place = shlex.quote(str(target_dir))
        box, body = self._running(), pack_tree(Path(source_dir))
        async with self._turn:
            await asyncio.to_thread(box.write, ARCHIVE, body)
        await self._checked(
            f"mkdir -p {place} && tar --no-same-owner -xf {ARCHIVE} -C {place} && rm {ARCHIVE}",
            "/",
        )

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a regular file out of the sandbox.

        Raises:
            FileNotFoundError: The file does not exist.
            OSError: It is larger than :data:`LARGEST_DOWNLOAD`.
        """
        box = self._running()
        async with self._turn:
            content = await asyncio.to_thread(box.read, str(source_path), LARGEST_DOWNLOAD + 1)
        if len(content) > LARGEST_DOWNLOAD:
            raise OSError(f"expected a file of at most {LARGEST_DOWNLOAD:,} bytes: {source_path}")
        target = Path(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder out of the sandbox, without special files and links that lead out of it."""
        target = Path(target_dir)
        target.mkdir(parents=True, exist_ok=True)
        place = shlex.quote(str(source_dir))
        await self._checked(f"tar -C {place} -cf {ARCHIVE} .", "/")
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "transfer.tar"
            await self.download_file(ARCHIVE, archive)
            with tarfile.open(archive) as packed:
                packed.extractall(target, filter=_harmless)
        await self.exec(f"rm -f {ARCHIVE}", cwd="/")


def _harmless(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
    """Return what may be extracted of a member that a box packed; None leaves it out."""
    if not (member.isfile() or member.isdir() or member.issym()):
        return None
    try:
        return tarfile.data_filter(member, target)
    except tarfile.FilterError:
        return None
