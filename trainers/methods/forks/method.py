"""The row of forks in the table of methods."""

from __future__ import annotations

from dataclasses import fields

from agentgym.trust.table import PLAIN
from trainers.methods.forks.branching import (
    BRANCHING,
    Branching,
    EntropyRise,
    EveryTurn,
    MainEpisodes,
    RandomTurns,
)
from trainers.methods.forks.fork_value import ForkValue
from trainers.methods.forks.presets import PRESETS
from trainers.methods.forks.settings import (
    ForksConfig,
    check_forks,
    values_of_forks,
    with_forks,
)
from trainers.methods.method import Method

METHOD = Method(
    name="forks",
    needs=(BRANCHING,),
    presets={"dpo": PRESETS},
    parts={
        "filters": (MainEpisodes,),
        "signal": (ForkValue,),
        "branching": (Branching,),
        "rule": (EntropyRise, RandomTurns, EveryTurn),
    },
    section=ForksConfig,
    trust={item.name: PLAIN for item in fields(ForksConfig)},
    change_preset=with_forks,
    preset_values=values_of_forks,
    check=check_forks,
    own_loop=True,
    snapshots=True,
    step_part="trainers.methods.forks.forked_episodes:forks_part",
)
