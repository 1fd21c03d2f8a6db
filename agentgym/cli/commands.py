"""The implementations of the subcommands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import (
    Certify,
    Compare,
    Doctor,
    Eval,
    Export,
    Init,
    List,
    ListImages,
    LoadImage,
    Play,
    Protocols,
    PruneImages,
    PullImages,
    PushOpenEnv,
    PushVerifiers,
    Replay,
    ServeHttp,
    ServeMcp,
    ServeOpenEnv,
    ServeSandbox,
    Synth,
    View,
)
from agentgym.cli.environments import make
from agentgym.cli.families import family_subcommands
from agentgym.cli.leaderboard_arguments import (
    ExportPanel,
    OpenPanel,
    SealPanel,
    VerifyEntries,
)
from agentgym.registration.making import resolve

if TYPE_CHECKING:
    from rich.console import Console


def run(command: object, console: Console) -> int:
    """Run a parsed subcommand and return the exit code.

    Raises:
        AgentGymError: The input was invalid; the message is for the user.
    """
    added = {subcommand.arguments: subcommand.run for subcommand in family_subcommands()}
    action: Callable[[Any, Console], int] = {**_COMMANDS, **added}[type(command)]
    if not (trusted := getattr(command, "trust", ())):
        return action(command, console)
    from agentgym.support.terminal import say
    from agentgym.trust import trusting

    # On standard error, because standard output may be JSON.
    with trusting(*trusted, say=partial(say, _notes())):
        return action(command, console)


def _notes() -> Console:
    from rich.console import Console

    return Console(stderr=True)


# Subcommands import their modules when they run, so that `agentgym --help` is fast.
def _list(command: List, console: Console) -> int:
    from agentgym.cli.listing import show

    return show(command, console)


def _play(command: Play, console: Console) -> int:
    from agentgym.cli.play import play, tasks_and_view
    from agentgym.cli.screen import screen_of
    from agentgym.support.terminal import say

    suited = _play_defaults(command.env)
    env = make(command, command.grammar, suited)
    say(console, tasks_and_view(env, suited))
    base: Any = env.unwrapped
    options = {"split": base.split if command.split is None else command.split}
    options |= {"index": command.task_index, "horizon": command.horizon}
    try:
        play(
            env,
            options,
            seed=command.seed,
            hints=command.hints,
            screen=screen_of(console),
            ask=lambda: console.input("> ", markup=False),
        )
    finally:
        env.close()
    return 0


def _play_defaults(name: str) -> dict[str, Any]:
    """Return a family's arguments for human players; empty for other ids."""
    from agentgym.registration import families

    named = resolve(name)
    return next((dict(entry.play) for entry in families() if entry.id == named.id), {})


def _eval(command: Eval, console: Console) -> int:
    from agentgym.cli.evaluate import evaluate
    from agentgym.core import guard
    from agentgym.support.repeated_tracebacks import tracebacks_once

    with tracebacks_once(guard.logger):
        return evaluate(command, console)


def _protocols(command: Protocols, console: Console) -> int:
    from agentgym.cli.protocols import show

    return show(command, console)


def _compare(command: Compare, console: Console) -> int:
    from agentgym.cli.compare import compare

    return compare(command, console)


def _leaderboard(command: Any, console: Console) -> int:
    from agentgym.cli import leaderboard

    return leaderboard.ACTIONS[type(command)](command, console)


def _export_panel(command: ExportPanel, console: Console) -> int:
    from agentgym.cli.panels import export

    return export(command, console)


def _doctor(command: Doctor, console: Console) -> int:
    from agentgym.cli.diagnosis import show

    return show(command, console)


def _replay(command: Replay, console: Console) -> int:
    from agentgym.cli.replay import replay

    return replay(command, console)


def _export(command: Export, console: Console) -> int:
    from agentgym.cli.export import export

    return export(command, console)


def _view(command: View, console: Console) -> int:
    from agentgym.cli.view import view

    return view(command, console)


def _serve_http(command: ServeHttp, console: Console) -> int:
    from agentgym.cli.serve_envs import serve_http

    return serve_http(command, console)


def _serve_mcp(command: ServeMcp, console: Console) -> int:
    from agentgym.cli.serve_envs import serve_mcp

    return serve_mcp(command, console)


def _serve_openenv(command: ServeOpenEnv, console: Console) -> int:
    from agentgym.cli.serve_envs import serve_openenv

    return serve_openenv(command, console)


def _push_openenv(command: PushOpenEnv, console: Console) -> int:
    from agentgym.cli.push import push_openenv

    return push_openenv(command, console)


def _push_verifiers(command: PushVerifiers, console: Console) -> int:
    from agentgym.cli.push import push_verifiers

    return push_verifiers(command, console)


def _serve_sandbox(command: ServeSandbox, console: Console) -> int:
    from agentgym.cli.sandbox import serve

    return serve(command, console)


def _images(command: Any, console: Console) -> int:
    from agentgym.cli import images

    return images.ACTIONS[type(command)](command, console)


def _certify(command: Certify, console: Console) -> int:
    from agentgym.cli.certify import certify

    return certify(command, console)


def _synth(command: Synth, console: Console) -> int:
    from agentgym.cli.synth import check

    return check(command, console)


def _init(command: Init, console: Console) -> int:
    from agentgym.cli.init import init

    return init(command, console)


_COMMANDS: dict[type, Callable[[Any, Console], int]] = {
    List: _list,
    Init: _init,
    Play: _play,
    Eval: _eval,
    Protocols: _protocols,
    Compare: _compare,
    **dict.fromkeys((VerifyEntries, SealPanel, OpenPanel), _leaderboard),
    ExportPanel: _export_panel,
    Replay: _replay,
    Export: _export,
    View: _view,
    Doctor: _doctor,
    ServeHttp: _serve_http,
    ServeMcp: _serve_mcp,
    ServeOpenEnv: _serve_openenv,
    ServeSandbox: _serve_sandbox,
    PushOpenEnv: _push_openenv,
    PushVerifiers: _push_verifiers,
    **dict.fromkeys((LoadImage, PullImages, ListImages, PruneImages), _images),
    Certify: _certify,
    Synth: _synth,
}
