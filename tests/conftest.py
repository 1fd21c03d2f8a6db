"""How the suite is run: in what order, with what measured, and where no sandbox can be made."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# bitsandbytes imports torch's compiler to speed up what tests do once: two CPU seconds in each of
# hundreds of processes that import the trainer.
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
# Ray starts whatever works for it at niceness 15: beside other tests it would hardly run.
os.environ.setdefault("RAY_worker_niceness", "0")

from agentgym.errors import DependencyNotInstalled
from agentgym.sandbox import SandboxUnavailable
from agentgym.trust import typed_here
from tests import passed, selection
from tests.disk import force_nothing
from tests.envs.swe import grades as swe_grades
from tests.envs.swe.boxed import NO_BOX
from tests.garbage import collect_seldom, spare
from tests.policies.endpoint import KEY, Answer, ChatServer
from tests.trainers import forks

# No limits of time: the machine that runs the tests may be busy. Every run has the same examples,
# so that what fails fails again; --hypothesis-profile=anew draws others, and says how to repeat
# them.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("agentgym", UNTIMED, derandomize=True)
settings.register_profile("anew", UNTIMED, derandomize=False, print_blob=True)
settings.load_profile("agentgym")

if sys.version_info < (3, 11):
    # TRL needs Python 3.11, and so do the trainer and what is measured with it.
    collect_ignore_glob = ["trainers/*", "benchmarks/test_studies.py"]

MODULES = pytest.StashKey[int]()
"""How many had been imported when garbage was last spared the sight of them."""
MANY = 500
"""So many new ones are worth a collection."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let continuous integration insist on sandboxes, and whoever wants to know measure."""
    selection.add_option(parser)
    passed.add_options(parser)
    text = "end at once where no sandbox can be made, instead of skipping the tests that need one"
    parser.addoption("--require-sandbox", action="store_true", help=text)
    text = "write the CPU seconds of every test, its fixtures and its processes to a file"
    parser.addoption("--cpu-times", type=Path, help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Keep what is compiled, and give each worker of ``-n`` a part of the suite in order.

    Containers often forbid bytecode; every worker and each of a thousand processes would then
    compile the same modules, and pytest rewrite the same assertions. Dealt one by one, the tests
    of a module would make its runs in every worker. Who has done its part takes from the end of
    another's.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C, which a shell lets its background ignore; measure, if that is asked for."""
    os.environ.pop("PYTEST_ADDOPTS", None)  # Tests start pytest elsewhere, too.
    os.environ["PIP_NO_INDEX"] = "1"  # A test that fetches something fails.
    force_nothing()
    collect_seldom()
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="grades")
        config.add_cleanup(folder.cleanup)
        os.environ[swe_grades.PLACE] = folder.name
        # What the tests type is none of what whoever runs them has typed.
        os.environ[typed_here.STATE] = str(Path(folder.name) / "state")
    if getattr(config.option, "numprocesses", None):  # One server for all workers.
        os.environ[forks.SERVER] = forks.server()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # What tests start would ignore it, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    file = config.getoption("--cpu-times")
    if file is not None:
        from tests.cpu_times import CpuTimes

        config.pluginmanager.register(CpuTimes(None if hasattr(config, "workerinput") else file))
    if (file := config.getoption("--passed")) is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(passed.PassedTests(file))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the fast selection, unless all tests are asked for."""
    if selection.is_wanted(config):
        items[:], deselected = selection.select_fast(items)
        config.hook.pytest_deselected(items=deselected)
    if (file := config.getoption("--without")) is not None:
        items[:], deselected = passed.divide_passed(items, file)
        config.hook.pytest_deselected(items=deselected)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare collections of garbage the sight of all tests."""
    session.stash[MODULES] = len(sys.modules)
    spare()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Spare them what a file of tests keeps, and what a test imports: torch is 200,000 objects."""
    many_modules = len(sys.modules) > item.session.stash[MODULES] + MANY
    if many_modules or nextitem is None or nextitem.path != item.path:
        item.session.stash[MODULES] = len(sys.modules)
        spare()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop before the first test where a sandbox is missing that has to be there."""
    if NO_BOX and session.config.getoption("--require-sandbox"):
        pytest.exit(f"expected a sandbox, got none. {NO_BOX}", returncode=3)


def lacks_sandbox(error: BaseException | None) -> bool:
    """Return whether an error, or what it was raised from, is that no sandbox can be made."""
    while error is not None and not isinstance(error, SandboxUnavailable):
        error = error.__cause__
    return error is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that asked for a sandbox, or an optional package, that is not to be had."""
    report = yield
    reason = ""
    if NO_BOX and call.excinfo is not None and lacks_sandbox(call.excinfo.value):
        reason = NO_BOX
    elif (
        not item.config.option.full  # where every package is expected
        and call.excinfo is not None
        and call.excinfo.errisinstance(DependencyNotInstalled)
    ):
        reason = str(call.excinfo.value)
    if reason:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {reason}")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once that sandboxes are missing, and why."""
    if NO_BOX:
        terminalreporter.write_line(
            f"No sandbox can be made on this machine: tests that need one were skipped. {NO_BOX}"
        )


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], ChatServer]]:
    """Start chat servers, which are closed after the test; each gives the answers of a function."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    opened: list[ChatServer] = []

    def start(answer: Answer) -> ChatServer:
        opened.append(ChatServer(answer))
        return opened[-1]

    yield start
    for server in opened:
        server.close()


@pytest.fixture(autouse=True, scope="module")
def grades() -> Iterator[None]:
    """A submission to SWE is graded once; a fixture of this name grades it whenever it is asked."""
    with swe_grades.remembered():
        yield
