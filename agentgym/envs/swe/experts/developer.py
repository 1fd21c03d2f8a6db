"""The expert that works like a person: run the tests, view the code, edit it, test again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentgym.envs.swe.engine.commands import BASH, EDIT, VIEW, SWECommand
from agentgym.envs.swe.engine.session import SWEState
from agentgym.envs.swe.experts.base import Expert
from agentgym.envs.swe.experts.oracle import OracleExpert
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.trees import contents

MOST_TESTS = 3
"""Maximum number of test files in a command."""
AROUND = 20
"""Number of lines to view before and after an edit."""


class DeveloperExpert(Expert):
    """Runs the failing tests, views the code, edits it, and runs the tests again.

    It knows the solution, like the oracle, but a policy can learn from its actions: every edit of a
    file follows a view of it.
    """

    def __init__(self) -> None:
        self._oracle = OracleExpert()

    def plan(self, instance: Instance, state: SWEState) -> Sequence[SWECommand] | None:
        """Return the remaining commands, including the submission."""
        solution = self._oracle.plan(instance, state)
        if solution is None or not isinstance(instance.source, FolderSource):
            return solution
        tests = self._tests(instance)
        test_command = tests.write()
        changes = solution[:-1]
        # Run the tests once before the first change, and again after the last one.
        first = [tests] if changes and test_command not in state.commands else []
        last = [tests] if changes or state.commands[-1:] != (test_command,) else []
        return [*first, *self._looks(instance, state, changes), *changes, *last, solution[-1]]

    def _looks(
        self, instance: Instance, state: SWEState, changes: Sequence[SWECommand]
    ) -> Iterator[SWECommand]:
        """Yield a view of the first edit's surroundings in each file that is not changed yet."""
        assert isinstance(instance.source, FolderSource)
        sources, visited = contents(instance.source), set(state.edits.counted)
        for change in changes:
            if change.name != EDIT or change.text in visited or not change.old:
                continue
            visited.add(change.text)
            text = sources.get(change.text, b"").decode("utf-8", "replace")
            line = text[: max(0, text.find(change.old))].count("\n") + 1
            look = SWECommand(VIEW, change.text, start=max(1, line - AROUND), end=line + AROUND)
            if look.write() not in state.commands:
                yield look

    def _tests(self, instance: Instance) -> SWECommand:
        """Return the command that runs the files of the failing tests.

        Hidden files are left out; without any visible file, the command runs all tests.
        """
        assert isinstance(instance.source, FolderSource)
        sources = contents(instance.source)
        files = sorted({test.partition("::")[0] for test in instance.fail_to_pass})
        visible_files = [file for file in files if file in sources][:MOST_TESTS]
        return SWECommand(BASH, " ".join(["python -m pytest -q", *visible_files]))
