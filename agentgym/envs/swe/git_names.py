"""File names as git writes them in diffs: unusual ones in double quotes, with C escapes."""

from __future__ import annotations

import re

_ESCAPES = {
    "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92,
}  # fmt: skip
_LETTERS = {code: letter for letter, code in _ESCAPES.items()}
_QUOTED = re.compile(r'"((?:[^"\\]|\\(?:[abtnvfr"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)")
_SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\\ud800-\udfff]')


def read_name(text: str) -> tuple[str, str]:
    r"""Parse a quoted name at the beginning of a text, such as ``"a/d\303\251j\303\240.py"``.

    Returns:
        The decoded name and the text after it. Without a quoted name: the whole text and "".
        Bytes that are not UTF-8 become lone surrogates, as in :func:`os.fsdecode`.
    """
    quoted = _QUOTED.match(text)
    if quoted is None:
        return text, ""
    content = quoted[1].encode("utf-8", "surrogateescape")
    return (
        _ESCAPE.sub(_byte, content).decode("utf-8", "surrogateescape"),
        text[quoted.end() :],
    )


def write_name(name: str) -> str:
    """Write a name as ``git -c core.quotePath=false`` does: quoted only if necessary."""
    if not _SPECIAL.search(name):
        return name
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else _escaped(byte)
        for byte in name.encode("utf-8", "surrogateescape")
    )
    return f'"{escaped}"'


def _byte(escape: re.Match[bytes]) -> bytes:
    code = escape[1].decode()
    return bytes([int(code, 8) if len(code) == 3 else _ESCAPES[code]])


def _escaped(byte: int) -> str:
    return f"\\{_LETTERS[byte]}" if byte in _LETTERS else f"\\{byte:03o}"
