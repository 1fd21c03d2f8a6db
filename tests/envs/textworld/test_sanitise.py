from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentgym.envs.textworld.sanitise import MAX_COMMAND, read_command, typable

NASTY = (
    "\\\0\n\r\x0b\x0c\x1b\x85\u2028\u2029\ufe68\uff3c\u2024\uff0e\ufe52\u2026\ud800é北🙂ﬁ.,;!then "
)


@given(st.text(st.one_of(st.characters(), st.sampled_from(NASTY))))
@example("\uff3cx")
@example("look\0")
@example("x" * 5000)
@example("\u2024\u2024restart")
def test_any_text_becomes_one_plain_line(text: str) -> None:
    command = read_command(text)
    for line in (command.text, command.ignored):
        assert line.isascii() and line.isprintable() and "\\" not in line
        assert line == " ".join(line.split())
    assert not set(command.text) & set('.,;!"') and len(command.text) <= MAX_COMMAND
    assert "then" not in command.text.lower().split()
    assert command.text or command.refusal
    assert read_command(text) == command


@given(st.text(st.one_of(st.characters(), st.sampled_from(NASTY))))
def test_what_was_read_is_read_the_same_again(text: str) -> None:
    command = read_command(text)
    assert (
        read_command(command.text)[::2] == (command.text, command.refusal)
        or "long" in command.refusal
    )


@pytest.mark.parametrize(
    "command",
    [
        "look",
        "take type J keycard from mantle",
        "insert Henderson's latchkey into American limited edition chest",
        "go east",
        "open frosted-glass door",
    ],
)
def test_commands_of_the_game_are_left_alone(command: str) -> None:
    assert read_command(command) == (command, "", "")


@pytest.mark.parametrize(
    ("text", "command", "ignored"),
    [
        ("  go \t east ", "go east", ""),
        ("\n\n  look\nopen chest\n", "look", "open chest"),
        ("> take lamp.", "take lamp", ""),
        ("take key. go east. open door", "take key", "go east. open door"),
        ("take key then go east", "take key", "go east"),
        ("Then go east", "go east", ""),
        ("Take key, please!", "Take key", "please"),
        ("chest, restart", "chest", "restart"),
        ("me\uff0c quit", "me", "quit"),
        ("strengthen the door", "strengthen the door", ""),
        ("`look`", "look", ""),
        ("\u201clook\u201d", "look", ""),
        ("take Henderson\u2019s latchkey", "take Henderson's latchkey", ""),
        ("open frosted\u2011glass door", "open frosted-glass door", ""),
        ("\uff4c\uff4f\uff4f\uff4b", "look", ""),
        ("take caf\u00e9 key", "take cafe key", ""),
        ("take \u94a5\u5319", "take ~~", ""),
        ("look \U0001f642", "look", ""),
        ("look\\x", "look x", ""),
        ("take\0key", "take key", ""),
        ("look\x1b[2J", "look [2J", ""),
    ],
)
def test_reading(text: str, command: str, ignored: str) -> None:
    assert read_command(text) == (command, ignored, "")


@pytest.mark.parametrize("text", ["", "   ", "\n\t\r", "\0\0", "...", "\\", "\U0001f642", "?!"])
def test_silence_is_refused(text: str) -> None:
    command = read_command(text)
    assert command.text == "" and "Nothing was said" in command.refusal


@pytest.mark.parametrize(
    "text",
    [
        "quit", "Q", "RESTART", "restore game", "save", "script on", "transcript", "transcripts",
        "undo", "again", "g", "oops key", "brief", "superbrief", "notify off", "version",
        "tw-trace-actions", "tw-extra-infos description", "tw-print player id", "print_state",
        "restrict commands", "enable print state option", "disable print state option",
        "purloin key", "gonear key", "showme", "test quest0_0", "> quit", "\\restart",
        "re\u0301start",
    ],
)  # fmt: skip
def test_commands_to_the_program_are_refused(text: str) -> None:
    assert read_command(text).refusal.startswith("There is no command")


def test_overlong_commands_are_refused() -> None:
    longest = read_command("take " + "a" * (MAX_COMMAND - 5))
    assert longest.refusal == "" and len(longest.text) == MAX_COMMAND
    assert "too long" in read_command("take " + "a" * MAX_COMMAND).refusal


def test_a_run_of_accents_is_read_in_linear_time() -> None:
    def seconds(length: int) -> float:
        text = "look " + "\u0315\u0300\u05ae" * (length // 3)
        runs = []
        for _ in range(5):
            start = time.thread_time()
            assert read_command(text).text == "look"
            runs.append(time.thread_time() - start)
        return min(runs)

    seconds(4000)
    assert seconds(4000) < 20 * seconds(800)  # quadratic: 25 and more


@pytest.mark.parametrize(
    "name", ["old key", "Henderson's key", "Key-Card 7", "café", "salt (fine)"]
)
def test_names_that_can_be_typed(name: str) -> None:
    assert typable(name)


@pytest.mark.parametrize(
    "name", ["Dr. Who", "a, b", "now then", "what?", "x" * 200, "key ", "old  key"]
)
def test_names_that_cannot_be_typed(name: str) -> None:
    assert not typable(name)
