"""The expert that looks up where files are, and then types one command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agentgym.envs.shell.engine.session import ANSWER, RUN, Problem, ShellStep
from agentgym.envs.shell.experts.base import DONE, Command
from agentgym.envs.shell.generator.config import CHANGES
from agentgym.envs.shell.generator.problems import TELLS
from agentgym.support.text_lines import first_line, split_lines

LOOK = "find . -type f | sort"
"""The command that shows where files are."""
_PART = re.compile(r"\{(\w+)\}")
_READS = {
    kind: re.compile(
        "".join(
            rf"(?P<{part[1:-1]}>\S+?)" if part.startswith("{") else re.escape(part)
            for part in re.split(r"(\{\w+\})", text)
        )
    )
    for kind, text in TELLS.items()
}
COMMANDS: Mapping[str, str] = {
    "count": "grep -cw {word} {path}",
    "sum": "awk '{{s += $NF}} END {{print s}}' {path}",
    "holder": "grep -rlw {word} .",
    "longest": "find . -name '*.{word}' -exec wc -l {{}} + | grep -v ' total$' | sort -n "
    "| tail -n 1",
    "sort": "sort -o {path} {path}",
    "replace": "sed -i 's/\\b{word}\\b/{other}/g' {path}",
    "delete": "find . -name '*.{word}' -delete",
    "collect": "grep -w {word} {path} > {folder}/{other}",
    # Of a folder without files only the question tells.
    "move": "mkdir -p {other}; grep -rlw {word} . | grep -v '^./{other}/[^/]*$' "
    "| xargs -r mv -t {other}",
}
"""Functions that return the solving command, by kind."""


class ReaderExpert:
    """Uses only visible information: the task, the locations of files, and its command's output."""

    def plan(self, problem: Problem, steps: Sequence[ShellStep]) -> list[Command]:
        """Return the remaining commands up to the answer; empty if there is no plan."""
        request = read_request(problem.text)
        if request is None:
            return []
        listed = next((step.observation for step in steps if step.command == LOOK), None)
        if listed is None:
            return [(RUN, LOOK), (RUN, ""), (ANSWER, "")]
        name = request[1].get("file")
        paths = [line.removeprefix("./") for line in split_lines(listed)]
        path = next((candidate for candidate in paths if candidate.rpartition("/")[2] == name), "")
        return self.ask(request, path, steps)

    def ask(
        self, request: tuple[str, Mapping[str, str]], path: str, steps: Sequence[ShellStep]
    ) -> list[Command]:
        """Return the commands that begin with the one that solves the task."""
        kind, words = request
        command = COMMANDS[kind].format(path=path, folder=path.rpartition("/")[0], **words)
        solving_step = next((step for step in steps if step.command == command), None)
        if solving_step is None:
            return [(RUN, command), (ANSWER, "")]
        if kind in CHANGES:
            return [(ANSWER, DONE)]
        # Of what wc prints the path stands last; grep says with its status that it counted none.
        first = first_line(solving_step.observation)
        return [(ANSWER, first.split()[-1].removeprefix("./"))]


def read_request(text: str) -> tuple[str, dict[str, str]] | None:
    """Parse the task: its kind, and the words in it."""
    for kind, pattern in _READS.items():
        match = pattern.fullmatch(text)
        if match:
            return kind, match.groupdict()
    return None
