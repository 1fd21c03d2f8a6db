"""Positionals and subcommands on the command line."""

import pytest
from argtree import Command, Option, Positional, UsageError, parse


def remote():
    """A command with two levels of subcommands."""
    add = Command("add", positionals=[Positional("name"), Positional("url", count="optional")])
    prune = Command("prune", options=[Option("--dry-run", flag=True)])
    tags = Command("tags")
    return Command(
        "vc",
        options=[Option("--repo", default=".")],
        commands=[Command("remote", commands=[add, prune]), Command("remove"), tags],
    )


def test_path_names_all_commands():
    """The path of a result lists the commands from the outermost to the innermost."""
    assert parse(remote(), ["remote", "prune"]).path == ("vc", "remote", "prune")


def test_values_of_all_levels():
    """The values of a subcommand stand beside those of the commands around it."""
    result = parse(remote(), ["--repo", "/srv", "remote", "prune", "--dry-run"])
    assert result.values == {"repo": "/srv", "dry_run": True}


def test_outer_defaults_are_filled_in():
    """Defaults of an outer command are there when a subcommand is used."""
    assert parse(remote(), ["tags"]).values == {"repo": "."}


def test_outer_option_after_the_subcommand():
    """An option of the outer command is not known after the name of the subcommand."""
    with pytest.raises(UsageError, match=r"unknown option --repo"):
        parse(remote(), ["tags", "--repo", "x"])


def test_beginning_of_a_command():
    """A beginning that only one subcommand has is enough to name it."""
    assert parse(remote(), ["t"]).path == ("vc", "tags")


def test_ambiguous_command():
    """A beginning that several subcommands share is refused and they are listed."""
    with pytest.raises(UsageError, match=r"ambiguous command 'rem': choose from remote, remove"):
        parse(remote(), ["rem"])


def test_unknown_command():
    """An unknown subcommand is refused and all subcommands are listed."""
    with pytest.raises(UsageError, match=r"unknown command 'x': choose from remote, remove, tags"):
        parse(remote(), ["x"])


def test_command_missing():
    """Ending the line where a subcommand is due is an error that shows the path so far."""
    with pytest.raises(UsageError, match=r"vc remote needs a command: add, prune"):
        parse(remote(), ["remote"])


def test_positionals_by_place():
    """Positionals take the words in their order."""
    result = parse(remote(), ["remote", "add", "origin", "http://x"])
    assert result.values == {"repo": ".", "name": "origin", "url": "http://x"}


def test_optional_positional_absent():
    """An optional positional that is not given has its default."""
    command = Command(
        "x", positionals=[Positional("level", convert=int, count="optional", default=7)]
    )
    assert parse(command, []).values == {"level": 7}


def test_positional_missing():
    """Leaving out a positional that is not optional is an error."""
    with pytest.raises(UsageError, match=r"name is missing"):
        parse(remote(), ["remote", "add"])


def test_one_positional_too_many():
    """A word that no positional takes is refused."""
    with pytest.raises(UsageError, match=r"unexpected argument 'c'"):
        parse(remote(), ["remote", "add", "a", "b", "c"])


def test_many_takes_the_rest():
    """A positional of count many takes all the words that are left, converted."""
    command = Command("sum", positionals=[Positional("first"), Positional("rest", int, "many")])
    assert parse(command, ["x", "1", "-2"]).values == {"first": "x", "rest": [1, -2]}


def test_many_may_be_empty():
    """A positional of count many without words is an empty list."""
    command = Command("sum", positionals=[Positional("rest", int, "many")])
    assert parse(command, []).values == {"rest": []}


def test_positional_converter_error():
    """A positional that cannot be converted is reported with its name."""
    command = Command("sum", positionals=[Positional("number", int)])
    with pytest.raises(UsageError, match=r"^number: invalid literal"):
        parse(command, ["x"])


def test_options_between_positionals():
    """Options may stand before, between and after positionals."""
    command = Command(
        "cp",
        options=[Option("--force", short="-f", flag=True)],
        positionals=[Positional("source"), Positional("target")],
    )
    assert parse(command, ["a", "-f", "b"]).values == {"force": True, "source": "a", "target": "b"}
