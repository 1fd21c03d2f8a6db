"""References between values."""

import pytest
from inifold import Config, ConfigError, MissingKey


def value(text, section="a", key="x"):
    """Return a value of a configuration."""
    return Config.from_text(text)[section].get(key)


def test_reference_in_the_same_section():
    """${key} is replaced by the value of the same section."""
    assert value("[a]\nx = <${y}> and ${y}\ny = 1") == "<1> and 1"


def test_reference_to_another_section():
    """${section.key} is replaced by a value of the other section."""
    assert value("[a]\nx = ${b.y}\n[b]\ny = 2") == "2"


def test_reference_to_section_with_dots():
    """The last dot of a reference separates section and key."""
    assert value("[a]\nx = ${b.c.y}\n[b.c]\ny = 2") == "2"


def test_reference_ignores_case_of_key():
    """The key of a reference may have any case, and spaces around it."""
    assert value("[a]\nx = ${ Y }\ny = 1") == "1"


def test_chain():
    """A value that is referred to may itself refer to others."""
    assert value("[a]\nx = ${y}!\ny = ${z}?\nz = 1") == "1?!"


def test_reference_is_resolved_where_it_stands():
    """A value of another section resolves its references in that section."""
    assert value("[a]\nx = ${b.y}\nz = 1\n[b]\ny = ${z}\nz = 2") == "2"


def test_double_dollar():
    """Two dollars stand for one and begin no reference."""
    assert value("[a]\nx = $${y} costs 5$$") == "${y} costs 5$"


def test_single_dollar():
    """A dollar that no brace follows stays as it is."""
    assert value("[a]\nx = 5$ or $6") == "5$ or $6"


def test_unclosed_reference():
    """A reference without its closing brace is an error."""
    with pytest.raises(ConfigError, match="not closed"):
        value("[a]\nx = ${y")


@pytest.mark.parametrize("reference", ["", " ", ".y", "b."])
def test_malformed_reference(reference):
    """A reference without a key, or with a dot but no section, is an error."""
    with pytest.raises(ConfigError, match="not a reference"):
        value(f"[a]\nx = ${{{reference}}}\n[b]\ny = 1")


def test_unknown_reference():
    """A reference to a value that is not there is an error that names the value."""
    with pytest.raises(MissingKey, match="'y'"):
        value("[a]\nx = ${y}")


def test_reference_to_unknown_section():
    """A reference to a section that is not there is an error that names the section."""
    with pytest.raises(MissingKey, match=r"\[b\]"):
        value("[a]\nx = ${b.y}")


def test_ring():
    """A ring of references is an error that shows the ring, and only the ring."""
    with pytest.raises(ConfigError, match=r": a\.y -> a\.z -> a\.y$"):
        value("[a]\nx = ${y}\ny = ${z}\nz = ${y}")


def test_same_value_twice_is_no_ring():
    """Two references to the same value are no ring."""
    assert value("[a]\nx = ${y}${z}\ny = ${z}\nz = 1") == "11"
