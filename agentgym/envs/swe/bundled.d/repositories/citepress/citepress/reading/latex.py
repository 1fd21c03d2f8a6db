"""LaTeX in fields: accents, signs and commands, as far as bibliographies have them."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
}
_LETTERS = {
    "aa": "å",
    "AA": "Å",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "ss": "ß",
    "i": "\u0131",
    "j": "ȷ",
    "copyright": "©",
    "dots": "…",
    "ldots": "…",
    "textendash": "\u2013",
    "textemdash": "\u2014",
    "S": "§",
}
_MARKUP = {"emph", "textit", "textbf", "textsc", "texttt", "textrm", "mbox", "text", "url"}
_SIGNS = {"---": "\u2014", "--": "\u2013", "~": "\u00a0", "``": "“", "''": "”"}
_COMMAND = re.compile(r"\\(?:([A-Za-z]+)[ ]*|(.))", re.DOTALL)
_TOKEN = re.compile(r"\\(?:[A-Za-z]+[ ]*|.)|---?|``|''|~|[{}$]", re.DOTALL)


def plain_text(field: str) -> str:
    """Return a field as readers see it.

    Accents and letters become characters, dashes and quotes become the right ones, braces and
    dollar signs go, commands for markup leave their argument, and unknown commands stay.
    """
    found: list[str] = []
    place = 0
    while place < len(field):
        match = _TOKEN.search(field, place)
        if match is None:
            found.append(field[place:])
            break
        found.append(field[place : match.start()])
        token, place = match.group(), match.end()
        if token.startswith("\\"):
            text, place = _command(field, token, place)
            found.append(text)
        else:
            found.append(_SIGNS.get(token, ""))
    return unicodedata.normalize("NFC", "".join(found))


def _command(field: str, token: str, place: int) -> tuple[str, int]:
    """Return what a command stands for, and where the text goes on."""
    match = _COMMAND.fullmatch(token)
    assert match is not None
    word, sign = match.group(1), match.group(2)
    name = word or sign
    if name in _ACCENTS and (sign or _has_argument(field, token, place)):
        return _accented(field, _ACCENTS[name], place)
    if name in _LETTERS:
        return _LETTERS[name], place
    if name in _MARKUP:
        return "", place
    if sign and sign in "&%$#_{} ":
        return sign, place
    if sign == "\\":
        return " ", place
    return token, place


def _has_argument(field: str, token: str, place: int) -> bool:
    """Say whether an accent that is a letter is followed by what it belongs to."""
    return token.endswith(" ") or field[place : place + 1] in ("{", "\\")


def _accented(field: str, accent: str, place: int) -> tuple[str, int]:
    """Return the character at a place with an accent, and where the text goes on."""
    braced = field[place : place + 1] == "{"
    start = place + braced
    base, end = field[start : start + 1], start + 1
    if base == "\\":  # the dotless letters carry accents, as do others
        match = _COMMAND.match(field, start)
        word = match.group(1) if match else None
        if match is None or word not in _LETTERS:
            return "", place
        base, end = {"i": "i", "j": "j"}.get(word, _LETTERS[word]), match.end()
    if base in ("", "{", "}"):
        return "", place
    if braced and field[end : end + 1] == "}":
        end += 1
    return unicodedata.normalize("NFC", base + accent), end


def sort_text(text: str) -> str:
    """Return a text as it is sorted: without accents, capitals and punctuation."""
    special = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "\u0131": "i"}
    folded = "".join(special.get(character, character) for character in text.lower())
    decomposed = unicodedata.normalize("NFD", folded)
    kept = "".join(c if c.isalnum() or c == " " else "" for c in decomposed.replace("-", " "))
    return re.sub(r" +", " ", kept).strip()
