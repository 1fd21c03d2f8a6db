"""What may be declared."""

import pytest
from argtree import Command, DeclarationError, Option, Positional


@pytest.mark.parametrize("name", ["output", "-output", "--"])
def test_option_needs_two_dashes(name):
    """An option whose long name does not look like --name is refused at declaration."""
    with pytest.raises(DeclarationError, match=r"named like --name"):
        Option(name)


@pytest.mark.parametrize("short", ["o", "-out", "--", "xo"])
def test_short_option_is_dash_and_letter(short):
    """A short name that is not one dash and one letter is refused at declaration."""
    with pytest.raises(DeclarationError, match=r"named like -n"):
        Option("--output", short=short)


def test_one_letter_option_is_allowed():
    """A long option may have a name of a single letter."""
    assert Option("--x").key == "x"


def test_flag_cannot_repeat():
    """An option cannot be declared both a flag and repeatable."""
    with pytest.raises(DeclarationError, match=r"cannot be a flag and repeat"):
        Option("--verbose", flag=True, repeat=True)


def test_key_has_underscores():
    """The value of --dry-run is found under the key dry_run."""
    assert Option("--dry-run").key == "dry_run"


def test_unknown_count_is_refused():
    """A positional with a count other than one, optional or many is refused."""
    with pytest.raises(DeclarationError, match=r"one, optional, many"):
        Positional("file", count="two")


def test_positionals_and_subcommands_exclude_each_other():
    """A command cannot have positionals and subcommands at once."""
    with pytest.raises(DeclarationError, match=r"both positionals and subcommands"):
        Command("x", positionals=[Positional("file")], commands=[Command("y")])


def test_only_the_last_positional_may_be_many():
    """A positional of count many in front of another one is refused."""
    with pytest.raises(DeclarationError, match=r"only the last"):
        Command("x", positionals=[Positional("a", count="many"), Positional("b")])


def test_the_last_positional_may_be_optional():
    """A command whose last positional is optional is accepted."""
    command = Command("x", positionals=[Positional("a"), Positional("b", count="optional")])
    assert len(command.positionals) == 2


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (Option("--all"), Option("--all"), "--all"),
        (Option("--all", short="-a"), Option("--any", short="-a"), "-a"),
    ],
)
def test_names_are_declared_once(first, second, name):
    """Two options of a command cannot share a long or a short name."""
    with pytest.raises(DeclarationError, match=f"{name} is declared twice"):
        Command("x", options=[first, second])
