"""Keeping keys out of everything that is shown or written."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

HIDDEN = "[hidden]"
"""What stands in the place of a secret."""
SHORT = 8
"""Shorter secrets are hidden only where they stand as a word: placeholders for endpoints without
keys, such as ``x``, would else be cut out of every word."""
EXCERPT = 300
"""Most characters shown of what an endpoint said."""


class Redactor:
    """Hide secrets in text.

    Args:
        *secrets: The secrets; empty ones are none.
    """

    def __init__(self, *secrets: str) -> None:
        forms = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""))}
        # The longest first, so that none is left over because a part of it was hidden before.
        patterns = [_pattern(form) for form in sorted(forms, key=lambda form: (-len(form), form))]
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def hide(self, text: str) -> str:
        """Return the text without the secrets."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def excerpt(self, text: str) -> str:
        """Return the beginning of a foreign text on one line, without secrets and control codes."""
        shown = self.hide(text)[: 100 * EXCERPT]  # hidden first: no part of a secret is left
        shown = "".join(char if char.isprintable() else " " for char in shown)
        shown = " ".join(shown.split())
        return shown if len(shown) <= EXCERPT else f"{shown[:EXCERPT]} [...]"

    def clean(self, value: Any) -> Any:
        """Return JSON-safe data without the secrets in any of its texts."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            return {self.hide(str(key)): self.clean(entry) for key, entry in value.items()}
        return [self.clean(entry) for entry in value] if isinstance(value, list | tuple) else value


def public_url(url: str) -> str:
    """Return an address without the parts that may hold secrets: user, password, query."""
    try:
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return url.rpartition("@")[2].partition("?")[0]


def url_secrets(url: str) -> list[str]:
    """Return the parts of an address that may be secrets."""
    parts = urlsplit(url)
    return [parts.password or "", *(value for _, value in parse_qsl(parts.query))]


def _pattern(secret: str) -> str:
    found = re.escape(secret)
    return found if len(secret) >= SHORT else rf"(?<!\w){found}(?!\w)"
