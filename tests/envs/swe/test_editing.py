"""Edits and views of files as they are: line ends, encodings, odd names, markers in the text."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import pytest

from agentgym.envs.swe.env import SWEEnv
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import bash, small_env

pytestmark = needs_box
EDIT = "```edit\n{}\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```"
FIRST = {"split": "train", "index": 0}
RST = b"Intro\n\nTitle\n=======\nbody\n\nMore\n=======\nbody\n"


@pytest.fixture(scope="module")
def env() -> Iterator[SWEEnv]:
    swe_env = small_env(horizon=400)
    swe_env.reset(options=FIRST)
    yield swe_env
    swe_env.close()


def put(env: SWEEnv, path: str, content: bytes) -> None:
    env.session.box.write(path, content)


def content_of(env: SWEEnv, path: str) -> bytes:
    return env.session.box.read(path, 1 << 20)


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (b"p = 1\r\nq = 2\r\n", "p = 1\nq = 2", "p = 1\nr = 3\nq = 4",
         b"p = 1\r\nr = 3\r\nq = 4\r\n"),
        (b"p = 1\r\nq = 2\r\n", "q = 2", "q = 2\ns = 5", b"p = 1\r\nq = 2\r\ns = 5\r\n"),
        (b"n = '\xe4'\n", "'ä'", "'ö'", b"n = '\xf6'\n"),
        (b"a\rb\r", "b", "c\nd", b"a\rc\rd\r"),
        (RST, "More\n=======", "Less\n-------", RST.replace(b"More\n=======", b"Less\n-------")),
        (RST, "Intro", "Intro\n=======", RST.replace(b"Intro", b"Intro\n=======")),
    ],
)  # fmt: skip
def test_an_edit_keeps_what_a_file_is(
    env: SWEEnv, content: bytes, old: str, new: str, after: bytes
) -> None:
    put(env, "f.txt", content)
    observation, *_, info = env.step(EDIT.format("f.txt", old, new))
    if content_of(env, "f.txt") != after:  # the piece before the first line ======= occurs, too
        assert observation.startswith("invalid: the block has several lines")
        assert content_of(env, "f.txt") == content
        wide = EDIT.replace("<<<<<<<", "<<<<<<<<").replace("\n=======", "\n========")
        observation, *_, info = env.step(
            wide.replace(">>>>>>>", ">>>>>>>>").format("f.txt", old, new)
        )
    assert info["action_valid"] and observation.startswith("[edited f.txt at line ")
    assert content_of(env, "f.txt") == after


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Title\n=======\nbody", "x", "has several lines .* can be read in 2 ways, and the piece"),
        ("None\n=======\nso", "x", "the piece of none of them occurs exactly once"),
        ("body", "x", "the piece occurs 2 times in doc.rst"),
        ("Bodies", "x", "the piece is not in doc.rst"),
        ("", "x", "doc.rst exists"),
    ],
)
def test_a_piece_that_is_not_clear_is_refused(
    env: SWEEnv, old: str, new: str, message: str
) -> None:
    put(env, "doc.rst", RST)
    observation, *_, info = env.step(EDIT.format("doc.rst", old, new))
    assert not info["action_valid"] and content_of(env, "doc.rst") == RST

    assert re.search(message, observation), observation


def test_a_new_file_may_hold_markers(env: SWEEnv) -> None:
    text = "Head\n=======\n\n- a\n=======\n"
    observation, *_ = env.step(EDIT.format("new file.rst", "", text))
    assert observation.startswith("[made new file.rst]")
    assert content_of(env, "new file.rst") == text.encode()


def test_what_an_encoding_lacks_is_refused(env: SWEEnv) -> None:
    put(env, "l.py", b"x = '\xe9'\n")
    observation, *_ = env.step(EDIT.format("l.py", "'é'", "'漢'"))
    assert "l.py is encoded in latin-1, which has no '漢'" in observation
    assert content_of(env, "l.py") == b"x = '\xe9'\n"


def test_views_show_lines_and_say_how_they_end(env: SWEEnv) -> None:
    put(env, "two  blanks.txt", b"a\x0cb\r\nc\r\n")
    observation, *_ = env.step("```view\ntwo  blanks.txt\n```")
    head, *lines = observation.split("\n")
    assert head == "two  blanks.txt, lines 1 to 2 of 2, lines end with \\r\\n"
    assert lines == ["     1\ta\x0cb", "     2\tc"]
    put(env, "l.txt", b"\xfcber\n")
    observation, *_ = env.step("```view\nl.txt\n```")
    assert observation == "l.txt, lines 1 to 1 of 1, encoded in latin-1\n     1\tüber"


def test_a_block_with_other_line_ends_runs(env: SWEEnv) -> None:
    observation, *_ = env.step(bash("echo one\necho two").replace("\n", "\r\n"))
    assert observation == "[exit 0]\none\ntwo"


def test_files_of_any_name_count_as_changed(env: SWEEnv) -> None:
    name = 'sums/dé"j\tà.py'
    text = base64.b64encode(name.encode()).decode()
    env.step(bash(f'echo x > "$(echo {text} | base64 -d)"'))
    assert name in env.session.state.edits.counted
