"""The domains, by name. All data and policies are our own."""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.envs.service.domains.airline import AIRLINE
from agentgym.envs.service.domains.retail import RETAIL
from agentgym.envs.service.domains.telecom import TELECOM
from agentgym.envs.service.engine.domain import Domain

DOMAINS: Mapping[str, Domain] = {domain.name: domain for domain in (RETAIL, AIRLINE, TELECOM)}
"""Name -> domain."""
