r"""Write the text of an answer with fewer spellings, before it is read or compared.

LaTeX, Markdown and plain text write one value in many ways: ``\[42\]``, ``**42**``,
``\mathbf{42}``. Whatever only wraps or sets an answer is dropped; nothing is evaluated.
"""

from __future__ import annotations

import re

_PLAIN = {
    "\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00b7": "*", "\u22c5": "*", "\u00f7": "/",
    "\u03c0": r"\pi ", "\u221e": r"\infty ", "\u221a": r"\sqrt ", "\u00b1": r"\pm ",
    "\u222a": r"\cup ", "\u2208": r"\in ", "\u2264": r"\le ", "\u2265": r"\ge ",
    "\u2260": r"\ne ", "\u2248": r"\approx ", "\u00b0": r"\degree ", "\u00ba": r"\degree ",
    "\u2205": r"\emptyset ", "\u00a0": r"\,", "\u2009": r"\,", "\u202f": r"\,",
    "\uff05": "%", "\u2044": "/", "\u00bd": r"\frac12 ", "\u00bc": r"\frac14 ",
    "\u00be": r"\frac34 ",
}  # fmt: skip
"""Signs beyond ASCII -> how they are written here."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_CURRENCIES = {"\u20ac": "euro", "\u00a3": "pound", "\u00a5": "yen"}
_CURRENCY = re.compile(r"([€£¥])\s*([\d.,]*\d)|([€£¥])")
_WRAPPERS = (
    ("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("__", "__"),
    ("```", "```"), ("`", "`"), ("*", "*"), ("_", "_"), ('"', '"'), ("'", "'"),
    ("\u201c", "\u201d"),
)  # fmt: skip
"""What may stand around a whole answer without meaning anything."""
_BRACKETED = re.compile(
    r"([-+\d.,/ ]*\d)\s*\(\s*([A-Za-z]{3}[A-Za-z .'-]*|cm|mm|km|kg|mg|ml|ft|mi|hr|in|oz|lb|yd)\s*\)"
)
"""A number with its unit in brackets, as ASDiv writes it: ``9 (apples)``."""
_BARE = re.compile(r"[A-Za-z0-9 \n\t.,+/^=%<>-]*")
"""A text without anything to take off, as most answers are."""
_DELIMITER = re.compile(r"(?<!\\)\\[\[\]()]")
_SETTING = re.compile(
    r"\\(?:left|right|displaystyle|textstyle|scriptstyle|limits|bigl?|bigr?|Bigl?|Bigr?|biggl?|"
    r"biggr?|Biggl?|Biggr?|middle|mathstrut|nolimits)(?![A-Za-z])"
)
_SPACE = re.compile(r"(?<!\\)\\(?:[,;:! ]|(?:quad|qquad|enspace|thinspace)(?![A-Za-z]))|~")
_ESCAPE = re.compile(r"(?<!\\)\\(?=[$%&#_])")
_SPACES = re.compile(f"{_SPACE.pattern}|" + r"\\\\|\$")
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_DEGREE = re.compile(
    r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\(?:circ|degree)(?![A-Za-z]))"
    r"|\\textdegree(?![A-Za-z])"
)
_TEXT_COMMANDS = r"text|textrm|textsf|texttt|textbf|textit|textnormal|emph|mbox|hbox|operatorname"
_FONT_COMMANDS = (
    r"mathrm|mathbf|mathit|mathsf|mathtt|mathnormal|boldsymbol|bm|pmb|underline|bf|rm|it|sf|tt|em"
)
_TEXT = re.compile(rf"\\(?:{_TEXT_COMMANDS}|{_FONT_COMMANDS})\s*\{{([^{{}}]*)\}}")
_LETTER = re.compile(r"\\(?:mathbf|mathit|boldsymbol|bm|pmb)\s*\{\s*([A-Za-z])\s*\}")
_CONSTANT = re.compile(r"\\(?:mathrm|rm|text)\s*\{\s*([ei])\s*\}")
_FONT = re.compile(rf"\\(?:{_FONT_COMMANDS})(?![A-Za-z])")
_FONT_OR_TEXT = re.compile(rf"\\(?:{_TEXT_COMMANDS}|{_FONT_COMMANDS})(?![A-Za-z])")
_HALF = re.compile(r"\\frac\s*(\d)\s*(\d)")
_COLOUR = re.compile(r"\\(?:text)?color\s*\{\s*[A-Za-z]+\s*\}")
_TIMES_TEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:(?:\{,\}|,|\\,)(?:\\!)?\d{3})+(?!\d)")
_INSIDE = re.compile(r"(?<![\d.])\d{1,3}(?:(?:\{,\}|,\\!|\\,)\d{3})+(?!\d)")
"""Thousands in brackets, where a bare comma stands between two items."""
_SYNONYMS = {
    "leq": r"\le", "geq": r"\ge", "neq": r"\ne", "lt": "<", "gt": ">", "rightarrow": r"\to",
    "varnothing": r"\emptyset", "vert": "|", "lvert": "|", "rvert": "|", "mid": "|", "cdot": "*",
    "times": "*", "ast": "*", "dots": "...", "ldots": "...", "cdots": "...", "colon": ":",
    "lbrace": r"\{", "rbrace": r"\}", "lbrack": "[", "rbrack": "]", "circ": r"\degree",
    "prime": "'",
}  # fmt: skip
"""Commands -> what is compared in their places."""
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_ONE = re.compile(r"(?<=[_^])\s*\{\s*(-?\w+|\\[A-Za-z]+)\s*\}")
"""Braces around one thing below or above another, which change nothing: ``1001_{2}``."""
TEXT, END = "\x00", "\x01"
"""Around words in a simplified text, which no text of a policy contains."""


def unwrapped(text: str) -> str:
    r"""Return an answer without what stands around all of it: ``**42**``, ``\[42\]``, ``42.``."""
    previous_text = ""
    while text != previous_text:
        previous_text = text = _without_stop(text.strip()).strip()
        for opening, closing in _WRAPPERS:
            inner = text[len(opening) : -len(closing)]
            long = len(text) > len(opening) + len(closing)
            around = long and text.startswith(opening) and text.endswith(closing)
            if around and opening not in inner and closing not in inner:
                text = inner
                break
    return text


def simplified(text: str) -> str:
    """Write a text for the tokenizer: no spacing, one kind of fraction, plain thousands.

    Words stand between `TEXT` and `END`.
    """
    if _BARE.fullmatch(text):
        return _without_stop(_TIMES_TEN.sub("*", _thousands(text)).strip())
    text = _spelled(text)
    text = _TEXT.sub(_words, _DELIMITER.sub(" ", text.replace(r"\$", " ")))
    text = _thousands(text)
    text = _FRACTION.sub(r"\\frac", _SPACES.sub(" ", _SETTING.sub(" ", _FONT.sub(" ", text))))
    return _without_stop(_TIMES_TEN.sub("*", text).strip())


def compared(text: str) -> str:
    """Write a text for a comparison as text, which is all that is left where it cannot be read.

    Blanks count between digits alone, and neither fonts, spacing nor case do.
    """
    if not _BARE.fullmatch(text):
        text = _without_commands(_spelled(text))
    text = " ".join(text.split())
    return re.sub(r"(?<!\d) | (?!\d)", "", text).rstrip(".").lower()


def _without_commands(text: str) -> str:
    """Leave out what LaTeX only sets, and write what has two names with one."""
    text = _SETTING.sub(" ", _DELIMITER.sub(" ", text))
    text = _FRACTION.sub(r"\\frac", _SPACE.sub(" ", _ESCAPE.sub(" ", text).replace("$", " ")))
    text = _FONT_OR_TEXT.sub(" ", _TEXT.sub(r" \1 ", text))
    text = _COMMAND.sub(lambda match: _SYNONYMS.get(match[1], match[0]), text)
    return _ONE.sub(r"\1", _HALF.sub(r"\\frac{\1}{\2}", text))


def _spelled(text: str) -> str:
    """Replace signs beyond ASCII, and the wrappings that all comparisons ignore."""
    text = unwrapped(text.replace(TEXT, " ").replace(END, " "))
    if not text.isascii():
        text = _RAISED.sub(lambda match: f"^{{{match[0].translate(_SUPERSCRIPTS)}}}", text)
        text = _CURRENCY.sub(_amount, text)
        text = "".join(_PLAIN.get(letter, letter) for letter in text)
    if match := _BRACKETED.fullmatch(text):
        text = rf"{match[1]} \text{{{match[2]}}}"
    text = _CONSTANT.sub(r" \1 ", _LETTER.sub(r" \1 ", _COLOUR.sub(" ", text)))
    text = _TEXT.sub(_numbers, text)
    return _DEGREE.sub(r"\\degree ", text)


def _amount(match: re.Match[str]) -> str:
    """Write a currency behind its amount, as other units."""
    unit = rf"\text{{ {_CURRENCIES[match[1] or match[3]]} }}"
    return f"{match[2] or ''} {unit}"


def _numbers(match: re.Match[str]) -> str:
    """Unwrap what is set in a font, where it is more than words."""
    inner = match[1]
    is_plain_number = bool(re.search(r"\d", inner)) or not re.search(r"[A-Za-z]", inner)
    return f" {inner} " if is_plain_number else match[0]


def _words(match: re.Match[str]) -> str:
    return f"{TEXT}{_SPACE.sub(' ', match[1])}{END}"


def _without_stop(text: str) -> str:
    return text.rstrip(".").rstrip() if not text.endswith("..") else text


def _thousands(text: str) -> str:
    """Take the commas out of numbers; those between the items of a bracket stay."""
    bracket = any(letter in "([{" for letter in text.replace("{,}", ""))
    pattern = _INSIDE if bracket else _THOUSANDS
    return pattern.sub(lambda match: re.sub(r"[^\d]", "", match[0]), text)
