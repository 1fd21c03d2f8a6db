from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.actions import GRAMMARS, MAX_ACTION_CHARS, parse
from agentgym.envs.swe.engine import commands
from agentgym.envs.swe.engine.commands import (
    SPECS,
    CommandFault,
    SWECommand,
    SWELanguage,
    only_command,
)

EDIT = "```edit\na.py\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("```bash\nls -la\n```", SWECommand("bash", "ls -la")),
        ("I look.\n\n```bash\nls\ncat x\n```\nDone.", SWECommand("bash", "ls\ncat x")),
        ("```BASH\nls\n```", SWECommand("bash", "ls")),
        ("```bash timeout=5\nls\n```", SWECommand("bash", "ls", timeout=5)),
        ("````bash\ncat <<E\n```\nx\n```\nE\n````", SWECommand("bash", "cat <<E\n```\nx\n```\nE")),
        ("```bash\n  ls  \n\n```", SWECommand("bash", "  ls  \n")),
        ("```python\nprint(1)\n```\n```bash\nls\n```", SWECommand("bash", "ls")),
        ("```\n```bash\n```\n```bash\nls\n```", SWECommand("bash", "ls")),
        ("```submit\n```", SWECommand("submit")),
        ("```submit\nI am done.\n```", SWECommand("submit")),
        ("```view\n src/a.py \n```", SWECommand("view", "src/a.py")),
        ("```view start=3 end=9\na.py\n```", SWECommand("view", "a.py", start=3, end=9)),
        (EDIT.format(old="x", new="y"), SWECommand("edit", "a.py", "x", "y")),
        (EDIT.format(old="", new="y\n```\nz"), SWECommand("edit", "a.py", "", "y\n```\nz")),
        (EDIT.format(old="x\n", new=""), SWECommand("edit", "a.py", "x\n", "")),
        (
            "```edit\na.py\n<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE\n```",
            SWECommand("edit", "a.py", "", "y"),
        ),
    ],
)
def test_one_block_is_one_command(text: str, command: SWECommand) -> None:
    assert only_command(text)[0] == command
    assert only_command(command.write()) == (command, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no action found"),
        ("ls -la", "no action found"),
        ("```sh\nls\n```", "no action found"),
        ("```bash\nls", "not closed"),
        ("```bash\n\n```", "is empty"),
        ("```bash\nls\n```\n```bash\npwd\n```", "2 actions found"),
        ("```bash\nls\n```\n```submit\n```", "2 actions found"),
        ("```bash timeout=0\nls\n```", "from 1 to"),
        ("```bash start=3\nls\n```", "takes timeout=N"),
        ("```submit now\n```", "takes no options"),
        ("```edit\na.py\nx\n```", "not complete"),
        ("```edit\na.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n```", "not complete"),
        ("<think>```bash\nls\n```", "no action found"),
        ("```bash\n" + "x" * MAX_ACTION_CHARS + "\n```", "characters are read"),
    ],
    ids=range(14),
)
def test_all_else_is_refused_with_the_reason(text: str, reason: str) -> None:
    reading = SWELanguage("native").read(text)
    assert not reading.native and reason in reading.problem


def test_what_follows_the_block_is_dropped() -> None:
    reading = SWELanguage("native").read("```bash\nls\n```\n[exit 0]\na.py")
    assert (reading.native, reading.trailing) == ("```bash\nls\n```", "[exit 0]\na.py")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["```", "bash", "\n", "submit", "edit", " ", "x", "=", "<"])))
def test_no_text_raises_anything_else(parts: list[str]) -> None:
    language = SWELanguage("native")
    reading = language.read("".join(parts))
    assert bool(reading.native) != bool(reading.problem)
    if reading.native:
        assert language.command(reading.native).write() == reading.native


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab `\n<>=$\\é", max_size=60), st.sampled_from(GRAMMARS))
def test_a_command_is_run_as_it_was_written_or_refused(body: str, grammar: str) -> None:
    """In every grammar: what comes out is the whole command, never a part of it."""
    language = SWELanguage(grammar)
    command = SWECommand("bash", body)
    text = language.write(command.write())
    if grammar != "native" and text == command.write():
        return  # which this grammar cannot hold
    reading = language.read(text)
    if reading.problem:
        return
    try:
        assert language.command(reading.native) == command
    except CommandFault:
        assert not body.strip() or "```" in body


def test_tool_calls_hold_every_command() -> None:
    for call, command in (
        ('{"name": "bash", "arguments": {"command": "ls\\n", "timeout": 3}}',
         SWECommand("bash", "ls\n", timeout=3)),
        ('{"name": "view", "arguments": {"path": "a.py", "start": 2}}',
         SWECommand("view", "a.py", start=2)),
        ('{"name": "edit", "arguments": {"path": "a.py", "old": "", "new": "x\\n"}}',
         SWECommand("edit", "a.py", "", "x\n")),
        ('{"name": "submit", "arguments": {}}', SWECommand("submit")),
    ):  # fmt: skip
        language = SWELanguage("tool_call")
        reading = language.read(f"<tool_call>{call}</tool_call>")
        assert language.command(reading.native) == command
        assert parse(language.write(command.write()), SPECS, "tool_call").native == reading.native


def test_fences_that_nothing_closes_are_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    real = commands._closing
    monkeypatch.setattr(
        commands, "_closing", lambda text, fence: searched.append(fence) or real(text, fence)
    )
    text = "````x\n```x\n" * 1000 + "```bash\nls"
    with pytest.raises(CommandFault, match="not closed"):
        only_command(text)
    assert len(searched) <= 3
    assert only_command("````x\n```y\nz\n```\n```bash\nls\n```\n")[0] == SWECommand("bash", "ls")


LINES = st.lists(
    st.sampled_from([
        "", "x", "```", "````", "``````", "```bash", "=======", "========", "<<<<<<< SEARCH",
        ">>>>>>> REPLACE", ">>>>>>>> REPLACE", "```edit", "==========", " =======", "é\x0c",
    ]),
    max_size=7,
)  # fmt: skip
PIECES = st.builds("\n".join, LINES)


@settings(max_examples=400, deadline=None)
@given(PIECES, PIECES)
def test_a_command_is_written_so_that_it_is_read_whatever_it_holds(old: str, new: str) -> None:
    edit = SWECommand("edit", "a b.py", old, new)
    assert only_command(edit.write()) == (edit, "")
    bash = SWECommand("bash", old, timeout=3)
    if old.strip():
        assert only_command(bash.write()) == (bash, "")


@settings(max_examples=300, deadline=None)
@given(PIECES, PIECES, st.sampled_from(["edit", "bash"]))
def test_a_call_is_carried_out_whatever_its_arguments_hold(old: str, new: str, name: str) -> None:
    language = SWELanguage("tool_call")
    command = (
        SWECommand("edit", "a.rst", old, new) if name == "edit" else SWECommand("bash", f"{old}x")
    )
    text = (
        f"<tool_call>{json.dumps({'name': name, 'arguments': command.call.arguments})}</tool_call>"
    )
    reading = language.read(text)
    assert not reading.problem
    assert language.command(reading.native) == command
    assert language.command(language.read(language.write(command.write())).native) == command


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_wide_fences_and_markers_in_every_grammar(grammar: str) -> None:
    language = SWELanguage(grammar)
    for command in (
        SWECommand("bash", "cat > a.md <<'E'\n````\n```\nE"),
        SWECommand("bash", "```\nls\n```", timeout=7),
        SWECommand("edit", "a.rst", "Title\n=======\ntext", "=======\nother"),
        SWECommand("edit", "a.py", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n", ""),
    ):
        action = language.write(command.write())
        assert grammar == "native" or action != command.write()
        assert language.command(language.read(action).native) == command


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_block_may_have_the_line_ends_of_another_system(end: str) -> None:
    block = "So:\n\n```bash\ncd a\nls b\n```\n".replace("\n", end)
    assert only_command(block)[0] == SWECommand("bash", "cd a\nls b")
    assert only_command(f"I look.\n{block}")[0] == SWECommand("bash", "cd a\nls b")
    edit = EDIT.format(old="x\ny", new="z\n").replace("\n", end)
    assert only_command(edit)[0] == SWECommand("edit", "a.py", "x\ny", "z\n")
    for grammar, text in (
        ("xml", "<bash><command>\ncd a\nls b\n</command></bash>"),
        ("react", "Action: ```bash\ncd a\nls b\n```"),
        ("action_tag", "<action>```bash\ncd a\nls b\n```</action>"),
    ):
        language = SWELanguage(grammar)
        reading = language.read(text.replace("\n", end))
        assert language.command(reading.native) == SWECommand("bash", "cd a\nls b"), grammar


def test_carriage_returns_of_a_file_stay_in_a_block_of_plain_lines() -> None:
    patch = "git apply - <<'E'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\nE"
    assert only_command(f"```bash\n{patch}\n```")[0] == SWECommand("bash", patch)


def test_paths_keep_their_blanks() -> None:
    assert only_command("```view\n my  file.py \n```")[0].text == "my  file.py"
    assert (
        only_command(EDIT.replace("a.py", "a  b.py").format(old="x", new=""))[0].text == "a  b.py"
    )
    call = '<tool_call>{"name": "view", "arguments": {"path": "a  b\\tc.py"}}</tool_call>'
    language = SWELanguage("tool_call")
    assert language.command(language.read(call).native) == SWECommand("view", "a  b\tc.py")


@pytest.mark.parametrize(
    "text",
    [
        "```bash\ncat > R.md <<EOF\nUse\n```\nx\n```\nEOF\n```",
        "```bash\ncat > R.md <<-'END'\n\tUse\n```sh\nx\n```\n\tEND\nls\n```",
    ],
)
def test_a_here_document_that_a_fence_cuts_is_not_run(text: str) -> None:
    reading = SWELanguage("native").read(text)
    assert not reading.native and "here-document" in reading.problem
    wide = text.replace("```bash", "````bash").removesuffix("```") + "````"
    assert SWELanguage("native").read(wide).native


def test_here_documents_that_are_whole_or_none() -> None:
    for body in ("cat <<E\nx\nE", "echo $((1<<E))", "cat <<E\nx"):
        assert only_command(f"```bash\n{body}\n```\nSo\nF\n")[0] == SWECommand("bash", body)


def test_an_edit_that_can_be_read_in_several_ways_says_so() -> None:
    command = only_command(EDIT.format(old="a\n=======\nb", new="c"))[0]
    assert command.readings == (("a", "b\n=======\nc"), ("a\n=======\nb", "c"))
    assert only_command(command.write()) == (command, "")
    nested = EDIT.format(old="a", new="b\n>>>>>>> REPLACE\n```\nc")
    command, trailing = only_command(nested)
    assert command.readings == (("a", "b"), ("a", "b\n>>>>>>> REPLACE\n```\nc"))
    assert not trailing
    assert only_command(nested.replace("```edit", "````edit") + "`")[0].readings == (
        ("a", "b\n>>>>>>> REPLACE\n```\nc"),
    )
    with pytest.raises(CommandFault, match="2 actions"):
        only_command(EDIT.format(old="a", new="b") + "\n" + EDIT.format(old="c", new="d"))
    with pytest.raises(CommandFault, match="one more sign"):
        only_command(EDIT.format(old="\n=======" * 100, new="x"))
