"""URLs and their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from linkquery.percent import UrlError
from linkquery.query import Query

DEFAULT_PORTS = {"ftp": 21, "http": 80, "https": 443, "ws": 80, "wss": 443}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f<>\"`{}|\\^]")


@dataclass(frozen=True)
class Url:
    """A URL or a relative reference.

    Attributes:
        scheme: ``https`` and the like in lower case; empty in a relative reference.
        user: What stands before ``@``.
        host: The host in lower case; an IPv6 address without its brackets.
        port: The port if it is stated.
        path: The path, still encoded.
        query: The query string, still encoded; None if there is no question mark.
        fragment: What follows ``#``, still encoded; None if there is none.
    """

    scheme: str = ""
    user: str = ""
    host: str = ""
    port: int | None = None
    path: str = ""
    query: str | None = None
    fragment: str | None = None

    @classmethod
    def parse(cls, text: str) -> Url:
        """Read a URL or a relative reference.

        Raises:
            UrlError: It holds spaces or other forbidden characters, or its port or its address
                is malformed.
        """
        if match := _FORBIDDEN.search(text):
            raise UrlError(f"{match.group()!r} cannot stand in a URL")
        rest, mark, fragment = text.partition("#")
        found_fragment = fragment if mark else None
        rest, mark, query = rest.partition("?")
        found_query = query if mark else None
        scheme = ""
        if match := _SCHEME.match(rest):
            scheme = match.group()[:-1].lower()
            rest = rest[match.end() :]
        user, host, port = "", "", None
        if rest.startswith("//"):
            slash = rest.find("/", 2)
            authority = rest[2:] if slash < 0 else rest[2:slash]
            rest = "" if slash < 0 else rest[slash:]
            user, host, port = _split_authority(authority)
        return cls(scheme, user, host, port, rest, found_query, found_fragment)

    def __str__(self) -> str:
        """Return the URL as text."""
        parts = [f"{self.scheme}:" if self.scheme else ""]
        if self.host or self.user:
            parts.append("//" + self.authority)
        parts.append(self.path)
        if self.query is not None:
            parts.append("?" + self.query)
        if self.fragment is not None:
            parts.append("#" + self.fragment)
        return "".join(parts)

    @property
    def authority(self) -> str:
        """User, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user else ""
        return user + host + (f":{self.port}" if self.port is not None else "")

    @property
    def origin(self) -> str:
        """Scheme, host and port, the default port left out."""
        port = None if self.port == DEFAULT_PORTS.get(self.scheme) else self.port
        return str(Url(scheme=self.scheme, host=self.host, port=port))

    @property
    def effective_port(self) -> int | None:
        """The stated port, else the default one of the scheme."""
        return DEFAULT_PORTS.get(self.scheme) if self.port is None else self.port

    @property
    def segments(self) -> list[str]:
        """The parts of the path between the slashes, still encoded."""
        return self.path.removeprefix("/").split("/") if self.path.strip("/") else []

    @property
    def parent(self) -> Url:
        """The URL of the folder that holds it, without query and fragment; the root has none."""
        folder = self.path.removesuffix("/").rpartition("/")[0]
        return replace(self, path=folder + "/" if self.path else "", query=None, fragment=None)

    @property
    def parameters(self) -> Query:
        """The query string as names and values."""
        return Query.parse(self.query or "")

    def with_query(self, **values: object) -> Url:
        """Return the URL with some parameters set; None removes one."""
        gone = [name for name, value in values.items() if value is None]
        query = self.parameters.remove(*gone)
        query = query.update(pair for pair in values.items() if pair[0] not in gone)
        return replace(self, query=str(query) if len(query) else None)


def _split_authority(text: str) -> tuple[str, str, int | None]:
    """Return user, host and port."""
    user, _, rest = text.rpartition("@")
    if rest.startswith("["):
        end = rest.find("]")
        if end < 0:
            raise UrlError(f"the address in {text!r} is not closed")
        host, rest = rest[1:end], rest[end + 1 :]
        if rest and not rest.startswith(":"):
            raise UrlError(f"{rest!r} follows the address in {text!r}")
    else:
        host, colon, port = rest.partition(":")
        rest = colon + port
    digits = rest[1:]
    if not digits:
        return user, host.lower(), None
    if not (digits.isascii() and digits.isdigit()) or int(digits) > 65535:
        raise UrlError(f"{digits!r} is not a port")
    return user, host.lower(), int(digits)
