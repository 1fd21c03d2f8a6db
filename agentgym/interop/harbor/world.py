"""A task of Harbor as a world: commands in a box, and the task's own tests as the reward."""

from __future__ import annotations

import base64
import gzip
import io
import json
import logging
import math
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from agentgym.core.attribution import ActionFailed, Trials, attribute_failure
from agentgym.core.outcome import StopReason
from agentgym.core.tasks import Task
from agentgym.envs.swe.engine.commands import BASH, SUBMIT, CommandFault, SWECommand, only_command
from agentgym.envs.swe.engine.observation import show
from agentgym.envs.swe.instance_boxes import PULLING
from agentgym.interop.harbor.boxes import FOLDERS, LOGS, box_config, carry, run, send_folder
from agentgym.interop.harbor.folder import HarborTask, files_of
from agentgym.interop.harbor.shortages import describe_shortages, shortages
from agentgym.interop.world import World, WorldTurn
from agentgym.sandbox import (
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxLimits,
    SandboxLost,
    SandboxUnavailable,
)
from agentgym.sandbox.docker.engine import find_engine
from agentgym.sandbox.docker.images import Images
from agentgym.sandbox.registry import check_backend, choose_backend, open_sandbox
from agentgym.support.strict_json import parse_json

LONGEST_COMMAND = 3600
"""Most seconds that a command may ask for."""
SHOWN_CHARACTERS = 8000
"""Most characters of an output that are shown."""
CHUNK = 24_000
"""Characters of one command of the expert: less than what an action may have."""
LARGEST_REWARD = 1 << 16
"""Bytes of a file with a reward."""
DIED = "[the box died of this command]"
_log = logging.getLogger(__name__)
_REWARDS = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
_PACKED = "/tmp/.solution"
_TRY_DISK = "head -c 65536 /dev/zero > /tmp/.agentgym-probe; rm -f /tmp/.agentgym-probe"


class HarborState(NamedTuple):
    """Everything about an episode that a snapshot holds."""

    task_id: str
    """The task."""
    commands: tuple[str, ...]
    """Commands that were carried out."""
    over: bool
    """Whether it was submitted, or the box died."""
    files: bytes | None
    """Files of the box; None before the first command, and where commands have to be repeated."""
    repeated: bool = False
    """Whether the commands have to be carried out again, as files hold no services."""
    short: tuple[str, ...] = ()
    """What commands ran out of."""


class HarborVerdict(NamedTuple):
    """What tests say of an episode."""

    reward: float | None
    """What they pay; None if that cannot be read."""
    reason: str = ""
    """Why it cannot."""
    short: frozenset[str] = frozenset()
    """What they ran out of."""


class HarborWorld(World):
    """Plays tasks, one after the other, each in a box that the first command opens.

    Args:
        tasks: The tasks, by id.
        sandbox: The back end.
        seconds: What a command may take.
        build: Whether images that are not there are built, by a container engine.
        background: Whether services live between commands.
    """

    attributes_failures: ClassVar[bool] = True

    def __init__(
        self,
        tasks: Mapping[str, HarborTask],
        sandbox: str,
        seconds: float,
        build: bool = False,
        background: bool = True,
    ) -> None:
        self._tasks, self._sandbox, self._seconds, self._build = tasks, sandbox, seconds, build
        self._background, self._services = background, 0
        self._task: HarborTask | None = None
        self._state = HarborState("", (), True, None)
        self._box: Sandbox | None = None
        self._plans: dict[str, tuple[str, ...]] = {}

    def reset(self, task: Task, seed: int) -> str:
        """Begin a task."""
        self.close()
        self._task, self._state = self._tasks[task.id], HarborState(task.id, (), False, None)
        self._check(self._task)
        folder = self._task.recipe.workdir
        return f"{task.goal}\n\nYou are in {folder}. Submit when you are done; only then tests run."

    def step(self, text: str) -> WorldTurn:
        """Carry out a command, or the submission."""
        try:
            command, _ = only_command(text)
        except CommandFault as fault:
            return WorldTurn(f"invalid: {fault}", valid=False, reason=str(fault))
        if command.name not in (BASH, SUBMIT):
            reason = f"there is no action {command.name} here"
            return WorldTurn(f"invalid: {reason}", valid=False, reason=reason)
        if command.name == SUBMIT:
            self._record(command)
            self._state = self._state._replace(over=True)
            return self._graded()
        seconds = self._seconds_of(command)
        try:
            box = self._opened()
            self._record(command)
            result = box.exec(command.text, timeout=seconds)
        except SandboxLost:
            raise
        except SandboxDied:
            self._state = self._state._replace(over=True)
            self._close_box()
            return WorldTurn(
                DIED, done=True, success=False, reason=DIED, stop_reason=StopReason.SANDBOX
            )
        self._services = result.running
        short = {*self._state.short, *shortages(result)}
        self._state = self._state._replace(short=tuple(sorted(short)))
        return WorldTurn(
            show(result, seconds, SHOWN_CHARACTERS),
            details={"exit_code": result.exit_code, "timed_out": result.timed_out},
        )

    def expert(self) -> str | None:
        """Return the next command that brings the solution into the box and runs it."""
        return next(iter(self.left()), None)

    def left(self) -> list[str]:
        """Return the commands of the expert that were not carried out yet."""
        if self._task is None or self._state.over:
            return []
        return [
            command for command in self._plan(self._task) if command not in self._state.commands
        ]

    def admissible(self) -> Sequence[str]:
        """Return a listing command and the submission, as useful commands cannot be listed."""
        return (
            [] if self._state.over else [SWECommand(BASH, "ls").write(), SWECommand(SUBMIT).write()]
        )

    def state(self) -> str:
        """Return what was done so far."""
        return json.dumps([self._state.commands, self._state.over])

    def snapshot(self) -> HarborState:
        """Return the state, with the files of the box.

        No snapshot holds services: where some run, the commands will be carried out again.
        """
        if self._box is None:
            return self._state
        if self._services and self._box.exec("true", cwd="/").running:
            return self._state._replace(files=None, repeated=True)
        return self._state._replace(files=self._box.snapshot(), repeated=False)

    def restore(self, state: HarborState) -> None:
        """Return to a state; the files come back when the next command needs them."""
        self.close()
        self._state, self._task = HarborState(*state), self._tasks[state[0]]

    def close(self) -> None:
        """End the box; may be called twice."""
        self._close_box()

    # -- parts ----------------------------------------------------------------------------------

    def _record(self, command: SWECommand) -> None:
        """Remember a command that is carried out."""
        self._state = self._state._replace(commands=(*self._state.commands, command.write()))

    def _seconds_of(self, command: SWECommand) -> float:
        """Return how long a command may take."""
        return min(self._seconds, command.timeout or self._seconds)

    def _close_box(self) -> None:
        box, self._box, self._services = self._box, None, 0
        if box is not None:
            box.close()

    def _check(self, task: HarborTask) -> None:
        """Say before the first command that a task cannot be played here."""
        check_backend(self._config(task), self._sandbox)

    def _config(self, task: HarborTask) -> SandboxConfig:
        memory, disk, *_ = task.resources
        limits = SandboxLimits(
            memory=memory, disk=disk, file_size=disk, files=200_000, processes=512
        )
        return box_config(
            task.recipe, limits, task.environment, task.image, background=self._background
        )

    def _open_box(self, task: HarborTask) -> Sandbox:
        """Start a fresh box of a task's environment."""
        config = self._config(task)
        built = bool(task.image) and task.image != task.recipe.image
        try:
            if built and self._build:
                Images(find_engine()).build(task.folder / "environment", task.image)
            name = choose_backend(config) if self._sandbox == "auto" else self._sandbox
            # Anybody may have published something under the name of an image that is built here.
            options = {"pull": "never"} if built and name in PULLING else {}
            box = open_sandbox(config, name, **options).start()
        except SandboxUnavailable as error:
            if not built:
                raise
            raise SandboxUnavailable(
                f"expected the image {task.image} of {task.name}, whose environment needs one "
                f"({task.recipe.obstacles[0][:100]}): give --env-kwargs build=true where an "
                f"engine may build it, or `docker build -t {task.image} "
                f"{task.folder / 'environment'}`; got: {error}"
            ) from error
        except SandboxDied as error:
            raise SandboxLost(f"expected a box for {task.name}, got: {error}") from error
        try:
            run(box, f"mkdir -p {' '.join(FOLDERS + LOGS)} {shlex.quote(task.recipe.workdir)}")
            if not built:
                task.recipe.fill(box)
        except BaseException as error:
            box.close()
            if isinstance(error, OSError | SandboxDied):
                raise SandboxLost(f"expected a box for {task.name}, got: {error}") from error
            raise
        return box

    def _opened(self) -> Sandbox:
        """Return the box of the episode."""
        assert self._task is not None
        if self._box is None:
            box = self._open_box(self._task)
            if self._state.files is not None:
                box.restore(self._state.files)
            self._box = box
            for text in self._state.commands if self._state.repeated else ():
                command, _ = only_command(text)
                if command.name == BASH:
                    self._services = box.exec(
                        command.text, timeout=self._seconds_of(command)
                    ).running
        return self._box

    def _graded(self) -> WorldTurn:
        """Run the tests on what was done, and end the episode and its services."""
        task = self._task
        assert task is not None
        try:
            verdict = self._judged(task)
        except SandboxLost:
            raise
        except SandboxDied:
            verdict = HarborVerdict(None, "the box died of the tests")
        finally:
            self._close_box()
        reward, reason = verdict.reward, verdict.reason
        if reward is not None and reward >= 1:
            return WorldTurn("[submitted]", reward, done=True, success=True, score=1.0)
        if reward is None:
            untouched = Trials([lambda: self._test_untouched(task)], known_good=True)
            failure = ActionFailed(
                f"expected the tests of {task.name} to write a reward, and they write none on an "
                f"untouched environment either: {reason}"
            )
            attribute_failure(failure, lambda: untouched)
        short = sorted({*self._state.short, *verdict.short})
        note = describe_shortages(short, task.resources, self._seconds)
        if note:
            _log.warning("%s is unsolved, and %s", task.name, note)
        explanation = "; ".join(filter(None, (reason, note)))
        return WorldTurn(
            f"[submitted: {explanation}]" if explanation else "[submitted]",
            reward or 0.0,
            done=True,
            success=False,
            score=min(1.0, max(0.0, reward or 0.0)),
            reason=explanation,
            details={"short": short},
            stop_reason=StopReason.ACTION_ERROR if reward is None else StopReason.NONE,
        )

    def _judged(self, task: HarborTask) -> HarborVerdict:
        """Return what the tests say."""
        worked = self._opened()
        if task.judge is None:
            return _tested(worked, task)
        with self._open_box(task) as judge:
            try:
                for path, excluded in task.artifacts:
                    carry(worked, judge, path, excluded)
            except OSError as error:
                problem = f"what was done cannot be brought to the tests: {error}"[:300]
                return HarborVerdict(None, problem)
            return _tested(judge, task)

    def _test_untouched(self, task: HarborTask) -> None:
        """Run the tests on an untouched environment.

        Raises:
            ActionFailed: They write no reward there either.
        """
        with self._open_box(task) as box:
            verdict = _tested(box, task)
        if verdict.reward is None:
            raise ActionFailed(verdict.reason)

    def _plan(self, task: HarborTask) -> Sequence[str]:
        """Return the commands of the expert; none where the task has no solution."""
        plan = self._plans.get(task.name)
        if plan is None:
            plan = self._plans[task.name] = tuple(_plan(task))
        return plan


def _plan(task: HarborTask) -> list[str]:
    if not (task.folder / "solution" / "solve.sh").is_file():
        return []
    text = base64.b64encode(_packed(task.folder / "solution")).decode()
    parts = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
    commands = [f"echo {part} >> {_PACKED}.{n}" for n, part in enumerate(parts)]
    files = " ".join(f"{_PACKED}.{n}" for n in range(len(parts)))
    variables = [f"{name}={value}" for name, value in task.solution_environment.items()]
    start = shlex.join([*(["env", *variables] if variables else []), "/solution/solve.sh"])
    last = (
        f"cat {files} | base64 -d | tar -xz -C /solution && rm -f {files} && cd "
        f"{shlex.quote(task.recipe.workdir)} && chmod +x /solution/solve.sh && {start}"
    )
    return [
        *(SWECommand(BASH, command).write() for command in (*commands, last)),
        SWECommand(SUBMIT).write(),
    ]


def _packed(folder: Path) -> bytes:
    """Return the files of a folder as an archive: the same bytes for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(files_of(folder)):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            content = path.read_bytes()
            member.size, member.mode = len(content), 0o644 | path.stat().st_mode & 0o111
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _tested(box: Sandbox, task: HarborTask) -> HarborVerdict:
    """Run the tests in a box."""
    try:
        run(box, "rm -rf /tests/* /tests/.[!.]* /logs/verifier && mkdir -p /tests /logs/verifier")
        send_folder(box, task.folder / "tests", "/tests")
        run(box, "chmod +x /tests/test.sh")
    except SandboxDied:
        raise
    except OSError as error:
        return HarborVerdict(None, f"the tests cannot be brought into the box: {error}"[:300])
    log = "/logs/verifier/test-stdout.txt"
    result = box.exec(
        f"(/tests/test.sh) > {log} 2>&1", timeout=task.test_seconds, env=task.test_environment
    )
    if result.timed_out:
        return HarborVerdict(None, f"the tests took longer than {task.test_seconds:g} s")
    for path in _REWARDS:
        try:
            content = box.read(path, LARGEST_REWARD)
        except FileNotFoundError:
            continue
        reward = read_reward(content, path.endswith(".json"))
        if reward is None:
            return HarborVerdict(None, f"{path} holds no finite number")
        if reward >= 1:
            return HarborVerdict(reward)
        # A log on a full disk does not say so.
        printed = box.exec(f"tail -c {LARGEST_REWARD} {log}; {_TRY_DISK}", cwd="/")
        return HarborVerdict(reward, short=shortages(result) | shortages(printed))
    return HarborVerdict(None, "the tests wrote no reward", shortages(result))


def read_reward(content: bytes, as_json: bool) -> float | None:
    """Return the reward that a file of Harbor's holds; None if it holds none.

    Of several rewards it is the one called ``reward``, else their mean.
    """
    text = content.decode("utf-8", "replace")
    try:
        rewards = parse_json(text) if as_json else float(text)
    except ValueError:
        return None
    values = [*rewards.values()] if isinstance(rewards, dict) else [rewards]
    if isinstance(rewards, dict) and "reward" in rewards:
        values = [rewards["reward"]]
    numbers = [
        float(value) for value in values if isinstance(value, int | float) and abs(value) < 1e15
    ]
    if not values or len(numbers) != len(values) or not all(map(math.isfinite, numbers)):
        return None
    return math.fsum(numbers) / len(numbers)
