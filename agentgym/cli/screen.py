"""The screen of ``agentgym play``: frames in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agentgym.core.delegation import PLANNER
from agentgym.support.terminal import printable, say

if TYPE_CHECKING:
    from rich.console import Console

HELP = (
    "Type an action or its number; '?' explains the actions, 'quit' stops. Anything else takes a "
    "turn, as it would for an agent. An action that begins with ``` ends at the closing ```."
)


TASK = 80
"""Maximum length of a worker's task in the line that names the acting agent."""


class Screen(Protocol):
    """Displays an episode, turn by turn."""

    def task(self, info: Mapping[str, Any]) -> None:
        """Show the task, before the first turn."""

    def turn(
        self, observation: str, info: Mapping[str, Any], total: float, hint: str | None
    ) -> None:
        """Show the state and the actions; ``hint`` is None unless hints are enabled."""

    def refused(self, why: str) -> None:
        """Report that the last action was invalid, with the reason if known."""

    def help(self, actions: str) -> None:
        """Explain how to play, and all actions, including those without numbers."""

    def end(self, observation: str, info: Mapping[str, Any], total: float, ending: str) -> None:
        """Show the last observation, empty if already shown, and the result of the episode."""


def screen_of(console: Console) -> Screen:
    """Return the screen for a console: output to a pipe or a file has no frames."""
    return FramedScreen(console) if console.is_terminal else PlainScreen(console)


def result(info: Mapping[str, Any], total: float, ending: str) -> str:
    """Return the end and the reward of an episode in one line."""
    return (
        f"{ending} after {info['turn']} of {info['horizon']} turns: "
        f"score {info['score']:.3f}, reward {total:.3f}"
    )


def actor(info: Mapping[str, Any]) -> str:
    """Return a comma and the acting agent, with a worker's task; empty without workers."""
    agent = info.get("agent", "")
    if agent in ("", PLANNER):
        return agent and f", {agent}"
    return f", {agent}: {printable(info['agent_task'], TASK)}"


class PlainScreen:
    """Plain lines.

    Args:
        console: Where the lines are printed.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def _say(self, text: str) -> None:
        say(self._console, printable(text, None))

    def task(self, info: Mapping[str, Any]) -> None:
        """Print the task's id, its goal and how to play."""
        self._say(f"{info['task_id']}: {info['goal']}\n{HELP}\n")

    def turn(
        self, observation: str, info: Mapping[str, Any], total: float, hint: str | None
    ) -> None:
        """Print the actions below one another, and the observation."""
        del total
        actions = (action.replace("\n", "\n     ") for action in info["admissible_actions"])
        menu = [f"  {i}. {action}" for i, action in enumerate(actions, 1)]
        hints = [] if hint is None else [f"hint: {hint}"]
        turn = f"turn {info['turn'] + 1} of {info['horizon']}{actor(info)}"
        # The observation comes last: a long menu would push it off the screen.
        self._say("\n".join([*menu, "", observation, turn, *hints]))

    def refused(self, why: str) -> None:
        """Print a line in parentheses."""
        self._say(f"(not a valid action{': ' if why else ''}{why})")

    def help(self, actions: str) -> None:
        """Print how to play, and the actions."""
        self._say(f"{HELP}\n{actions}")

    def end(self, observation: str, info: Mapping[str, Any], total: float, ending: str) -> None:
        """Print the last observation and the result."""
        if observation:
            self._say(observation)
        self._say(f"\n{result(info, total, ending)}")


class FramedScreen:
    """Frames and colours: goal, observation, numbered actions in columns, and the state.

    Args:
        console: Where the frames are drawn.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def _frame(self, text: str, title: str, style: str) -> None:
        from rich.panel import Panel
        from rich.text import Text

        body, head = Text(printable(text.rstrip(), None)), Text(printable(title))
        self._console.print(Panel(body, title=head, title_align="left", border_style=style))

    def task(self, info: Mapping[str, Any]) -> None:
        """Frame the goal under the task's id."""
        self._frame(str(info["goal"]), f"goal of {info['task_id']}", "magenta")
        self._line(HELP, "dim")

    def turn(
        self, observation: str, info: Mapping[str, Any], total: float, hint: str | None
    ) -> None:
        """List the actions; frame the observation under turn and reward below them."""
        status = f"turn {info['turn'] + 1} of {info['horizon']}, reward {total:.3f}{actor(info)}"
        # The observation comes last: a long menu would push it off the screen.
        self._menu([printable(action, None) for action in info["admissible_actions"]])
        self._frame(observation, status, "cyan")
        if hint is not None:
            self._line(f"hint: {hint}", "yellow")

    def _line(self, text: str, style: str) -> None:
        line = printable(text, None)
        self._console.print(line, style=style, markup=False, highlight=False)

    def _menu(self, actions: Sequence[str]) -> None:
        from rich.columns import Columns
        from rich.table import Table
        from rich.text import Text

        if any("\n" in action or len(action) > self._console.width // 2 for action in actions):
            table = Table.grid(padding=(0, 1))
            for i, action in enumerate(actions, 1):
                table.add_row(Text(f"{i:>2}", "bold green"), Text(action))
            self._console.print(table)
            return
        numbered = [
            Text.assemble((f"{i:>2} ", "bold green"), action) for i, action in enumerate(actions, 1)
        ]
        self._console.print(Columns(numbered, padding=(0, 3), column_first=True))

    def refused(self, why: str) -> None:
        """Print a red line."""
        self._line(f"Not a valid action{': ' if why else '.'}{why}", "red")

    def help(self, actions: str) -> None:
        """Print how to play, dimmed, and the actions."""
        self._line(HELP, "dim")
        self._line(actions, "")

    def end(self, observation: str, info: Mapping[str, Any], total: float, ending: str) -> None:
        """Frame the last observation, and the result in the colour of how well it went."""
        if observation:
            self._frame(observation, f"after turn {info['turn']}", "cyan")
        style = "green" if info["success"] else "red"
        self._frame(
            result(info, total, ending), "solved" if info["success"] else "not solved", style
        )
