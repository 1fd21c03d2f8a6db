"""Loops, tags and white space."""

import pytest
from stencilpage import RenderError, Template, TemplateError, render


def test_loop():
    """The body of a loop is written once for each item."""
    assert render("{% for x in xs %}<{{ x }}>{% end %}", {"xs": ["a", "b"]}) == "<a><b>"


def test_loop_over_mapping():
    """A loop over a mapping goes over its keys."""
    assert render("{% for k in m %}{{ k }};{% end %}", {"m": {"a": 1, "b": 2}}) == "a;b;"


def test_loop_over_path():
    """A loop may go over a list inside a mapping."""
    assert render("{% for x in m.xs %}{{ x }}{% end %}", {"m": {"xs": (1, 2)}}) == "12"


def test_loop_index():
    """loop.index counts the items from 1."""
    assert render("{% for x in xs %}{{ loop.index }}{% end %}", {"xs": ["a", "b"]}) == "12"


def test_loop_first():
    """loop.first holds for the first item only."""
    source = "{% for x in xs %}{% if loop.first %}*{% end %}{{ x }}{% end %}"
    assert render(source, {"xs": ["a", "b", "c"]}) == "*abc"


def test_loop_last():
    """loop.last holds for the last item only."""
    source = "{% for x in xs %}{{ x }}{% if not loop.last %}, {% end %}{% end %}"
    assert render(source, {"xs": ["a", "b", "c"]}) == "a, b, c"


def test_loop_else():
    """Else is written if there is no item."""
    source = "{% for x in xs %}{{ x }}{% else %}none{% end %}"
    assert (render(source, {"xs": []}), render(source, {"xs": [1]})) == ("none", "1")


def test_nested_loops():
    """Loops may stand in loops; the inner one sees both names."""
    source = "{% for r in rows %}{% for x in r %}{{ r.0 }}{{ x }} {% end %}|{% end %}"
    assert render(source, {"rows": [[1, 2], [3]]}) == "11 12 |33 |"


def test_loop_name_hides_outer_name():
    """The name of a loop hides a value of the same name inside the loop only."""
    source = "{{ x }}{% for x in xs %}{{ x }}{% end %}{{ x }}"
    assert render(source, {"x": "o", "xs": ["i"]}) == "oio"


def test_loop_over_text():
    """A text is no list to loop over."""
    with pytest.raises(RenderError, match="'x' is not a list"):
        render("{% for c in x %}{% end %}", {"x": "abc"})


@pytest.mark.parametrize("tag", ["for x", "for x of xs", "for 1 in xs", "for x in xs ys"])
def test_malformed_for(tag):
    """A for that is not "for NAME in PATH" is an error."""
    with pytest.raises(TemplateError, match="malformed tag"):
        Template("{% " + tag + " %}{% end %}")


@pytest.mark.parametrize("middle", ["", "{% else %}"])
def test_for_without_end(middle):
    """A for without end is an error in the line of the for."""
    with pytest.raises(TemplateError, match="for has no end") as caught:
        Template("\n\n{% for x in xs %}\n" + middle)
    assert caught.value.line == 3


def test_elif_in_loop():
    """A loop has no elif."""
    with pytest.raises(TemplateError, match="unexpected tag 'elif x'"):
        Template("{% for x in xs %}{% elif x %}{% end %}")


@pytest.mark.parametrize("tag", ["end", "else", "include x", ""])
def test_unexpected_tag(tag):
    """An unknown tag, or an end without beginning, is an error."""
    with pytest.raises(TemplateError, match="unexpected tag"):
        Template("{% " + tag + " %}")


def test_empty_value():
    """Double braces with nothing between them are an error."""
    with pytest.raises(TemplateError, match="no value"):
        Template("a\n{{ }}")


@pytest.mark.parametrize("opener", ["{{", "{%", "{#"])
def test_unclosed(opener):
    """An opening brace without its closing one is an error with its line."""
    with pytest.raises(TemplateError, match="not closed") as caught:
        Template("a\nb " + opener + " x")
    assert caught.value.line == 2


def test_comment():
    """A comment is left out."""
    assert render("a{# {{ b }} #}c") == "ac"


def test_dash_on_the_left():
    """A dash after the opening braces removes the space before them."""
    assert render("a \n {{- x }} b", {"x": 1}) == "a1 b"


def test_dash_on_the_right():
    """A dash before the closing braces removes the space after them."""
    assert render("a {{ x -}} \n b", {"x": 1}) == "a 1b"


def test_dash_between_tags():
    """A dash removes only the space that touches it."""
    assert render("{% if x -%} a {% end %} b", {"x": 1}) == "a  b"


def test_dash_before_another_tag():
    """A dash also removes the space up to the next tag."""
    assert render("{{ x -}}  {{ x }} {{ x }}", {"x": 1}) == "11 1"


def test_render_twice():
    """A template can be rendered again with other values."""
    template = Template("{{ x }}")
    assert (template.render({"x": 1}), template.render({"x": 2})) == ("1", "2")
