"""What the subcommands do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import (
    Command,
    Doctor,
    Eval,
    Index,
    List,
    Play,
    Replay,
    Serve,
    Swe,
    Validate,
    View,
)
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.making import make_env, parse_pairs, resolve

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.doctor import Check
    from agentgym.core import TextEnv
    from agentgym.policies.base import Policy


_NOTHING: Mapping[str, Any] = {}


def run(command: Command, console: Console) -> int:
    """Carry out a parsed subcommand and return the exit code.

    Raises:
        AgentGymError: The input was bad; the message is for the user.
    """
    action: Callable[[Any, Console], int] = _COMMANDS[type(command)]
    return action(command, console)


def _make(command: Play | Eval, suited: Mapping[str, Any] = _NOTHING) -> TextEnv:
    """Make the environment that a command names, with ``suited`` arguments where it names none."""
    asked = parse_pairs(command.set, "--set")
    if command.grammar and asked.setdefault("grammar", command.grammar) != command.grammar:
        raise ConfigurationError(
            f"expected one grammar, got --grammar {command.grammar} and --set "
            f"grammar={asked['grammar']}; leave one out"
        )
    return make_env(resolve(command.env)[1], {**suited, **asked}, "--set")


def _list(command: List, console: Console) -> int:
    from agentgym.registration import FAMILIES

    rows = [_describe(entry) for entry in FAMILIES]
    if command.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    from rich.table import Column, Table

    whole = partial(Column, no_wrap=True)  # what a person copies is never cut
    table = Table(whole("name"), whole("id"), whole("tasks"), "status", "summary")
    for row in rows:
        sizes = "\n".join(f"{split} {size:,}" for split, size in row["splits"].items())
        status = row["status"].replace("[", r"\[")
        table.add_row(row["name"], row["id"], sizes, status, row["summary"])
    console.print(table)
    return 0


def _describe(entry: Any) -> dict[str, Any]:
    """Describe a family; sizes are known only where it can be made."""
    from importlib.util import find_spec

    from agentgym.cli.doctor import install_command

    row = {"name": entry.name, "id": entry.id, "summary": entry.summary, "splits": {}}
    missing = [name for name in entry.packages if find_spec(name) is None]
    if missing:
        return {**row, "status": install_command(entry.extra)}
    try:
        env = make_env(entry.id, {}, "--set")
    except AgentGymError as error:
        return {**row, "status": str(error)}
    row["splits"] = {split: env.tasks.len(split) for split in env.tasks.splits}
    env.close()
    return {**row, "status": "ready"}


def _play(command: Play, console: Console) -> int:
    from agentgym.cli.play import play

    options: dict[str, Any] = {"split": command.split}
    if command.index is not None:
        options["index"] = command.index
    if command.horizon is not None:
        options["horizon"] = command.horizon
    env = _make(command, _play_defaults(command.env))
    try:
        play(
            env,
            options,
            seed=command.seed,
            hints=command.oracle,
            say=lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True),
            ask=lambda: console.input("> ", markup=False),
        )
    finally:
        env.close()
    return 0


def _play_defaults(name: str) -> dict[str, Any]:
    """Return what suits a person; ids that others registered have nothing of the kind."""
    from agentgym.registration import FAMILIES

    _, env_id = resolve(name)
    return next((dict(entry.play) for entry in FAMILIES if entry.id == env_id), {})


def _eval(command: Eval, console: Console) -> int:
    from rich.progress import Progress

    from agentgym.evaluation import evaluate

    env = _make(command)
    for path in filter(None, (command.output, command.record)):
        _check_writable(path)
    try:
        policy: Callable[[], Policy] | str = command.policy
        if command.policy == "chat":
            policy = partial(_chat, command, env.action_prompt(), env.language.grammar)
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("episodes", total=command.n)
            report = evaluate(
                policy,
                env,
                command.split,
                command.n,
                command.seed,
                horizon=command.horizon,
                record=command.record,
                on_episode=lambda row: progress.advance(bar),
                backend=command.backend,
                workers=command.workers,
                step_timeout=command.step_timeout,
            )
    finally:
        env.close()
    console.print(report.table())
    if command.output:
        text = json.dumps(report.to_dict(), indent=2, allow_nan=False)
        _write(command.output, f"{text}\n".encode())
    return 0


def _chat(command: Eval, action_prompt: str, grammar: str) -> Policy:
    from agentgym.policies.chat import ChatConfig, ChatPolicy

    config = ChatConfig(
        command.model,
        command.base_url,
        window=command.window,
        max_tokens=command.max_tokens,
        temperature=command.temperature,
        top_p=command.top_p,
        tools=grammar == "tool_call",
    )
    return ChatPolicy(config, action_prompt)


def _check_writable(path: Path) -> None:
    """Find out before a long run that its result cannot be written; leaves no file behind."""
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.open("a").close()
        else:
            tempfile.TemporaryFile(dir=path.parent).close()
    except (OSError, ValueError) as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: Exception) -> ConfigurationError:
    reason = getattr(error, "strerror", None) or error
    return ConfigurationError(f"expected a file that can be written, got {path}: {reason}")


def _write(path: Path, data: bytes) -> None:
    """Write a result whole or not at all; devices and pipes take it as it comes."""
    from agentgym.caching import write_atomically

    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            write_atomically(path.resolve(), data)  # a link stays one
    except (OSError, ValueError) as error:
        raise _not_writable(path, error) from error


def _doctor(command: Doctor, console: Console) -> int:
    from dataclasses import asdict

    from agentgym.cli.doctor import examine

    checks = examine()
    vital = any(check.vital for check in checks)
    if command.json:
        sys.stdout.write(json.dumps([asdict(check) for check in checks], indent=2) + "\n")
        return int(vital)
    from rich.table import Table

    table = Table("", "what", "found")
    for name, group in _rows(checks).items():
        bad = any(check.vital for check in group)
        good = all(check.ok for check in group)
        some = any(check.ok for check in group)
        lacking = "[red]broken[/]" if bad else f"[yellow]{'partly' if some else 'missing'}[/]"
        table.add_row("[green]ok[/]" if good else lacking, name, _found(group).replace("[", r"\["))
    console.print(table)
    for fix, groups in _fixes(checks).items():
        needed = "needed" if "core" in groups else "optional"
        console.print(f"{', '.join(groups)} ({needed}):\n  {fix}", markup=False, soft_wrap=True)
    console.print("The core is broken." if vital else "The core is fine.")
    return int(vital)


def _found(group: Sequence[Check]) -> str:
    """List what was found; what is missing for one reason stands together."""
    found = [f"{check.name} {check.detail}" for check in group if check.ok]
    lacking: dict[str, list[str]] = {}
    for check in group:
        if not check.ok and check.name not in lacking.setdefault(check.detail, []):
            lacking[check.detail].append(check.name)
    return "; ".join(
        filter(
            None,
            (
                ", ".join(found),
                *(f"{', '.join(names)} {detail}" for detail, names in lacking.items()),
            ),
        )
    )


def _rows(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """One table row for the core, for each extra and for the machine."""
    rows: dict[str, list[Check]] = {}
    for check in checks:
        rows.setdefault(check.group, []).append(check)
    return rows


def _fixes(checks: Sequence[Check]) -> dict[str, list[str]]:
    """Group what is missing by the command that installs it."""
    fixes: dict[str, list[str]] = {}
    for check in checks:
        what = check.name if check.group == "machine" else check.group
        if check.fix and what not in fixes.setdefault(check.fix, []):
            fixes[check.fix].append(what)
    return fixes


def _replay(command: Replay, console: Console) -> int:
    from agentgym.episodes import read_episodes, replay

    if command.env is not None:
        resolve(command.env)  # its module registers the id that the records name
    played = changed = 0
    for number, episode in enumerate(read_episodes(command.file), 1):
        report = replay(episode)
        played += 1
        if not report.equal:
            changed += 1
            console.print(
                f"episode {number} ({episode.task_id}): {report.difference}", markup=False
            )
    console.print(f"{played} episodes played again, {changed} changed.")
    return int(changed > 0)


def _view(command: View, console: Console) -> int:
    from agentgym.cli.view import view

    return view(command, console, _write)


def _index(command: Index, console: Console) -> int:
    from agentgym.cli.search import index

    return index(command, console)


def _serve(command: Serve, console: Console) -> int:
    if command.what == "sandbox":
        from agentgym.cli.sandbox import serve as serve_sandboxes

        return serve_sandboxes(command, console)
    from agentgym.cli.search import serve

    return serve(command, console)


def _validate(command: Validate, console: Console) -> int:
    from agentgym.cli.validate import validate

    return validate(command, console)


def _swe(command: Swe, console: Console) -> int:
    from agentgym.cli.swe import swe

    return swe(command.command, console)


_COMMANDS: dict[type, Callable[[Any, Console], int]] = {
    List: _list,
    Play: _play,
    Eval: _eval,
    Replay: _replay,
    View: _view,
    Doctor: _doctor,
    Index: _index,
    Serve: _serve,
    Validate: _validate,
    Swe: _swe,
}
