"""The text of the help."""

from argtree import Command, Option, Positional, format_help, usage_line
from argtree.help import two_columns


def test_usage_of_a_flag():
    """The usage line shows an optional flag in brackets by its short name."""
    command = Command("x", options=[Option("--all", short="-a", flag=True)])
    assert usage_line(command) == "usage: x [-a]"


def test_usage_of_a_required_option():
    """The usage line shows a required option without brackets and with its value."""
    command = Command("x", options=[Option("--out-file", required=True)])
    assert usage_line(command) == "usage: x --out-file OUT_FILE"


def test_usage_of_a_repeatable_option():
    """The usage line marks an option that may be repeated with dots."""
    command = Command("x", options=[Option("--include", short="-i", repeat=True)])
    assert usage_line(command) == "usage: x [-i INCLUDE ...]"


def test_usage_of_positionals():
    """The usage line shows optional positionals in brackets and many-valued ones with dots."""
    many = Command("x", positionals=[Positional("a"), Positional("b", count="many")])
    optional = Command("x", positionals=[Positional("a", count="optional")])
    assert (usage_line(many), usage_line(optional)) == ("usage: x A [B ...]", "usage: x [A]")


def test_usage_with_a_path():
    """The usage line of a subcommand begins with the commands around it."""
    assert usage_line(Command("add", commands=[Command("y")]), ["vc"]) == "usage: vc add COMMAND"


def test_help_has_only_sections_that_are_needed():
    """The help of a command without arguments is its usage and its description."""
    assert format_help(Command("x", help="Does nothing.")) == "usage: x\n\nDoes nothing.\n"


def test_help_without_description():
    """The help of a command without description has no empty block."""
    command = Command("x", positionals=[Positional("file", help="what to read")])
    assert format_help(command) == "usage: x FILE\n\narguments:\n  file  what to read\n"


def test_help_lists_subcommands():
    """The help of a command lists its subcommands with their descriptions in one column."""
    command = Command(
        "x", commands=[Command("add", help="add it"), Command("remove", help="drop it")]
    )
    assert format_help(command).endswith("commands:\n  add     add it\n  remove  drop it\n")


def test_help_shows_defaults():
    """The help of an option names its default behind the text."""
    command = Command("x", options=[Option("--level", short="-l", default=0, help="how deep")])
    assert "  -l, --level LEVEL  how deep (default: 0)\n" in format_help(command)


def test_help_shows_required():
    """The help of an option says if it is required, even without a text."""
    command = Command("x", options=[Option("--out", required=True)])
    assert "  --out OUT  (required)\n" in format_help(command)


def test_description_is_wrapped():
    """A description that is wider than the page is wrapped."""
    command = Command("x", help="one two three four")
    assert format_help(command, width=10) == "usage: x\n\none two\nthree four\n"


def test_columns_wrap_under_the_text():
    """A text that does not fit goes on under its own column."""
    assert two_columns([("a", "one two three four five")], width=20) == (
        "  a  one two three\n     four five"
    )


def test_wide_label_has_its_own_line():
    """A label wider than 24 characters stands on a line of its own."""
    rows = [("a" * 25, "text"), ("bb", "more")]
    assert two_columns(rows) == "  " + "a" * 25 + "\n      text\n  bb  more"


def test_label_of_24_characters_fits():
    """A label of exactly 24 characters stands on the line of its text."""
    assert two_columns([("a" * 24, "text")]) == "  " + "a" * 24 + "  text"


def test_label_without_text():
    """A label without a text has no blanks behind it."""
    assert two_columns([("abc", "")]) == "  abc"
