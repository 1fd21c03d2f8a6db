"""Options on the command line."""

import pytest
from argtree import Command, Option, Positional, UsageError, parse
from argtree.convert import int_between


def values(words, *options, positionals=()):
    """The values of a command with some options."""
    command = Command("tool", options=list(options), positionals=list(positionals))
    return parse(command, words).values


@pytest.mark.parametrize("words", [["--out", "a"], ["--out=a"], ["-o", "a"], ["-oa"]])
def test_ways_to_write_a_value(words):
    """The value of an option may be the next word or attached, for long and short names."""
    assert values(words, Option("--out", short="-o")) == {"out": "a"}


def test_attached_value_keeps_equals_signs():
    """An equals sign inside the value of --name=value belongs to the value."""
    assert values(["--define=a=b"], Option("--define")) == {"define": "a=b"}


def test_attached_value_may_be_empty():
    """Writing --out= gives the option an empty value."""
    assert values(["--out="], Option("--out")) == {"out": ""}


def test_absent_option_has_its_default():
    """An option that is not given has its default as value."""
    assert values([], Option("--level", default=3)) == {"level": 3}


def test_absent_option_without_default():
    """Options that are not given and have no default are None, False for flags, [] if repeated."""
    options = [Option("--a"), Option("--b", flag=True), Option("--c", repeat=True)]
    assert values([], *options) == {"a": None, "b": False, "c": []}


def test_flag_is_true():
    """A flag that is given has the value True."""
    assert values(["--dry-run"], Option("--dry-run", flag=True)) == {"dry_run": True}


def test_flag_refuses_a_value():
    """A flag written as --flag=value is refused."""
    with pytest.raises(UsageError, match=r"--dry-run takes no value"):
        values(["--dry-run=yes"], Option("--dry-run", flag=True))


def test_no_prefix_switches_a_flag_off():
    """Writing --no-color switches off a flag --color that is on by default."""
    assert values(["--no-color"], Option("--color", flag=True, default=True)) == {"color": False}


def test_no_prefix_is_only_for_flags():
    """The form --no-name does not exist for an option that takes a value."""
    with pytest.raises(UsageError, match=r"unknown option --no-color"):
        values(["--no-color"], Option("--color"))


def test_last_flag_wins():
    """Of --color and --no-color on one command line the later one counts."""
    assert values(["--no-color", "--color"], Option("--color", flag=True)) == {"color": True}


def test_cluster_of_short_flags():
    """Several short flags may be written behind one dash."""
    options = [Option(f"--{name}", short=f"-{name[0]}", flag=True) for name in ("all", "best")]
    assert values(["-ab"], *options) == {"all": True, "best": True}


def test_cluster_ends_with_a_value():
    """In a cluster of short options the rest after an option with a value is that value."""
    options = [Option("--all", short="-a", flag=True), Option("--number", short="-n", convert=int)]
    assert values(["-an12"], *options) == {"all": True, "number": 12}


def test_beginning_of_a_long_name():
    """A beginning of a long option that only one option has is understood."""
    assert values(["--verb"], Option("--verbose", flag=True), Option("--version", flag=True)) == {
        "verbose": True,
        "version": False,
    }


def test_ambiguous_beginning():
    """A beginning that several long options share is refused and they are listed."""
    with pytest.raises(UsageError, match=r"--ver could be any of --verbose, --version"):
        values(["--ver"], Option("--verbose", flag=True), Option("--version", flag=True))


def test_whole_name_beats_longer_names():
    """A long option named in full is found even if it is the beginning of another one."""
    options = [Option("--out"), Option("--outer")]
    assert values(["--out", "x"], *options) == {"out": "x", "outer": None}


@pytest.mark.parametrize("word", ["--what", "-w"])
def test_unknown_option(word):
    """An option that the command does not have is refused by name."""
    with pytest.raises(UsageError, match=f"unknown option {word}"):
        values([word], Option("--out", short="-o"))


def test_repeated_option_collects():
    """A repeatable option collects its values in their order."""
    assert values(["-i", "a", "-i", "b"], Option("--include", short="-i", repeat=True)) == {
        "include": ["a", "b"]
    }


def test_repeated_option_replaces_its_default():
    """The default of a repeatable option is not part of the values that are given."""
    option = Option("--include", repeat=True, default=["."])
    assert values(["--include", "src"], option) == {"include": ["src"]}


def test_option_given_twice():
    """An option that is not repeatable cannot be given twice."""
    with pytest.raises(UsageError, match=r"--out is given twice"):
        values(["--out", "a", "--out", "b"], Option("--out"))


def test_required_option_missing():
    """Leaving out a required option is an error."""
    with pytest.raises(UsageError, match=r"--out is required"):
        values([], Option("--out", required=True))


@pytest.mark.parametrize("words", [["--out"], ["--out", "--all"]])
def test_value_missing(words):
    """An option that takes a value is refused at the end of the line and before another option."""
    with pytest.raises(UsageError, match=r"--out needs a value"):
        values(words, Option("--out"), Option("--all", flag=True))


def test_value_may_be_a_negative_number():
    """A negative number after an option is its value and not another option."""
    assert values(["--shift", "-2.5"], Option("--shift", convert=float)) == {"shift": -2.5}


def test_single_dash_is_a_value():
    """A single dash is a value, as used for standard input."""
    assert values(["--file", "-"], Option("--file")) == {"file": "-"}


def test_converter_error_names_the_option():
    """The message about a value that does not fit begins with the name of the option."""
    with pytest.raises(UsageError, match=r"^--level: 9 is more than 5$"):
        values(["--level=9"], Option("--level", convert=int_between(1, 5)))


def test_double_dash_ends_options():
    """After a double dash even words that begin with dashes are positionals."""
    words = ["--", "--all", "--"]
    rest = Positional("rest", count="many")
    assert values(words, Option("--all", flag=True), positionals=[rest]) == {
        "all": False,
        "rest": ["--all", "--"],
    }
