"""Ignore files."""

import pytest
from pathsieve import IgnoreRules


@pytest.mark.parametrize("path", ["a.log", "logs/a.log", "x/y/.log"])
def test_name_in_any_folder(path):
    """A rule without a slash is about names in any folder."""
    assert IgnoreRules("*.log").ignores(path) is True


def test_no_rule():
    """A path that no rule is about is not ignored."""
    rules = IgnoreRules("*.log")
    assert (rules.ignores("a.txt"), rules.explain("a.txt")) == (False, None)


@pytest.mark.parametrize("rule", ["/a.txt", "docs/*.txt"])
def test_slash_ties_to_the_root(rule):
    """A rule with a slash at the beginning or between names is about paths from the root."""
    rules = IgnoreRules(rule)
    path = rule.replace("*", "a").removeprefix("/")
    assert (rules.ignores(path), rules.ignores("x/" + path)) == (True, False)


def test_slash_at_the_end():
    """A rule with a slash at its end is about folders and not about files."""
    rules = IgnoreRules("build/")
    assert (rules.ignores("x/build", folder=True), rules.ignores("x/build")) == (True, False)


def test_everything_in_an_ignored_folder():
    """Everything in a folder that is ignored is ignored."""
    assert IgnoreRules("build/").ignores("x/build/y/z.txt") is True


def test_last_rule_wins():
    """Of several rules about a path the last one decides."""
    assert IgnoreRules("*.log\n!a.log\na.*").ignores("a.log") is True


def test_taken_back():
    """A rule with an exclamation mark takes back an earlier one."""
    rules = IgnoreRules("*.log\n!keep.log")
    assert (rules.ignores("keep.log"), rules.ignores("other.log")) == (False, True)


def test_nothing_in_an_ignored_folder_is_taken_back():
    """A file in an ignored folder stays ignored even if a later rule takes it back."""
    assert IgnoreRules("build/\n!build/keep.txt").ignores("build/keep.txt") is True


def test_folder_taken_back():
    """A folder that is taken back no longer hides its files."""
    assert IgnoreRules("/x*\n!/x1/").ignores("x1/a.txt") is False


def test_comments_and_empty_lines():
    """Comments, empty lines and lines of only a slash are no rules."""
    assert IgnoreRules("# a\n\n   \n/\n!\n").rules == []


def test_escaped_number_sign():
    """A backslash before a number sign or exclamation mark makes it part of the name."""
    rules = IgnoreRules("\\#a\n\\!b")
    assert (rules.ignores("#a"), rules.ignores("!b")) == (True, True)


def test_blanks_at_the_end():
    """Blanks at the end of a rule do not count unless a backslash stands before them."""
    rules = IgnoreRules("a  \nb\\ ")
    assert (rules.ignores("a"), rules.ignores("b "), rules.ignores("b")) == (True, True, False)


def test_file_in_a_folder():
    """The rules of an ignore file in a folder are about what lies in that folder."""
    rules = IgnoreRules()
    rules.add("/a\nb", base="sub")
    assert [rules.ignores(path) for path in ("sub/a", "a", "sub/x/b", "b", "sub/x/a")] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_deeper_file_overrides():
    """An ignore file that is added later overrides the ones before."""
    rules = IgnoreRules("*.tmp")
    rules.add("!*.tmp", base="sub")
    assert (rules.ignores("sub/a.tmp"), rules.ignores("a.tmp")) == (False, True)


def test_explain():
    """The rule that decides can be asked for with its text and line."""
    rule = IgnoreRules("# logs\n*.log\n!a.log").explain("a.log")
    assert (rule.text, rule.line, rule.negated) == ("!a.log", 3, True)


def test_explain_a_folder():
    """The rule that ignores a folder explains the files in it."""
    assert IgnoreRules("*.txt\nbuild/").explain("build/a.txt").text == "build/"


def test_two_stars_in_a_rule():
    """Two stars in a rule cross folders."""
    rules = IgnoreRules("a/**/z")
    assert (rules.ignores("a/z"), rules.ignores("a/b/c/z"), rules.ignores("z")) == (
        True,
        True,
        False,
    )


def test_keep():
    """The files that are not ignored are kept in their order."""
    assert IgnoreRules("*.log").keep(["b", "a.log", "a"]) == ["b", "a"]
