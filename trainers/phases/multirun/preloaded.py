"""Import what every run needs, once, before processes fork; see ``process.py``."""

import gc
import importlib
import logging

MODULES = (
    "trainers.phases.run", "trainers.phases.baselines", "trainers.phases.reinforcement",
    "trainers.phases.warm_start",
)  # fmt: skip

# It prints a notice about an optional kernel whenever PEFT is imported.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
for module in MODULES:
    importlib.import_module(module)
# Garbage collection would touch all of these objects and so copy their pages in every fork.
gc.freeze()
