"""Relative references and the normal form (RFC 3986, sections 5 and 6)."""

from __future__ import annotations

from dataclasses import replace

from linkquery.percent import UrlError, requote
from linkquery.url import DEFAULT_PORTS, Url

PATH_SAFE = "/!$&'()*+,;=:@"
QUERY_SAFE = PATH_SAFE + "?"


def remove_dots(path: str) -> str:
    """Return a path without its ``.`` and ``..``; what climbs above the root stays there."""
    root = "/" if path.startswith("/") else ""
    kept: list[str] = []
    *folders, name = path.removeprefix("/").split("/")
    for part in (*folders, name):
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    if name in (".", "..") and kept:
        kept.append("")
    return root + "/".join(kept)


def join(base: str, reference: str) -> str:
    """Return the URL that a reference on the page ``base`` leads to.

    Args:
        base: The URL of the page, with a scheme.
        reference: A URL or a relative reference.

    Returns:
        The URL.

    Raises:
        UrlError: One of them is no URL, or the base has no scheme.
    """
    start, target = Url.parse(base), Url.parse(reference)
    if not start.scheme:
        raise UrlError(f"the base {base!r} has no scheme")
    if target.scheme:
        return str(replace(target, path=remove_dots(target.path)))
    if target.host:
        return str(replace(target, scheme=start.scheme, path=remove_dots(target.path)))
    if not target.path:
        query = start.query if target.query is None else target.query
        return str(replace(start, query=query, fragment=target.fragment))
    if target.path.startswith("/"):
        path = target.path
    else:
        folder = start.path.rpartition("/")[0]
        path = f"{folder}/{target.path}"
    path = remove_dots(path)
    return str(replace(start, path=path, query=target.query, fragment=target.fragment))


def normalize(text: str) -> str:
    """Return the normal form of a URL.

    Scheme and host are in lower case, the default port, an empty query and an empty fragment are
    gone, ``.`` and ``..`` are resolved, needless percent-encodings are decoded, and a URL with a
    host has at least the path ``/``.

    Raises:
        UrlError: The text is no URL.
    """
    url = Url.parse(text)
    path = requote(url.path, PATH_SAFE)
    if url.host:
        path = remove_dots(path) or "/"
    return str(
        replace(
            url,
            port=None if url.port == DEFAULT_PORTS.get(url.scheme) else url.port,
            path=path,
            query=requote(url.query, QUERY_SAFE) if url.query else None,
            fragment=requote(url.fragment, QUERY_SAFE) if url.fragment else None,
        )
    )
