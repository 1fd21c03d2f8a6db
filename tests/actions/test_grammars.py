from __future__ import annotations

import copy
import json
import pickle
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.actions import (
    GRAMMARS,
    ActionCall,
    ActionSpec,
    Param,
    mcp_tools,
    openai_tools,
    parse,
    prompt,
    render,
    strip_think,
    translate,
)
from agentgym.core.language import Language
from agentgym.errors import ConfigurationError

SHOP = (
    ActionSpec("search", "Search the shop.", (Param("query", description="key words"),)),
    ActionSpec("click", "Click.", (Param("element"),), examples=("click[buy now]",)),
)
HOUSE = (
    ActionSpec("go", "Walk.", (Param("place"),), native="go to {place}"),
    ActionSpec(
        "take", "Take.", (Param("object"), Param("place")), native="take {object} from {place}"
    ),
    ActionSpec("look", "Look around."),
)
BARE = (ActionSpec("command", "A command.", (Param("command"),), native="{command}"),)
SHELL = (
    ActionSpec(
        "bash", "Run.", (Param("command"), Param("timeout", "integer", required=False)),
        native=("run {command}", "run for {timeout}: {command}"),
    ),
)  # fmt: skip
CODE = (
    ActionSpec(
        "bash",
        "Run a shell command.",
        (Param("command", verbatim=True),),
        native=("```bash\n{command}\n```", "````bash\n{command}\n````"),
    ),
    ActionSpec(
        "edit",
        "Replace text in a file.",
        (Param("path"), Param("old", verbatim=True), Param("new", verbatim=True)),
        native="```edit {path}\n<<<<\n{old}\n====\n{new}\n>>>>\n```",
    ),
    ActionSpec(
        "view",
        "Show a file.",
        (Param("path"), Param("line", "integer", required=False)),
        native=("```view\n{path}\n```", "```view\n{path} @ {line}\n```"),
    ),
    ActionSpec("submit", "Hand in.", terminal=True, native="```submit\n```"),
)
EXACT = (
    ActionSpec("search", "Search the shop.", (Param("query"),)),
    ActionSpec("click", "Click.", (Param("element", verbatim=True),)),
)
TYPED = (
    ActionSpec(
        "set",
        "Set a dial.",
        (
            Param("level", "integer"),
            Param("ratio", "number"),
            Param("on", "boolean"),
            Param("mode", enum=("Eco", "Full power")),
        ),
        native="set {level}, {ratio}, {on}, {mode};",
    ),
)
ROWS = (
    ActionSpec(
        "find",
        "Find lines.",
        (
            Param("text", verbatim=True),
            Param("path"),
            Param("glob", required=False),
            Param("note", required=False, verbatim=True),
            Param("limit", "integer", required=False),
        ),
        native="```find\n<t>{text}</t>\npath {path};\n<g>{glob?}</g>\n<n>{note?}</n>\n"
        "= {limit?};\n```",
    ),
)
SETS = {
    "shop": SHOP, "house": HOUSE, "bare": BARE, "code": CODE, "typed": TYPED, "exact": EXACT,
    "rows": ROWS,
}  # fmt: skip

ODDITIES = st.sampled_from(
    ["</search>", "]", "[", "</tool_call>", "<think>", "</think>", "```", "\n```", '"', "\\", "{",
     "}", "Action:", "\nAction: ", "click[x]", "\ud800", "\ud83d\ude00", "\u2028", "é", "\x00", " ",
     "  ", "\xa0", "\t", "\n", "\n\n", "'", "&", "&amp;", "<", ">", "from", "</click>", "<click>"]
)  # fmt: skip
SIGNS = '<>/[]{}`:"\\ \nsearchgotakebashAction'
TEXT = st.lists(st.one_of(st.text(max_size=8), ODDITIES), max_size=6).map("".join)
WORDS = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=6), min_size=1, max_size=3)


def value_of(param: Param, text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    if param.enum:
        return st.sampled_from(param.enum)
    if param.type == "integer":
        return st.integers(-(10**17), 10**17).map(str)
    if param.type == "number":
        return st.sampled_from(["0", "-1.5", "2e3", "10.25", "1E-7"])
    if param.type == "boolean":
        return st.sampled_from(["true", "false"])
    return text if param.verbatim else text.map(lambda s: " ".join(s.split()))


def calls(specs: tuple[ActionSpec, ...], text: st.SearchStrategy[str] = TEXT):
    def build(spec: ActionSpec) -> st.SearchStrategy[ActionCall]:
        required = {p.name: value_of(p, text) for p in spec.params if p.required}
        optional = {p.name: value_of(p, text) for p in spec.params if not p.required}
        return st.fixed_dictionaries(required, optional=optional).map(
            lambda arguments: ActionCall(spec.name, arguments)
        )

    return st.one_of([build(spec) for spec in specs])


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", SETS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_renders_parses_back(name, grammar, data):
    specs = SETS[name]
    call = data.draw(calls(specs))
    try:
        text = render(call, specs, grammar)
    except ConfigurationError:
        return
    parsed = parse(text, specs, grammar)
    assert (parsed.call, parsed.trailing, parsed.error) == (call, "", "")
    if strip_think(parsed.native) == parsed.native:
        assert parse(parsed.native, specs, "native").call == call


UNMARKED = st.text(
    # Lines that end in a carriage return and a line feed are read as those of a line feed alone.
    st.characters(exclude_characters="[]<\r", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
)
MARKS = st.sampled_from(["  ", "\xa0", "\n", "\t", '"', "'", "\\", "&", ">", "{", "}"])
SPACED = st.lists(st.one_of(UNMARKED, MARKS), min_size=1, max_size=5).map("".join)


@pytest.mark.parametrize("grammar", GRAMMARS)
@settings(max_examples=80, deadline=None)
@given(value=SPACED)
def test_verbatim_values_can_be_typed_in_every_grammar(grammar, value):
    """White space anywhere, quotes, line breaks: all but brackets and tags, which may not pair."""
    call = ActionCall("click", {"element": value})
    assert parse(render(call, EXACT, grammar), EXACT, grammar).call == call
    native = f"click[{value}]"
    language = Language(EXACT, grammar)
    assert language.read(language.write(native)).native == native


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", SETS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_native_action_is_written_faithfully_or_left_as_it_is(name, grammar, data):
    specs = SETS[name]
    call = data.draw(calls(specs))
    spec = next(spec for spec in specs if spec.name == call.name)
    native = spec.templates[0]
    for key, value in call.arguments.items():
        native = native.replace(f"{{{key}}}", value)
    language = Language(specs, grammar)
    text = language.write(native)
    assert text == native or parse(text, specs, grammar).native == native


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", SETS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_plain_words_can_always_be_expressed_behind_decoys(name, grammar, data):
    specs = SETS[name]
    call = data.draw(calls(specs, WORDS.map(" ".join)))
    decoy = data.draw(calls(specs, WORDS.map(" ".join)))
    try:
        text, quoted = render(call, specs, grammar), render(decoy, specs, grammar)
    except ConfigurationError:
        assert name == "house"
        assert "from" in " ".join(call.arguments.values()) + " ".join(decoy.arguments.values())
        return
    assert parse(f"<think>perhaps {quoted}\n{quoted}</think>\n{text}", specs, grammar).call == call
    assert parse(f"so {quoted} it is</think>\n{text}", specs, grammar).call == call
    assert parse(f"<think>never ends {quoted}\n{text}", specs, grammar).call is None
    parsed = parse(f"{text}\n{quoted}", specs, grammar)
    assert (parsed.call, parsed.trailing) == (call, quoted)


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", SETS)
@settings(max_examples=25, deadline=None)
@given(
    text=st.one_of(st.text(), TEXT, st.text('<>/[]{}`:"\\ \nsearchgotakebashAction', max_size=60))
)
def test_arbitrary_text_never_raises(name, grammar, text):
    parsed = parse(text, SETS[name], grammar)
    assert parsed.error or parsed.native
    assert prompt(SETS[name], grammar)


HOSTILE = (
    "search[", "[", "]", "<search>", "<search", "<search ", "<tool_call>", "<tool_call>{", "[" * 9,
    "Action:", "\nAction: search[", "<think>", "</think>", "<think></think>", "```bash\n", "`",
    "a\n", "go to x\n", "look\n", "Action:\n", "Action: take a from\n", "take a from ", " ", "\n",
    "a", '{"name":', '{"a":[', "<edit><path>", "set 1, ", "9", '<tool_call>{"a":"<think>"',
    '<tool_call>{"a":"<think>"}</tool_call>', '<tool_call>{"a":[',
    "[</think>", "<search></think>", "```a\n</think>", "`<think>`\n", "```find\n", "```find\n<t>",
    "```find\n<t></t>", "```find\npath a;\n<n>",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_of_anything_is_parsed_in_linear_time(unit):
    text = unit * (1_000_000 // len(unit))
    for specs in SETS.values():
        for grammar in GRAMMARS:
            parsed = parse(text, specs, grammar)
            assert len(parsed.native) <= 32_768


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("look", "look"),
        ("<think>a</think>look", "look"),
        ("go<THINK>a</think> on", "go on"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("a</think>\n\nb\n", "b"),
        ("a<think>b", "a"),
        ("<think>a</think>b<think>c", "b"),
        ("a < b <thin> c", "a < b <thin> c"),
        ('<tool_call>{"a": "<think>"}</tool_call>', '<tool_call>{"a": "<think>"}</tool_call>'),
        (
            'a</think><tool_call> {"a": "</think>"} </tool_call>b',
            '<tool_call> {"a": "</think>"} </tool_call>b',
        ),
        ('<think><tool_call>{"a": "</think>"}</tool_call></think>b', "b"),
        ('<tool_call>{"a": "b"}</tool_call></think>c', "c"),
        ('<tool_call>{"a": "<think>"}<tool_call>', '<tool_call>{"a": "'),
        ('<tool_call>{"a": "<think>"</tool_call>', '<tool_call>{"a": "'),
    ],
)
def test_strip_think(text, expected):
    assert strip_think(text) == expected


@pytest.mark.parametrize(
    ("text", "query", "trailing"),
    [
        ("search[red shoes]", "red shoes", ""),
        ("I will search [ red   shoes ] now", "red shoes", "now"),
        ("Search[a [b] c] click[d]", "a [b] c", "click[d]"),
        ("search[unclosed click[x]", "unclosed click[x", ""),
        ("search[interval [0,1)]", "interval [0,1)", ""),
        ("search[smile :]]", "smile :]", ""),
        ("research[no] search[yes]", "yes", ""),
        ("search[]", "", ""),
    ],
)
def test_native_brackets(text, query, trailing):
    parsed = parse(text, SHOP, "native")
    assert parsed.call == ActionCall("search", {"query": query})
    assert parsed.trailing == trailing


def test_native_text_that_matches_nothing_is_left_to_the_environment():
    parsed = parse("  dance  ", SHOP, "native")
    assert (parsed.call, parsed.native, parsed.error) == (None, "  dance  ", "")
    assert parse("<think>x</think> ", SHOP, "native").error


@pytest.mark.parametrize(
    ("text", "native", "trailing"),
    [
        ("<think>a</think>\n<action>look</action>", "look", ""),
        ("<Action> go to desk 1\n</ACTION> ok", "go to desk 1", "ok"),
        ("<think><action>look</action></think><action>help me</action>", "help me", ""),
        ("<action>look</action><action>go to bed</action>", "look", "<action>go to bed</action>"),
        ("<action>look\ngo to bed</action>", "look\ngo to bed", ""),
    ],
)
def test_what_stands_between_action_tags_is_the_action_to_the_letter(text, native, trailing):
    parsed = parse(text, HOUSE, "action_tag")
    assert (parsed.native, parsed.trailing, parsed.error) == (native, trailing, "")
    assert Language(HOUSE, "action_tag").read(text).native == native


@pytest.mark.parametrize("text", ["look", "<action>look", "look</action>", "<action> </action>"])
def test_an_action_needs_both_tags_and_something_in_them(text):
    parsed = parse(text, HOUSE, "action_tag")
    assert parsed.call is None and "action" in parsed.error and not parsed.native


def test_line_templates_need_a_whole_line_and_ignore_case():
    text = "I would like to go to bed\n  Take  mug 1 from  desk 2 \nlook"
    parsed = parse(text, HOUSE, "native")
    assert parsed.call == ActionCall("take", {"object": "mug 1", "place": "desk 2"})
    assert parsed.trailing == "look"


def test_verbatim_values_keep_every_character():
    call = ActionCall("edit", {"path": "a.py", "old": "    x = 1\n\n", "new": "\ty = '<b>'\n"})
    for grammar in GRAMMARS:
        assert parse(render(call, CODE, grammar), CODE, grammar).call == call


def test_a_second_template_takes_what_the_first_cannot_hold():
    call = ActionCall("bash", {"command": "cat <<E\n```\nx\n```\nE"})
    assert render(call, CODE, "native").startswith("````bash\n")
    parsed = parse(render(call, CODE, "tool_call"), CODE, "tool_call")
    assert parsed.call == call and parsed.native == render(call, CODE, "native")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "search", "arguments": {"query": "a"}}</tool_call>',
        '<tool_call>\n{"name": "search", "arguments": "{\\"query\\": \\"a\\"}"}\n</tool_call>',
        'Sure.<tool_call>{"name": "SEARCH", "parameters": {"query": " a\n"}}',
        '{"name": "search", "arguments": {"query": "a"}}',
    ],
)
def test_tool_call_forms(text):
    assert parse(text, SHOP, "tool_call").call == ActionCall("search", {"query": "a"})


@pytest.mark.parametrize(
    ("grammar", "text", "reason"),
    [
        ("tool_call", "search[a]", "no action found"),
        ("tool_call", "<tool_call>{'name'}</tool_call>", "not valid JSON"),
        ("tool_call", '<tool_call>{"name": "search", "arguments": {', "not valid JSON"),
        ("tool_call", "<tool_call>" + "[" * 20_000, "not valid JSON"),
        ("tool_call", '<tool_call>{"name": "fly", "arguments": {}}</tool_call>', "no action 'fly'"),
        ("tool_call", '<tool_call>{"name": "search"}</tool_call>', "needs the argument 'query'"),
        ("tool_call", '{"name": "search", "arguments": {"query": [1]}}', "must be a string"),
        ("tool_call", '{"name": "search", "arguments": [1]}', "must be a JSON object"),
        ("tool_call", '{"name": "search", "arguments": {"query": "a", "n": 1}}', "no argument 'n'"),
        ("tool_call", '{"name": "search", "arguments": {"query": "a]b["}}', "cannot be written"),
        ("tool_call", '<tool_call>{"name": "search"} and more', "end with </tool_call>"),
        ("xml", "search[a]", "no action found"),
        ("xml", "<search>a", "not closed"),
        ("react", "search[a]", "starts with 'Action:'"),
        ("react", "Action: I shall search[a]", "after 'Action:'"),
    ],
)
def test_errors_say_what_is_wrong(grammar, text, reason):
    parsed = parse(text, SHOP, grammar)
    assert parsed.call is None and parsed.native == ""
    assert reason in parsed.error


def test_xml_of_several_parameters():
    text = "<edit>\n <path>a</path>\n<old>\nx\n</old><new></new>\n</edit> done"
    parsed = parse(text, CODE, "xml")
    assert parsed.call == ActionCall("edit", {"path": "a", "old": "x", "new": ""})
    assert parsed.trailing == "done"
    assert "must hold" in parse("<edit>a</edit>", CODE, "xml").error
    error = parse("<bash>ls</bash>", SHELL, "xml").error
    assert "<command>...</command> <timeout>...</timeout> (or without)" in error
    assert "timeout" not in parse("Action: ls", SHELL, "react").error
    assert parse("<submit/>", CODE, "xml").call == ActionCall("submit")
    assert parse("<view>\n<path>a</path></view>", CODE, "xml").native == "```view\na\n```"


def test_every_grammar_takes_the_first_of_two_actions():
    first, second = (ActionCall("search", {"query": word}) for word in ("a", "b"))
    for grammar in GRAMMARS:
        text = "\n".join(render(call, SHOP, grammar) for call in (first, second))
        assert parse(text, SHOP, grammar).call == first, grammar


def test_react_takes_the_first_action_line():
    text = "Thought: the Action: is to search\nAction 1: search[a]\nObservation: made up"
    parsed = parse(text, SHOP, "react")
    assert parsed.call == ActionCall("search", {"query": "a"})
    assert parsed.native == "search[a]" and parsed.trailing == "Observation: made up"


def test_typed_values_are_brought_to_canonical_text():
    arguments = '{"level": 3.0, "ratio": 0.50, "on": true, "mode": "full POWER"}'
    parsed = parse(f'{{"name": "set", "arguments": {arguments}}}', TYPED, "tool_call")
    assert parsed.call is not None
    assert parsed.call.arguments == {
        "level": "3",
        "ratio": "0.50",
        "on": "true",
        "mode": "Full power",
    }
    for key, value in (("level", '"x"'), ("ratio", "NaN"), ("on", "2"), ("mode", '"off"')):
        broken = json.dumps({**json.loads(arguments), key: "@"}).replace('"@"', value)
        error = parse(f'{{"name": "set", "arguments": {broken}}}', TYPED, "tool_call").error
        assert repr(key) in error


@pytest.mark.parametrize(
    ("call", "grammar"),
    [
        (ActionCall("fly"), "native"),
        (ActionCall("search", {}), "xml"),
        (ActionCall("search", {"query": "a", "b": "c"}), "xml"),
        (ActionCall("search", {"query": " a"}), "tool_call"),
        (ActionCall("search", {"query": "x</search>"}), "xml"),
        (ActionCall("SEARCH", {"query": "a"}), "native"),
    ],
)
def test_render_refuses_what_would_change(call, grammar):
    with pytest.raises(ConfigurationError):
        render(call, SHOP, grammar)


def test_an_action_that_only_its_line_closes_cannot_hold_marks_of_thinking():
    with pytest.raises(ConfigurationError):
        render(ActionCall("go", {"place": "<think>"}), HOUSE, "native")


def test_schemas():
    tool = openai_tools(CODE)[2]
    assert tool["type"] == "function" and tool["function"]["name"] == "view"
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    entry = mcp_tools(SHOP)[0]
    assert set(entry) == {"name", "description", "inputSchema"}
    assert entry["inputSchema"] == openai_tools(SHOP)[0]["function"]["parameters"]
    assert openai_tools(()) == [] and mcp_tools(()) == []
    assert openai_tools(SHOP)[0] is not openai_tools(SHOP)[0]
    json.dumps(openai_tools(TYPED))


def test_prompt_shows_forms_and_translated_examples():
    assert "- search[query] : Search the shop." in prompt(SHOP)
    assert "query: key words" in prompt(SHOP)
    assert "example: <click>buy now</click>" in prompt(SHOP, "xml")
    assert 'example: <tool_call>{"name": "click"' in prompt(SHOP, "tool_call")
    assert "example: Action: click[buy now]" in prompt(SHOP, "react")
    assert "- <command>" in prompt(BARE)
    assert "mode: one of Eco, Full power" in prompt(TYPED)
    assert "(ends the episode)" in prompt(CODE)
    assert "line (integer) (optional)" in prompt(CODE)


def test_translate():
    assert translate("look", HOUSE, "xml") == "<look></look>"
    assert translate("dance", HOUSE, "native") == "dance"
    with pytest.raises(ConfigurationError, match="expected native text"):
        translate("dance", HOUSE, "xml")


def rows_of(native):
    params = (Param("x", required=False), Param("y", required=False))
    return (ActionSpec("a", "", params, native=native),)


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("<t>a</t>\npath p;\n", {"text": "a", "path": "p"}),
        ("= 5;\npath p;\n\n  <t>a</t>\n", {"text": "a", "path": "p", "limit": "5"}),
        ("<t>a</t> <n>x</n>path p;\n", {"text": "a", "path": "p", "note": "x"}),
        ("<t>a</t>\n</t>\npath p;\n", {"text": "a</t>\n", "path": "p"}),
        ("<t>```\n</t>\npath p;\n", {"text": "```\n", "path": "p"}),
        ("<t>a</t>\n", None),
        ("<t>a</t>\npath p;\n<t>b</t>\n", None),
        ("<t>a</t>\npath p\n;\n", None),
        ("<t>a</t>\npath p;\n<x>\n", None),
    ],
)
def test_lines_of_arguments_may_be_left_out_and_come_in_any_order(body, arguments):
    call = parse(f"so:\n```find\n{body}```\nend", ROWS).call
    assert (None if call is None else call.arguments) == arguments


@pytest.mark.parametrize(
    "make",
    [
        lambda: Param("1st"),
        lambda: Param("think"),
        lambda: Param("x", "list"),
        lambda: Param("x", "integer", verbatim=True),
        lambda: Param("x", enum=("a  b",)),
        lambda: ActionSpec("a b", ""),
        lambda: ActionSpec("tool_call", ""),
        lambda: ActionSpec("a", "", (Param("x"), Param("x")), native="{x}"),
        lambda: ActionSpec("a", "", (Param("x"), Param("y"))),
        lambda: ActionSpec("a", "", (Param("x"), Param("y")), native="{x}{y}"),
        lambda: ActionSpec("a", "", (Param("x"),), native="a"),
        lambda: ActionSpec("a", "", (Param("x"),), native="{x} {x}"),
        lambda: ActionSpec("a", "", (), native=" "),
        lambda: ActionSpec("a", "", (Param("x"),), native="a\n<{x?}>\nb"),
        lambda: parse("a", rows_of("a\n<{x?}> {y?}\nb")),
        lambda: parse("a", rows_of("a\n{x?}>\nb")),
        lambda: parse("a", (ActionSpec("a", ""), ActionSpec("A", "")), "native"),
        lambda: parse("a", (), "native"),
        lambda: parse("a", SHOP, "yaml"),
        lambda: render(ActionCall("a"), SHOP, "yaml"),
        lambda: prompt(SHOP, "yaml"),
    ],
)
def test_bad_declarations_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


def test_specs_are_values():
    assert pickle.loads(pickle.dumps(CODE)) == CODE == copy.deepcopy(CODE)
    assert hash(pickle.loads(pickle.dumps(CODE))) == hash(CODE)
    assert "_hash" in vars(CODE[0]) and "_hash" not in CODE[0].__getstate__()


def test_a_caller_cannot_spoil_the_cache():
    first = parse("search[a]", SHOP).call
    assert first is not None
    first.arguments["query"] = "b"
    second = parse("search[a]", SHOP).call
    assert second is not None and second.arguments == {"query": "a"}
