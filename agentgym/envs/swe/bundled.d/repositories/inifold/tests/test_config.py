"""Sections, inheritance and writing."""

import pytest
from inifold import Config, MissingKey

FAMILY = "[base]\nroot = /srv\nlog = ${root}/log\n[web : base]\nroot = /web\nport = 80\n[b:web]\n"


def test_sections_in_order():
    """Iterating over a configuration gives the names of its sections in order."""
    assert list(Config.from_text("[b]\n[a]\n[c]")) == ["b", "a", "c"]


def test_contains_section():
    """The in operator says whether a section is there, with regard to case."""
    config = Config.from_text("[a]")
    assert ("a" in config, "A" in config) == (True, False)


def test_missing_section():
    """Asking for a section that is not there raises MissingKey."""
    with pytest.raises(MissingKey, match=r"^there is no section \[b\]$"):
        Config.from_text("[a]")["b"]


def test_keys_ignore_case():
    """Keys do not care about case."""
    assert Config.from_text("[a]\nUserName = me")["a"].get("USERNAME") == "me"


def test_missing_value():
    """Asking for a value that is not there raises MissingKey."""
    with pytest.raises(MissingKey, match=r"\[a\] has no value 'x'"):
        Config.from_text("[a]")["a"].get("x")


def test_default():
    """A default stands for a missing value."""
    assert Config.from_text("[a]")["a"].get("x", "") == ""


def test_default_is_not_used():
    """A value that is there wins over the default."""
    assert Config.from_text("[a]\nx = 1")["a"].get("X", "2") == "1"


def test_inherited_value():
    """A section has the values of its parent."""
    assert Config.from_text("[a]\nx = 1\n[b : a]")["b"].get("x") == "1"


def test_own_value_wins():
    """A section's own value wins over the inherited one."""
    assert Config.from_text(FAMILY)["web"].get("root") == "/web"


def test_inherited_reference():
    """An inherited value refers to the values of the section that inherits it."""
    assert Config.from_text(FAMILY)["web"].get("log") == "/web/log"


def test_parent_is_unchanged():
    """The parent keeps its own values."""
    assert Config.from_text(FAMILY)["base"].get("log") == "/srv/log"


def test_grandparent():
    """Values are inherited over several generations, the nearest one first."""
    assert Config.from_text(FAMILY)["b"].get("root") == "/web"


def test_ancestry():
    """The ancestry of a section begins with itself and ends with the eldest ancestor."""
    assert Config.from_text(FAMILY).ancestry("b") == ["b", "web", "base"]


def test_keys_with_ancestors():
    """The keys of a section are those of its ancestors first, each once."""
    assert Config.from_text(FAMILY)["web"].keys() == ["root", "log", "port"]


def test_contains_inherited_key():
    """The in operator finds own and inherited values, in any case."""
    web = Config.from_text(FAMILY)["web"]
    assert ("LOG" in web, "port" in web, "host" in web) == (True, True, False)


def test_as_dict():
    """A section as a dictionary has all values with their references replaced."""
    assert Config.from_text("[a]\nx = ${y}0\ny = 1")["a"].as_dict() == {"x": "10", "y": "1"}


def test_set_value():
    """A value that was set is read like one of the text."""
    config = Config.from_text("[a]\nx = 1")
    config.set("a", "X", "2")
    assert config["a"].get("x") == "2"


def test_set_in_new_section():
    """Setting a value in a section that is not there makes the section."""
    config = Config()
    config.set("new", "x", "1")
    assert config["new"].as_dict() == {"x": "1"}


def test_canonical_text():
    """The canonical text has one space around signs and an empty line between sections."""
    text = "[a]\nX=1 ; c\n[b:a]\ny=\n"
    assert Config.from_text(text).to_text() == "[a]\nx = 1\n\n[b : a]\ny =\n"


def test_canonical_text_of_long_value():
    """The further lines of a value are indented when it is written."""
    assert Config.from_text("[a]\nx = 1\n 2\n").to_text() == "[a]\nx = 1\n    2\n"


def test_read_back():
    """What to_text wrote is read back as the same text."""
    text = Config.from_text(FAMILY).to_text()
    assert Config.from_text(text).to_text() == text
