"""Families of other distributions, as pip installs them: an entry point, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.warm_python import AGENTGYM, run_warm

FAMILY = """
from agentgym.registration import EnvFamily

CRAFT = EnvFamily(
    name="craft", id="craft/Craft-v0", entry_point="tests.toy:ToyEnv", summary="Press buttons.",
    play={"horizon": 3}, backend="thread", subcommands="craft_commands:SUBCOMMANDS",
)
"""
COMMANDS = '''
from dataclasses import dataclass

from agentgym.errors import ConfigurationError
from agentgym.support.terminal import say
from agentgym.registration import Subcommand


@dataclass
class Smelt:
    """Smelt ores."""

    ores: int
    """How many
    ores."""
    hot: bool = False
    """Smelt them hot."""


@dataclass
class Trade:
    """Trade with [villagers]."""


class Show(Trade):
    """Show what there is."""


class Sell(Trade):
    """Sell to others."""


def smelt(command, console):
    import json  # stands for what is heavy

    if command.ores < 1:
        raise ConfigurationError(f"expected ores, got {command.ores}")
    say(console, json.dumps([command.ores, command.hot]))
    return 1 if command.hot else 0


def trade(command, console):
    say(console, "traded")
    return 0


SUBCOMMANDS = (
    Subcommand("smelt", Smelt, smelt),
    Subcommand("craft list", Show, trade, "Craft things."),
    Subcommand("craft trade", Trade, trade),
    Subcommand("serve craft", Sell, trade),
)
'''


class Installed:
    """A folder with a distribution that adds a family, and the commands that find it there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        info = folder / "craft-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: craft\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[agentgym.families]\nc = craft_family:CRAFT\n")
        (folder / "craft_family.py").write_text(FAMILY)
        (folder / "craft_commands.py").write_text(COMMANDS)

    def python(self, program: str, *argv: str) -> tuple[int, str, str]:
        process = run_warm(argv, program, PYTHONPATH=str(self.folder), COLUMNS="100")
        return process.returncode, process.stdout, " ".join(process.stderr.split())

    def agentgym(self, *argv: str) -> tuple[int, str, str]:
        return self.python(AGENTGYM, *argv)

    def replace(self, file: str, old: str, new: str) -> None:
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / file).write_text(text.replace(old, new))


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


@pytest.mark.slow
def test_its_subcommands_stand_beside_the_others(installed: Installed) -> None:
    code, out, err = installed.agentgym("--help")
    assert (code, err) == (0, "")
    assert "  smelt       Smelt ores." in out and "  craft       Craft things." in out
    assert "\n  swe " in out and "\n  index " in out and "\n  eval " in out
    code, out, _ = installed.agentgym("smelt", "--help")
    assert code == 0 and "--ores INT" in out and "How many ores." in out
    code, _, err = installed.agentgym("smelt")
    assert code == 2 and "expected agentgym smelt with --ores INT, which is required" in err
    code, out, _ = installed.agentgym("serve", "--help")
    assert "\n  http " in out and "\n  webshop " in out and "  craft       Sell to others." in out
    assert "Trade with [villagers]." in installed.agentgym("craft", "-h")[1]


@pytest.mark.slow
def test_its_subcommands_do_what_they_say(installed: Installed) -> None:
    assert installed.agentgym("smelt", "--ores", "3") == (0, "[3, false]\n", "")
    assert installed.agentgym("smelt", "--ores", "3", "--hot") == (1, "[3, true]\n", "")
    assert installed.agentgym("craft", "trade") == (0, "traded\n", "")
    code, _, err = installed.agentgym("smelt", "--ores", "0")
    assert (code, err) == (2, "agentgym: expected ores, got 0")


@pytest.mark.slow
def test_it_is_known_by_its_short_name(installed: Installed) -> None:
    code, out, _ = installed.agentgym("list", "--json")
    [*_, row] = json.loads(out)
    assert code == 0 and (row["name"], row["id"]) == ("craft", "craft/Craft-v0")
    assert row["status"] == "ready" and row["splits"]["train"]
    code, out, _ = installed.agentgym("eval", "craft", "-h")
    assert code == 0
    program = (
        "import sys, agentgym\n"
        "assert 'craft_family' not in sys.modules\n"
        "assert agentgym.list_envs()['craft'] == 'Press buttons.'\n"
        "assert agentgym.make('craft').spec.id == 'craft/Craft-v0'\n"
        "envs = agentgym.make_vec('craft', 2)\n"
        "assert (envs.num_envs, envs.backend) == (2, 'thread')\n"
        "assert 'craft_commands' not in sys.modules\n"
    )
    assert installed.python(program) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("craft_family.py", "EnvFamily(", "dict(", "c = craft_family:CRAFT of agentgym.families"),
        ("craft_family.py", "import EnvFamily", "import Nothing", "install its package again"),
        ("craft_family.py", '"craft",', '"swe",', "expected one family named 'swe'"),
        ("craft_family.py", "craft_commands", "craft_nothing", "No module named 'craft_nothing'"),
        ("craft_commands.py", "SUBCOMMANDS = (", "SUBCOMMANDS = (1,", "a tuple of Subcommand"),
        ("craft_commands.py", '"smelt"', '"play"', "expected one subcommand agentgym play"),
        ("craft_commands.py", "Sell, trade", "Show, smelt", "serve craft, with its own dataclass"),
        ("craft_commands.py", '"smelt"', '"craft"', "craft to be one subcommand or the first word"),
    ],
)
def test_what_is_wrong_with_a_package_is_one_sentence(
    installed: Installed, file: str, old: str, new: str, words: str
) -> None:
    installed.replace(file, old, new)
    code, out, err = installed.agentgym("list")
    assert (code, out) == (2, "") and words in err and "Traceback" not in err
