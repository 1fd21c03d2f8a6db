"""Build the questions to a judge, and parse its responses.

The text of an episode is untrusted: a policy may learn to write instructions that a judge obeys.
Each of its lines therefore begins with a bar, which separates it from the headings of the record.
The record is enclosed by two lines with a mark, and only a line with the mark is a verdict. The
mark is a hash of the whole question, including the record, so that the policy cannot predict it.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from agentgym.actions.thinking import strip_think
from agentgym.errors import ConfigurationError
from agentgym.support.structured_files import parse_toml

LONGEST_RUBRIC = 32_768
"""Maximum number of characters of a rubric."""
CUT = " [...] "
"""Marks where a text was shortened."""
_MARK = 12
_FIELD = re.compile(r"\{(rubric|record|mark|verdict)\}")
_GRADE = r"\d{1,3}(?:\.\d{1,3})?"


@dataclass(frozen=True)
class JudgePrompt:
    """The prompt of a kind of judge and its permitted verdicts, as data."""

    system: str
    """The system message."""
    user: str
    """The user's message, with the fields ``{rubric}``, ``{record}``, ``{mark}``, ``{verdict}``."""
    verdict: str
    """Description of the permitted verdicts."""
    rubric: str
    """Default rubric."""
    most: float = 0.0
    """The best grade, if the judge grades."""
    words: Mapping[str, float] = field(default_factory=dict)
    """Permitted verdicts and their scores, if the judge does not grade."""


@dataclass(frozen=True)
class JudgeQuestion:
    """A question to a judge."""

    messages: tuple[Mapping[str, str], ...]
    """What is sent."""
    mark: str
    """The mark that a verdict must contain."""
    prompt: JudgePrompt
    """The prompt, which defines the permitted verdicts."""

    @property
    def expected(self) -> str:
        """Description of a readable answer."""
        return f"one line VERDICT {self.mark}, or several that agree,"

    def read(self, answer: str) -> float | None:
        """Return the score in [0, 1] of a response; None if it contains none, or several."""
        word = "|".join(map(re.escape, self.prompt.words)) or _GRADE
        line = rf"^[*_`# ]*VERDICT:?[*_` ]+{self.mark}[:=*_` ]+({word})(?:/{self._scale})?[.*_` ]*$"
        matches = set(re.findall(line, strip_think(answer), re.MULTILINE))
        if len(matches) != 1:
            return None
        verdict = matches.pop()
        if self.prompt.words:
            return float(self.prompt.words[verdict])
        grade = float(verdict) / self.prompt.most
        return grade if grade <= 1.0 else None

    @property
    def _scale(self) -> str:
        return f"{self.prompt.most:g}"


@cache
def read_prompt(kind: str) -> JudgePrompt:
    """Return the prompt of a kind of judge: ``turn`` or ``episode``."""
    data = parse_toml((Path(__file__).parent / f"{kind}.toml").read_text("utf-8"))
    for name in ("system", "user", "rubric"):
        data[name] = data[name].strip()
    return JudgePrompt(**data)


def read_rubric(file: str) -> str:
    """Read a user's rubric.

    Raises:
        ConfigurationError: The file is unreadable, empty or too long.
    """
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"expected rubric= to name a text file in UTF-8 that says how to judge, got "
            f"{file!r:.200}: {error}"
        ) from error
    if not 0 < len(text) <= LONGEST_RUBRIC:
        raise ConfigurationError(
            f"expected a rubric of 1 to {LONGEST_RUBRIC:,} characters, got {len(text):,} in "
            f"{file!r:.200}"
        )
    return text


def make_question(
    prompt: JudgePrompt, rubric: str, parts: Sequence[tuple[str, str]]
) -> JudgeQuestion:
    """Make a question.

    Args:
        prompt: The judge's prompt.
        rubric: Instructions for grading; empty: the rubric of the prompt.
        parts: The record: trusted headings, and under each a text of the episode.
    """
    rubric = rubric or prompt.rubric
    record = "\n".join(line for heading, text in parts for line in (f"{heading}:", quoted(text)))
    content = json.dumps([prompt.system, prompt.user, prompt.verdict, rubric, record])
    mark = hashlib.sha256(content.encode()).hexdigest()[:_MARK]
    fields = {"rubric": rubric, "record": record, "mark": mark, "verdict": prompt.verdict}
    # In one pass: a field that stands in a rubric or a record is text.
    user = _FIELD.sub(lambda match: fields[match[1]], prompt.user)
    messages: list[Mapping[str, str]] = [
        {"role": "system", "content": prompt.system}, {"role": "user", "content": user},
    ]  # fmt: skip
    return JudgeQuestion(tuple(messages), mark, prompt)


def quoted(text: str) -> str:
    """Return untrusted text with a bar before each line, for every kind of line break."""
    return "\n".join(f"| {_plain_line(line)}" for line in text.splitlines() or [""])


def shortened(text: str, limit: int) -> str:
    """Shorten a text to a number of characters by leaving out its middle."""
    if len(text) <= limit:
        return text
    half = max(limit - len(CUT), 2) // 2
    return text[:half] + CUT + text[-half:]


def _plain_line(line: str) -> str:
    """Return a line without characters that act on what is around them, and hide it."""
    if line.isprintable():
        return line
    characters = (
        c if c == "\t" or unicodedata.category(c) not in _ACTING else "\ufffd" for c in line
    )
    return "".join(characters)


_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
