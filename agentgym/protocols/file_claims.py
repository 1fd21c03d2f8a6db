"""The claims of a protocol file, for `agentgym.trust`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentgym.trust import Claim, argument_claims
from agentgym.trust.claims import argument_rows, claim
from agentgym.trust.table import PATH, PROTOCOL, UNKNOWN


def protocol_claims(data: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield the claims of a protocol, whose form has not been checked yet.

    Args:
        data: Its file: a section for each environment, by name or id.
    """
    for env, section in data.items():
        if not isinstance(section, Mapping):
            continue
        official = _table(section, "data")
        for arguments in (_table(section, "env"), _table(official, "env")):
            yield from argument_claims(env, arguments)
        if "variable" in official:
            yield claim("variable", official["variable"], PROTOCOL["variable"])
        if (name := official.get("argument")) is not None:
            # The variable's value becomes this argument, so it has to be one for a path.
            row = argument_rows(env).get(str(name), UNKNOWN)
            yield Claim("argument", name, "plain" if row.nature == PATH.nature else "code")
        if (names := _table(_table(section, "tasks"), "items").get("names")) is not None:
            yield claim("names", names, PROTOCOL["names"])


def _table(section: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = section.get(name)
    return table if isinstance(table, Mapping) else {}
