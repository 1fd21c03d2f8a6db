"""The row of refill in the table of methods."""

from __future__ import annotations

from agentgym.trust.table import PLAIN
from trainers.algorithms.needs import REFILL
from trainers.methods.method import Method
from trainers.methods.refill.presets import DAPO, VSPO_ERPO
from trainers.methods.refill.settings import RefillConfig, values_of_refill, with_refill

METHOD = Method(
    name="refill",
    needs=(REFILL,),
    presets={"expert-iteration": DAPO, "matpo": VSPO_ERPO},
    section=RefillConfig,
    trust={"groups": PLAIN},
    change_preset=with_refill,
    preset_values=values_of_refill,
    step_part="trainers.methods.refill.replaced_groups:refill_part",
)
