"""The text of an issue: a user's report of a fault, never its place or cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from agentgym.support.bundled_files import read_table
from agentgym.support.random_stream import Stream

PHRASES = read_table(dict[str, tuple[str, ...]], __file__, "statement_phrases.yaml")
"""Phrases by their place in an issue; a stream chooses one of each."""
_UNINTERESTING = re.compile(r"\n\s*Use -v.*|^AssertionError: (?=assert)|^Failed: |\n\s*\n")
_NOT_RAISED = re.compile(r"^DID NOT RAISE (?:<class ')?(?:\w+\.)*(\w+)(?:'>)?$")
MOST_LINES = 16
"""Most lines of a result that are shown."""
MOST_SYMPTOMS = 3
"""Maximum number of further symptoms reported."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_PRIVATE = re.compile(r"(?<![\w])_[A-Za-z]\w*")
_WHERE = re.compile(r"/testbed|\btest_\w+|\bTest[A-Z]\w*|\bmutant|\bself\b")


@dataclass(frozen=True)
class ScriptOutcome:
    """The outcome of a script."""

    printed: str = ""
    """Its output, including the value of its last expression."""
    error: str = ""
    """The exception that ended it, as the last line of a traceback says it."""

    @property
    def text(self) -> str:
        """The outcome as a user sees it."""
        return "\n".join(filter(None, (self.printed.rstrip("\n"), self.error)))


@dataclass(frozen=True)
class Symptom:
    """A fault as one failing test shows it."""

    behaviour: str = ""
    """A sentence that states the expected behaviour."""
    script: str = ""
    """Lines that show the fault."""
    subject: str = ""
    """The function that they look at."""
    came: ScriptOutcome = field(default_factory=ScriptOutcome)
    """The actual outcome."""
    expected: ScriptOutcome = field(default_factory=ScriptOutcome)
    """The expected outcome."""
    message: str = ""
    """The failure's message, where there is no script."""
    part: int = 0
    """Which part of the fault it comes from, counted from 0."""

    @property
    def clear(self) -> bool:
        """Whether the script tells the fault from its absence, in words anybody may read."""
        return (
            bool(self.script)
            and self.came != self.expected
            and not any(map(hidden_words, (self.script, self.came.text, self.expected.text)))
        )


def hidden_words(text: str) -> list[str]:
    """Return texts that a user would not know or write: private names, tests, places, addresses."""
    return [match[0] for kind in (_ADDRESS, _PRIVATE, _WHERE) for match in kind.finditer(text)]


def statement(library: str, symptoms: Sequence[Symptom], stream: Stream) -> str:
    """Write an issue.

    Args:
        library: Name of the library.
        symptoms: From the failing tests; those with a script or a sentence are reported.
        stream: Chooses the wording.

    Returns:
        A title, an empty line and the report. Empty if no symptom can be told.
    """
    usable = [_without_secrets(entry) for entry in symptoms]
    symptom = min(
        (entry for entry in usable if entry.clear), key=_difficulty, default=None
    ) or next((entry for entry in usable if entry.behaviour), None)
    if symptom is None:
        symptom = next((entry for entry in usable if entry.message or entry.script), None)
    if symptom is None:
        return ""
    sentences = [entry.behaviour for entry in usable if entry is not symptom and entry.behaviour]
    sentences = [text for text in dict.fromkeys(sentences) if text != symptom.behaviour][
        :MOST_SYMPTOMS
    ]
    title = _title(library, symptom, stream)
    if symptom.clear and symptom.behaviour.rstrip(".") in title:
        symptom = replace(symptom, behaviour="")  # it need not be said twice
    parts = [title, *_body(library, symptom, stream), *_more(sentences, stream)]
    return "\n\n".join(filter(None, parts)) + "\n"


STYLES = ("example", "no expectation", "no expectation", "traceback", "traceback", "words")
"""Styles of reports, as often as they are drawn: with what was expected; only with what came; with
a traceback; in words alone."""


def report(
    library: str,
    symptoms: Sequence[Symptom],
    stream: Stream,
    request: str = "",
    *,
    releases: tuple[str, str] = ("", ""),
) -> tuple[str, str]:
    """Write an issue as users do: often without the expected outcome, some without code.

    Args:
        library: Name of the library.
        symptoms: The symptoms that the failing tests show.
        stream: Chooses the style and the wording.
        request: The request, where no symptom expresses it.
        releases: The last sound release, and the faulty one; mentioned if known.

    Returns:
        The style, and the issue: a title, an empty line and the report. Both are empty if nothing
        can be told.
    """
    usable = [_without_secrets(entry) for entry in symptoms]
    if request:
        return "request", _requested(library, request, usable, stream)
    parts: list[str] = []
    styles: list[str] = []
    for part in sorted({entry.part for entry in usable}):
        part_symptoms = [entry for entry in usable if entry.part == part]
        style, title, body = _report_part(library, part_symptoms, stream)
        if not style:
            return "", ""
        parts += [stream.choice(PHRASES["second"])] if parts else [title]
        parts += body
        styles.append(style)
    if parts and all(releases):
        old_release, new_release = releases
        parts.append(
            stream.choice(PHRASES["since"]).format(
                library=library, before=old_release, now=new_release
            )
        )
    return " and ".join(dict.fromkeys(styles)), "\n\n".join(parts) + "\n" if parts else ""


def _report_part(
    library: str, symptoms: Sequence[Symptom], stream: Stream
) -> tuple[str, str, Sequence[str]]:
    """Return the style, the title and the paragraphs of a report of one fault."""
    clear = sorted((entry for entry in symptoms if entry.clear), key=_difficulty)
    rules = _rules(symptoms)
    for style in stream.shuffled(STYLES):
        if style == "words" and rules:
            opening = stream.choice(PHRASES["said"]).format(library=library, sentence=rules[0])
            title = stream.choice(PHRASES["wordy"]).format(library=library)
            return style, title, [opening, *_more(rules[1 : MOST_SYMPTOMS + 1], stream)]
        fits = [e for e in clear if style != "traceback" or (e.came.error and not e.expected.error)]
        if style != "words" and fits:
            symptom = fits[0] if style == "example" else replace(fits[0], behaviour="")
            return (
                style,
                _title(library, symptom, stream),
                [*_write_styled(library, style, symptom, stream)],
            )
    title, _, body = statement(library, symptoms, stream).partition("\n\n")
    return "check" if body else "", title, [body.rstrip("\n")]


def _rules(symptoms: Iterable[Symptom]) -> list[str]:
    """Return the distinct sentences that state the expected behaviour."""
    return [rule.rstrip(".") for rule in dict.fromkeys(e.behaviour for e in symptoms) if rule]


def _write_styled(library: str, style: str, symptom: Symptom, stream: Stream) -> Iterable[str]:
    """Write the report of one symptom in a style."""
    if style == "example":
        yield from _body(library, symptom, stream)
        return
    yield stream.choice(PHRASES["openings"]).format(library=library)
    yield f"```python\n{symptom.script}\n```"
    if style == "traceback":
        yield f"{stream.choice(PHRASES['ends'])}\n\n{_block(_traceback(symptom))}"
        return
    outcome = symptom.came
    if symptom.expected.error and not outcome.error:
        yield stream.choice(PHRASES["silent"])
        return
    words = PHRASES["came_error"] if outcome.error and not outcome.printed else PHRASES["came"]
    yield _sentence(stream.choice(words), outcome.text or "nothing")
    yield stream.choice(PHRASES["wrong_so"])


def _traceback(symptom: Symptom) -> str:
    """Write the part of a traceback that lies in the user's own script."""
    last = ast.parse(symptom.script).body[-1]
    line = symptom.script.split("\n")[last.lineno - 1].strip()
    head = (
        f'Traceback (most recent call last):\n  File "example.py", line {last.lineno}, in <module>'
    )
    return f"{head}\n    {line}\n  [...]\n{symptom.came.text}"


def _requested(library: str, request: str, symptoms: Sequence[Symptom], stream: Stream) -> str:
    """Write an issue with a request and the behaviour that it implies."""
    clear = sorted((entry for entry in symptoms if entry.clear), key=_difficulty)
    rules = _rules(symptoms)
    feature = request.startswith("`") and request.endswith("`")
    keys = ("unwritten", "wanted") if feature else ("changes", "wished")
    titles, bodies = (PHRASES[key] for key in keys)
    names = {"library": library, "request": request, "Request": request[0].upper() + request[1:]}
    parts = [stream.choice(titles).format(**names), stream.choice(bodies).format(**names)]
    if rules and feature:
        parts.append(stream.choice(PHRASES["rules_follow"]))
        parts.append("\n".join(f"- {rule}." for rule in rules[: MOST_SYMPTOMS + 2]))
    if clear and (not feature or stream.percent(60)):
        symptom = clear[0]
        parts += [stream.choice(PHRASES["uses"]), f"```python\n{symptom.script}\n```"]
        if stream.percent(50) and symptom.expected.text:
            parts.append(_sentence(stream.choice(PHRASES["expected"]), symptom.expected.text))
    return "\n\n".join(parts) + "\n"


def release_statement(
    library: str,
    version: str,
    entries: Sequence[str],
    symptoms: Sequence[Symptom],
    stream: Stream,
) -> str:
    """Write an issue that requests the changes of a library's next release.

    Args:
        library: Name of the library.
        version: The version that lacks it.
        entries: The changelog's entries for the next one.
        symptoms: The symptoms that the failing tests show.
        stream: Chooses the wording.

    Returns:
        A title, an empty line and the report. Empty if nothing can be told.
    """
    visible_entries = [text for text in entries if not hidden_words(text)]
    report = statement(library, symptoms, stream)
    if not visible_entries:
        return report
    title = stream.choice(PHRASES["wishes"]).format(library=library, version=version)
    items = "\n".join(f"- {text}" for text in visible_entries)
    parts = [title, stream.choice(PHRASES["asked"]).format(library=library, version=version), items]
    if report:
        parts.append(report.partition("\n\n")[2].rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def _without_secrets(symptom: Symptom) -> Symptom:
    """Remove details that a user would not write."""
    behaviour = symptom.behaviour
    if behaviour and (hidden_words(behaviour) or len(behaviour) > 300):
        behaviour = ""
    message = _UNINTERESTING.sub("", symptom.message).strip()
    message = _NOT_RAISED.sub(r"No \1 was raised.", message)
    if message and (hidden_words(message) or len(message) > 1500):
        message = ""
    subject = "" if hidden_words(symptom.subject) else symptom.subject
    outcome, expected = map(_only_kind, (symptom.came, symptom.expected))
    return Symptom(behaviour, symptom.script, subject, outcome, expected, message, symptom.part)


def _only_kind(outcome: ScriptOutcome) -> ScriptOutcome:
    """Remove an exception's message if a user would not write it."""
    return (
        replace(outcome, error=outcome.error.partition(":")[0])
        if hidden_words(outcome.error)
        else outcome
    )


def _difficulty(symptom: Symptom) -> tuple[bool, int]:
    """Prefer symptoms that state the expected behaviour in a sentence, then short ones."""
    return not symptom.behaviour, len(symptom.script) + len(symptom.came.text)


def _title(library: str, symptom: Symptom, stream: Stream) -> str:
    """Write the title: the error, and the function where a user sees it."""
    subject = f"`{symptom.subject}`"
    error = symptom.came.error.partition(":")[0] if symptom.clear else ""
    choices: tuple[str, ...] = PHRASES["not_as_said"]
    if error and not symptom.expected.error:
        choices = PHRASES["raises"]
    elif error:
        choices = PHRASES["other_error"]
    elif symptom.clear and symptom.expected.error:
        choices = PHRASES["accepts"]
    elif symptom.clear:
        choices = PHRASES["wrong"]
    sentence = symptom.behaviour.rstrip(".")
    short = symptom.behaviour and len(sentence) <= 90
    fitting = [
        text
        for text in choices
        if (short or "{sentence}" not in text) and (symptom.subject or "{subject}" not in text)
    ]
    return stream.choice(fitting).format(
        subject=subject, library=library, error=error, sentence=sentence
    )


def _body(library: str, symptom: Symptom, stream: Stream) -> Iterable[str]:
    """Write the report of one symptom."""
    if symptom.clear:
        yield stream.choice(PHRASES["openings"]).format(library=library)
        yield f"```python\n{symptom.script}\n```"
        yield from _result(symptom, stream)
        if symptom.behaviour:
            yield stream.choice(PHRASES["rules"]).format(sentence=symptom.behaviour.rstrip("."))
        return
    if symptom.behaviour:
        yield stream.choice(PHRASES["said"]).format(
            library=library, sentence=symptom.behaviour.rstrip(".")
        )
    else:
        yield stream.choice(PHRASES["bare"]).format(library=library)
    if symptom.message:
        yield f"{stream.choice(PHRASES['checked'])}\n\n```\n{_cut(symptom.message)}\n```"


def _result(symptom: Symptom, stream: Stream) -> Iterable[str]:
    """State the actual and the expected outcome."""
    outcome, expected = symptom.came, symptom.expected
    if outcome.error and not expected.error and not outcome.printed:
        yield f"{stream.choice(PHRASES['errors'])}\n\n{_block(outcome.text)}"
        if expected.printed.strip() not in ("", "None"):
            yield _sentence(stream.choice(PHRASES["expected"]), expected.text)
        else:
            yield stream.choice(("It should simply work.", "I expected no error."))
    elif expected.error and not outcome.error:
        nothing = stream.choice(("Nothing is raised", "There is no error", "It goes through"))
        has_value = outcome.printed.strip() not in ("", "None")
        yield _sentence(f"{nothing}; the result is", outcome.text) if has_value else nothing + "."
        yield _sentence(stream.choice(PHRASES["expected"]), expected.error)
    else:
        words = PHRASES["came_error"] if outcome.error and not outcome.printed else PHRASES["came"]
        yield _sentence(stream.choice(words), outcome.text or "nothing")
        yield _sentence(stream.choice(PHRASES["expected"]), expected.text or "nothing")


def _sentence(opening: str, value: str) -> str:
    """Put a value behind some words: in the line where it fits, else below."""
    if "\n" not in value and len(value) <= 60 and "`" not in value:
        end = "" if opening.endswith(":") else "."
        return f"{opening} `{value}`{end}"
    return f"{opening.rstrip(':')}:\n\n{_block(value)}"


def _block(text: str) -> str:
    return f"```\n{_cut(text)}\n```"


def _cut(text: str) -> str:
    """Shorten text that is too long for an issue."""
    lines = [line if len(line) <= 300 else line[:297] + "..." for line in text.split("\n")]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], "..."]
    return "\n".join(lines)


def _more(sentences: Sequence[str], stream: Stream) -> Iterable[str]:
    """Tell further symptoms."""
    if sentences:
        yield stream.choice(PHRASES["also"])
        yield "\n".join(f"- {text}" for text in sentences)
