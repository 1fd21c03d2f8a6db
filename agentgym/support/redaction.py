"""Keeping secrets out of everything that is shown or written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

HIDDEN = "[hidden]"
"""Text in place of a secret."""
SHORT = 8
"""Shorter secrets are hidden only where they stand as a word: placeholders for endpoints without
keys, such as ``x``, would else be cut out of every word."""
EXCERPT = 300
"""Most characters shown of what an endpoint said."""

_USER = re.compile(r"(://)[^/?#\s]*@")
_PAIR = re.compile(r"([\w.-]+)=")
_WEB_USER = re.compile(r"(https?://)[^/?#\s]*@", re.IGNORECASE)
_SECRET = re.compile(
    r"(?:^|_)(?:secrets?|passwords?|passwd|pwd|passphrase|credentials?|authorization|auth|bearer"
    r"|cookies?|(?:api|access|private|secret|signing)_?keys|(?:api|access|auth)_?tokens)(?:_|$)"
    r"|(?:^|_|api|access|auth)(?:key|token)(?:_?\d+)?$"
)
_PLAIN = re.compile(
    r"(?:^|_)(?:mode|type|kind|method|policy|scheme|file|path|folder|name|env)$"
    r"|(?:^|_)(?:sort|group|foreign|partition|cache|column|row|dict|json|stop|eos|bos|pad|unk|sep|cls"
    r"|mask|think|start|end|begin|first|last|next|special|image|answer)_?(?:key|token)(?:_?\d+)?$"
)
"""Names that sound like secrets but are not: settings about a secret, keys of tables, tokens of
models. Headers, addresses and primary keys are not included, because they may be secret."""
_QUERY = re.compile(r"([?&]([\w.-]+)=)[^&#\s\"']+")


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
        excerpt = self.hide(text)[: 100 * EXCERPT]  # hidden first: no part of a secret is left
        excerpt = "".join(char if char.isprintable() else " " for char in excerpt)
        excerpt = " ".join(excerpt.split())
        return excerpt if len(excerpt) <= EXCERPT else f"{excerpt[:EXCERPT]} [...]"

    def clean(self, value: Any) -> Any:
        """Return JSON-safe data without the secrets in any of its texts."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            return {self.hide(str(key)): self.clean(entry) for key, entry in value.items()}
        return [self.clean(entry) for entry in value] if isinstance(value, list | tuple) else value


def hide_secrets(value: Any, name: str = "") -> Any:
    """Return JSON-safe data with secrets hidden, which are recognised by their names.

    Names are keys, parameters of URLs, and ``name=value`` in lists of command-line arguments, where
    the value may be JSON. User names and passwords in URLs are hidden, too.

    Args:
        value: The data.
        name: Name of the data itself.
    """
    if value is None or isinstance(value, bool):
        return value
    if is_secret(name):
        return HIDDEN
    if isinstance(value, str):
        return _QUERY.sub(_parameter, _USER.sub(rf"\1{HIDDEN}@", value))
    if isinstance(value, Mapping):
        return {key: hide_secrets(entry, str(key)) for key, entry in value.items()}
    return [_entry(entry) for entry in value] if isinstance(value, list | tuple) else value


def for_others(value: Any) -> Any:
    """Return JSON-safe data fit to be kept and shown: without secrets and users of addresses."""
    return hide_secrets(without_users(value))


def holds_hidden(value: Any) -> bool:
    """Return whether a secret was hidden somewhere in data."""
    if isinstance(value, str):
        return HIDDEN in value
    entries = value.values() if isinstance(value, Mapping) else value
    return isinstance(value, Mapping | list | tuple) and any(map(holds_hidden, entries))


def is_secret(name: str) -> bool:
    """Return whether a name is one of a secret, such as ``api_key`` or ``accessToken``.

    Numbers of tokens, such as ``max_tokens``, keys of tables and tokens that stand in a text, such
    as ``sort_key`` and ``stop_token``, are none.
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).lower()
    return _SECRET.search(words) is not None and _PLAIN.search(words) is None


def without_users(value: Any) -> Any:
    """Return JSON-safe data in which addresses of the web have neither user nor password.

    No client of agentgym sends these, so that what is left leads to the same place.
    """
    if isinstance(value, str):
        return _WEB_USER.sub(r"\1", value)
    if isinstance(value, Mapping):
        return {key: without_users(entry) for key, entry in value.items()}
    return [without_users(entry) for entry in value] if isinstance(value, list | tuple) else value


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


def _entry(value: Any) -> Any:
    """Hide the secrets in an entry of a list."""
    pair = _PAIR.match(value) if isinstance(value, str) else None
    if pair is None:
        return hide_secrets(value)
    if is_secret(pair[1]):
        return f"{pair[0]}{HIDDEN}"
    text = value[pair.end() :]
    with suppress(ValueError, RecursionError):
        document = json.loads(text)
        if isinstance(document, dict | list) and (public := for_others(document)) != document:
            text = json.dumps(public)
    return f"{pair[0]}{hide_secrets(text)}"


def _parameter(match: re.Match[str]) -> str:
    """Return a URL parameter with a secret value hidden."""
    return f"{match[1]}{HIDDEN}" if is_secret(match[2]) else match[0]


def _pattern(secret: str) -> str:
    pattern = re.escape(secret)
    return pattern if len(secret) >= SHORT else rf"(?<!\w){pattern}(?!\w)"
