"""Percent-encoding of text as UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX = "0123456789ABCDEF"


class UrlError(ValueError):
    """A text is not a URL or not a part of one."""


def quote(text: str, safe: str = "") -> str:
    """Encode everything but letters, digits, ``-._~`` and the characters of ``safe``.

    Args:
        text: The text.
        safe: Further characters to leave alone.

    Returns:
        The encoded text, its hexadecimal digits in upper case.
    """
    parts = []
    for char in text:
        if char in UNRESERVED or char in safe:
            parts.append(char)
        else:
            for byte in char.encode("utf-8"):
                parts.append("%" + _HEX[byte // 16] + _HEX[byte % 16])
    return "".join(parts)


def unquote(text: str) -> str:
    """Decode what ``quote`` encoded.

    Raises:
        UrlError: A percent sign has no two hexadecimal digits behind it, or the bytes are not
            UTF-8.
    """
    data = bytearray()
    for position, char, byte in _pieces(text):
        if byte is not None:
            data.append(byte)
        elif char == "%":
            raise UrlError(f"malformed percent-encoding at position {position} of {text!r}")
        else:
            data += char.encode("utf-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UrlError(f"{text!r} is not UTF-8") from error


def requote(text: str, safe: str) -> str:
    """Bring existing encodings into one form: needless ones decoded, digits in upper case."""
    parts = []
    for _, char, byte in _pieces(text):
        if byte is None:
            parts.append(quote(char, safe))
        else:
            parts.append(chr(byte) if chr(byte) in UNRESERVED else f"%{byte:02X}")
    return "".join(parts)


def _pieces(text: str) -> Iterator[tuple[int, str, int | None]]:
    """Yield position, character and, where a percent-encoding begins, the byte it stands for."""
    position = 0
    while position < len(text):
        digits = text[position + 1 : position + 3].upper()
        encoded = text[position] == "%" and len(digits) == 2 and set(digits) <= set(_HEX)
        yield position, text[position], int(digits, 16) if encoded else None
        position += 3 if encoded else 1
