"""The trust model: which settings a file may contain only with the user's consent.

A record, run folder, suite, protocol or other file may come from a stranger, so it is treated as
data. Plain values, such as a size, are accepted. A path, an address, a command, code or a right
over the machine is rejected, and the message names the flag ``--trust NAME=VALUE`` that allows it.

- ``table.py``: classifies environments, arguments, policies, reward hooks and settings
- ``claims.py``: looks the values of a file up in the table
- ``grants.py``: the values that the user trusts, and `check_trusted`, which every reader calls
- ``typed_here.py``: remembers what this user typed for a run folder on this machine

To add one of these, touch these files:

- an environment, argument or setting: its row in ``table.py``; ``tests/trust`` fails without it
- a reader of files that makes, loads or contacts what they name: pass claims about everything it
  read to `check_trusted` before it resolves anything; a row in ``tests/trust/test_readers.py``
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
