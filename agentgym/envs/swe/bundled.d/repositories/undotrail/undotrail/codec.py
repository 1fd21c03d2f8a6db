"""Logs as text: a line of JSON for each event.

Each line begins with a checksum of itself and of the checksum before it, so that lines that were
changed, removed or swapped are noticed (though not by someone who computes them anew).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

from undotrail.event import Event


class CodecError(ValueError):
    """A text is no log."""


def dump(events: Iterable[Event]) -> str:
    """Write events; their data must be what JSON can express."""
    lines = []
    before = 0
    for event in events:
        body = encode(event)
        before = zlib.crc32(body.encode(), before)
        lines.append(f"{before:08x} {body}\n")
    return "".join(lines)


def load(text: str, repair: bool = False) -> list[Event]:
    """Read events.

    Args:
        text: What ``dump`` wrote.
        repair: Whether to stop at the first damaged line, as one that was not written to the end,
            instead of raising an error.

    Raises:
        CodecError: A line is damaged; the message has its number.
    """
    events: list[Event] = []
    before = 0
    for number, line in enumerate(text.splitlines(), start=1):
        checksum, _, body = line.partition(" ")
        before = zlib.crc32(body.encode(), before)
        if checksum != f"{before:08x}":
            if repair:
                break
            raise CodecError(f"line {number} is damaged")
        event = decode(body, number)
        if event.number != number:
            raise CodecError(f"line {number} has event {event.number}")
        events.append(event)
    return events


def encode(event: Event) -> str:
    """Write an event as JSON, without what is empty and with sorted keys."""
    fields: dict[str, object] = {"n": event.number, "kind": event.kind}
    if event.data:
        fields["data"] = event.data
    if event.group:
        fields["group"] = event.group
    if event.label:
        fields["label"] = event.label
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def decode(body: str, number: int) -> Event:
    """Read an event from JSON."""
    try:
        fields = json.loads(body)
        return Event(
            fields["n"],
            fields["kind"],
            fields.get("data", {}),
            fields.get("group", 0),
            fields.get("label", ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CodecError(f"line {number} is no event") from error
