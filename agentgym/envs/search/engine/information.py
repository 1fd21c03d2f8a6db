"""The information block: how passages are shown, in bounded space and beyond forgery.

The form is Search-R1's. There the text is cut from its end, which takes the closing tag and the
last titles with it; here each passage has an equal share, so that the frame and every title stay.
Passages are other people's text: a passage that holds ``</information>`` or another tag of the
protocol must not end the block or speak for the policy, so such tags lose their bracket.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentgym.errors import ConfigurationError
from agentgym.retrieval import Passage

OPENING, CLOSING = "<information>", "</information>"
NOTHING = f"{OPENING}No results.{CLOSING}"
LONGEST_TITLE = 120
"""Most characters of a title."""
SMALLEST_SHARE = 80
"""Fewest characters in which a passage can be shown."""
CUT = "..."

_TAG = re.compile(
    r"<(?=\s*/?\s*(?:information|search|answer|think|tool_call|tool_response)\b|\|)", re.IGNORECASE
)
_BLOCK = re.compile(r"<\s*/?\s*information\b", re.IGNORECASE)
_FRAME = re.compile(r"^(?:</?information>(?:No results\.</information>)?|Doc \d+ \(Title: )", re.M)


def holds_information(text: str) -> bool:
    """Return whether a text opens or closes an information block."""
    return _BLOCK.search(text) is not None


def information(passages: Sequence[Passage], slots: int, length: int) -> str:
    """Write the block that shows the passages that a search found.

    Args:
        passages: The passages, best first.
        slots: For how many passages there must be room; what is shown of one does not depend on
            the others.
        length: Most characters of the block, which :func:`check_length` has allowed.

    Returns:
        The block, with one line for each passage.
    """
    if not passages:
        return NOTHING
    share = _share(slots, length)
    lines = [_line(number, passage, share) for number, passage in enumerate(passages, 1)]
    return "\n".join([OPENING, *lines, CLOSING])


def evidence(block: str) -> str:
    """Return what a block shows of passages, without its own words: "Doc 1" is no evidence of 1."""
    return _FRAME.sub("", block)


def plain_text(text: str) -> str:
    """Put a foreign text on one line, without tags of the protocol."""
    line = " ".join(text.split())
    return _TAG.sub("&lt;", line) if "<" in line else line


def check_length(slots: int, length: int) -> None:
    """Check that a block of ``length`` characters has room for ``slots`` passages.

    Raises:
        ConfigurationError: It has not; names the least length.
    """
    least = len(OPENING) + len(CLOSING) + 1 + slots * (SMALLEST_SHARE + 1)
    if length < least:
        raise ConfigurationError(
            f"expected max_observation_chars of at least {least} for {slots} passages, got "
            f"{length}: raise max_observation_chars or lower topk"
        )


def _share(slots: int, length: int) -> int:
    """Return how many characters the line of a passage may have."""
    return (length - len(OPENING) - len(CLOSING) - 1) // slots - 1


def _line(number: int, passage: Passage, share: int) -> str:
    """Write one passage in ``share`` characters."""
    head = f'Doc {number} (Title: "'
    title = plain_text(passage.title[: 4 * LONGEST_TITLE])
    title = _clipped(title, min(LONGEST_TITLE, share - len(head) - 2))
    line = f'{head}{title}")'
    room = share - len(line) - 1
    text = plain_text(passage.text[: 8 * share])
    return f"{line} {_clipped(text, room)}".rstrip() if room > 0 else line


def _clipped(text: str, length: int) -> str:
    """Cut a text to ``length`` characters, visibly where there is room to say so."""
    if len(text) <= length:
        return text
    return text[: length - len(CUT)].rstrip() + CUT if length > len(CUT) else text[:length]
