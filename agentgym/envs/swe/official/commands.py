"""Determine the test command of a row, and the format of its log.

Fields of the row take precedence: ``eval_script`` (SWE-bench since 5.0: a whole script, which also
adds the tests), ``test_cmd``, or ``install_config.test_cmd`` (SWE-rebench). Otherwise the tables
of ``commands.yaml`` are searched for the repository; the default is pytest on its test files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.envs.swe.official.logs import LOG_FORMATS
from agentgym.envs.swe.official.patches import remaining_files
from agentgym.envs.swe.official.sets import DataSet
from agentgym.errors import DataError
from agentgym.support.bundled_files import read_table
from agentgym.support.strict_json import parse_json

PYTEST = "pytest -rA"
SMITH = "pytest --disable-warnings --color=no --tb=no --verbose"
"""Test command of SWE-smith [SWE-smith: profiles/python.py]."""
R2E_SCRIPTS = ("run_tests.sh", "/root/run_tests.sh")
"""Possible paths of the test script in images of R2E-Gym, relative to the repository."""
R2E_TESTS = (
    "for d in /r2e_tests /root/r2e_tests; do [ -d $d ] && [ ! -e r2e_tests ] && ln -s $d r2e_tests;"
    " done"
)
"""Links the tests in an image of R2E-Gym into its repository."""
R2E = f"{R2E_TESTS}; for f in {' '.join(R2E_SCRIPTS)}; do [ -f $f ] && exec bash $f; done; exit 2"
"""Test command of R2E-Gym. Its images contain the tests outside of the repository, and a script
that runs them inside [R2E-Gym: agenthub/runtime/docker.py]."""
OLD_DJANGO = ("1.7", "1.8", "1.9")
"""Versions of Django whose test runner lacks the options ``--settings`` and ``--parallel``."""


@dataclass(frozen=True)
class _Tables:
    smith_unittest: dict[str, str]
    commands: dict[str, str]
    formats: dict[str, str]
    pytest_parsers: tuple[str, ...]


_TABLES = read_table(_Tables, __file__)
SMITH_UNITTEST: Mapping[str, str] = _TABLES.smith_unittest
"""Repository of SWE-smith that uses unittest's test names -> the command of its whole suite."""
COMMANDS: Mapping[str, str] = _TABLES.commands
"""Repository -> its test command, if not :data:`PYTEST`; test files are appended."""
FORMATS: Mapping[str, str] = _TABLES.formats
"""Repository -> the format of its log, if not ``pytest``."""
PARSERS: Mapping[str, str] = {
    **{name: name for name in LOG_FORMATS},
    **{repo.partition("/")[2]: name for repo, name in FORMATS.items()},
    **dict.fromkeys(_TABLES.pytest_parsers, "pytest"),
    "pytest_options": "pytest-options",
}
"""Name of a published set's log parser, without ``parse_log_`` -> the format that it parses."""
DATA_ENDINGS = (
    ".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml",
)  # fmt: skip
"""Extensions of files in a test patch that are not tests [SWE-bench: harness/constants:
NON_TEST_EXTS]."""

_DJANGO_TEST = re.compile(r"(?:.*/)?(?:tests\.py|test_[^/]*)|.*/(?:tests/|test_).*")


class RunPlan(NamedTuple):
    """How to run the tests of a row."""

    command: str
    """The command line or script."""
    log_format: str
    """Format of the log: a key of :data:`~agentgym.envs.swe.official.logs.LOG_FORMATS`."""
    brings_tests: bool
    """Whether the command itself adds the tests of the test patch to the repository."""


def plan_run(
    data_set: DataSet, row: Mapping[str, Any], repo: str, tests: Sequence[str], test_patch: str
) -> RunPlan:
    """Return how to run the tests of a row.

    Args:
        data_set: The set of the row.
        row: The row.
        repo: The repository, ``owner/name``.
        tests: Names of all deciding tests.
        test_patch: The diff that adds them; may be empty.

    Raises:
        DataError: A field of the row that describes the tests is invalid.
    """
    if data_set.name == "r2e-gym":
        return RunPlan(R2E, "r2e", True)
    smith = SMITH_UNITTEST.get(repo.rpartition("/")[2].partition(".")[0])
    if data_set.name == "swe-smith" and smith:
        return RunPlan(smith, "unittest", False)
    config = _install_config(row)
    log_format = _log_format(row.get("log_parser") or config.get("log_parser"), repo)
    script = row.get("eval_script")
    if script:
        return RunPlan(_text(script, "eval_script"), log_format, True)
    files = shlex.join(_arguments(repo, tests, test_patch))
    test_commands = row.get("test_cmd")
    if test_commands:
        return RunPlan("\n".join(_commands(test_commands, "test_cmd")), log_format, False)
    if config.get("test_cmd"):
        commands = _commands(config["test_cmd"], "install_config.test_cmd")
        if data_set.name == "swe-rebench":  # unlike those of V2, its commands lack the test files
            commands[-1] += f" {files}"
        return RunPlan("\n".join(commands), log_format, False)
    return RunPlan(f"{_command(data_set, row, repo)} {files}", log_format, False)


def _command(data_set: DataSet, row: Mapping[str, Any], repo: str) -> str:
    if data_set.name == "swe-smith":
        return SMITH
    if repo == "django/django" and row.get("version") in OLD_DJANGO:
        return "./tests/runtests.py --verbosity 2"
    return COMMANDS.get(repo, PYTEST)


def _arguments(repo: str, tests: Sequence[str], test_patch: str) -> list[str]:
    """Return the arguments of the test command: files, modules, or names of tests."""
    if repo == "python/mypy":  # its tests are sections of data files, selected by name
        return [" or ".join(dict.fromkeys(test.rpartition("::")[2] for test in tests))]
    files = [file for file in remaining_files(test_patch) if not file.endswith(DATA_ENDINGS)]
    if repo == "django/django":
        return [
            file.removesuffix(".py").removeprefix("tests/").replace("/", ".")
            for file in files
            if _DJANGO_TEST.fullmatch(file)
        ]
    if not test_patch.strip():
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    return files


def _log_format(parser: Any, repo: str) -> str:
    if not parser:
        return FORMATS.get(repo, "pytest")
    name = _text(parser, "log_parser").removeprefix("parse_log_")
    if name in PARSERS:
        return PARSERS[name]
    if "/" in name:  # SWE-rebench names a parser by the repository that it was written for
        return FORMATS.get(name, "pytest")
    raise DataError(
        f"expected a log_parser among {', '.join(sorted(PARSERS))}, got {parser!r:.80}: logs of "
        "that kind cannot be read, so leave such rows out"
    )


def _install_config(row: Mapping[str, Any]) -> Mapping[str, Any]:
    config = row.get("install_config")
    if isinstance(config, str) and config.strip():
        try:
            config = parse_json(config)
        except ValueError:
            raise DataError(f"expected JSON in install_config, got {config!r:.80}") from None
    if not config:
        return {}
    if not isinstance(config, Mapping):
        raise DataError(f"expected an object in install_config, got {config!r:.80}")
    return config


def _commands(value: Any, name: str) -> list[str]:
    """Return a command or list of commands as a list.

    Raises:
        DataError: The value is neither.
    """
    commands = [value] if isinstance(value, str) else value
    if not isinstance(commands, Sequence) or not commands:
        raise DataError(f"expected a command or a list of commands in {name}, got {value!r:.80}")
    return [_text(command, name) for command in commands]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"expected text in {name}, got {value!r:.80}")
    return value
