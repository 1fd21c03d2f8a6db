"""Percent-encoding of text as UTF-8."""

from __future__ import annotations

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
    position = 0
    while position < len(text):
        if text[position] != "%":
            data += text[position].encode("utf-8")
            position += 1
            continue
        digits = text[position + 1 : position + 3].upper()
        if len(digits) < 2 or any(digit not in _HEX for digit in digits):
            raise UrlError(f"malformed percent-encoding at position {position} of {text!r}")
        data.append(int(digits, 16))
        position += 3
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UrlError(f"{text!r} is not UTF-8") from error


def requote(text: str, safe: str) -> str:
    """Bring existing encodings into one form: needless ones decoded, digits in upper case."""
    parts = []
    position = 0
    while position < len(text):
        digits = text[position + 1 : position + 3].upper()
        is_code = text[position] == "%" and len(digits) == 2 and all(d in _HEX for d in digits)
        if is_code:
            char = chr(int(digits, 16))
            parts.append(char if char in UNRESERVED else "%" + digits)
            position += 3
        else:
            parts.append(quote(text[position], safe))
            position += 1
    return "".join(parts)
