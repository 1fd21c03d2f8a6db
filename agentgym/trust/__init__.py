"""What a file may name by itself, and what it may name only if the user trusts it.

A record, a run folder, a suite, a protocol or another file may be somebody else's. It is data: what
it names may be plain, such as a size. A path, an address, a command, code and a right are refused
with the flag ``--trust NAME=VALUE`` that allows them.

- ``table.py``: what each kind of environment, argument, policy, reward hook and setting is
- ``claims.py``: what a file names, looked up in the table
- ``grants.py``: what the user trusts, and `check_trusted`, through which every reader goes
- ``typed_here.py``: what this user has typed for a run folder on this machine

To add one of these, touch these files:

- a kind, an argument or a setting: its row in ``table.py``; ``tests/trust`` fails without it
- a reader of files that makes, loads or contacts what they name: claims of what it has read, given
  to `check_trusted` before anything is resolved; a row in ``tests/trust/test_readers.py``
"""

from __future__ import annotations

from agentgym.trust.claims import (
    Claim,
    argument_claims,
    env_claims,
    hook_claims,
    policy_claims,
    setting_claims,
)
from agentgym.trust.grants import NotTrusted, check_trusted, granted, trusting, trusting_env
from agentgym.trust.table import EVALUATION, TRAINING

__all__ = [
    "EVALUATION",
    "TRAINING",
    "Claim",
    "NotTrusted",
    "argument_claims",
    "check_trusted",
    "env_claims",
    "granted",
    "hook_claims",
    "policy_claims",
    "setting_claims",
    "trusting",
    "trusting_env",
]
