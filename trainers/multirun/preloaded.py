"""Imports what every run needs, once for all of them; see ``trainers.multirun.process``."""

import gc
import importlib
import logging

MODULES = (
    "trainers.run", "trainers.phases.baselines", "trainers.phases.reinforcement",
    "trainers.phases.warm_start",
)  # fmt: skip

# It tells of an optional kernel whenever PEFT is imported.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
for module in MODULES:
    importlib.import_module(module)
# A collection of garbage would look at all of it, and copy it, in every run.
gc.freeze()
