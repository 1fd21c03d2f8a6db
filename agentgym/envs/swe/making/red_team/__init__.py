"""A red team for graders of SWE: exploits as data, and a campaign that plays them on tasks.

`exploit` reads an exploit from its file, `target` locates the code that it attacks, `campaign`
plays exploits and records their rewards. The exploits lie in ``exploits.d``, whose name is no
identifier: they are texts that are typed into boxes, and nothing in them can be imported.

To add one of these, touch these files:

- an exploit of SWE graders: a file ``agentgym/envs/swe/making/red_team/exploits.d/KIND/NAME.toml``;
  ``agentgym swe red-team`` finds it by its place. Store the result of ``benchmarks/swe_red_team.py
  --tasks 2``, which a test asks for. One that is refused as no other of its kind also goes into
  ``tests/envs/swe/making/red_team/test_bundled_tasks.py``
"""

from __future__ import annotations

from agentgym.envs.swe.making.red_team.campaign import (
    MUST_LOSE,
    MUST_WIN,
    Attempt,
    Campaign,
    Totals,
    run_campaign,
    sample_tasks,
    totals,
)
from agentgym.envs.swe.making.red_team.exploit import (
    EXPLOITS,
    Exploit,
    ExploitStep,
    load_exploits,
    read_exploit,
)
from agentgym.envs.swe.making.red_team.target import Target, target_of

__all__ = [
    "EXPLOITS",
    "MUST_LOSE",
    "MUST_WIN",
    "Attempt",
    "Campaign",
    "Exploit",
    "ExploitStep",
    "Target",
    "Totals",
    "load_exploits",
    "read_exploit",
    "run_campaign",
    "sample_tasks",
    "target_of",
    "totals",
]
