"""The flags that every command has."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib import metadata

import pytest

from agentgym.errors import DISTRIBUTION, ConfigurationError
from agentgym.support.common_flags import log_to_terminal, take_common_flags, version_line

LOGGER = "agentgym.test_common_flags"


@pytest.fixture
def _restored() -> Iterator[None]:
    logger = logging.getLogger(LOGGER)
    yield
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


def test_they_are_taken_wherever_they_stand() -> None:
    flags = take_common_flags(["eval", "--quiet", "x", "--log-level=info", "--", "--version"])
    assert (flags.quiet, flags.log_level, flags.version) == (True, "info", False)
    assert flags.remaining == ("eval", "x", "--", "--version")
    assert take_common_flags([]).log_level is None


@pytest.mark.parametrize("argv", [["--log-level", "loud"], ["--log-level"]])
def test_another_level_is_refused(argv: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="--log-level to be debug, info, warning or error"):
        take_common_flags(argv)


def test_the_version_is_that_of_the_distribution() -> None:
    assert version_line("agentgym train") == f"agentgym train {metadata.version(DISTRIBUTION)}"


@pytest.mark.usefixtures("_restored")
def test_what_is_logged_from_a_level_on_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_terminal(None, [LOGGER])
    logging.getLogger(LOGGER).info("unheard")
    for _ in range(2):
        log_to_terminal("info", [LOGGER])
    logging.getLogger(LOGGER).debug("too fine")
    logging.getLogger(f"{LOGGER}.part").info("heard")
    assert capsys.readouterr().err == f"INFO {LOGGER}.part: heard\n"
