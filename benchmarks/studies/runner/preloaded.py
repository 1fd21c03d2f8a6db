"""Imports what every run needs, once for all of them; see ``benchmarks.studies.runner.process``."""

import logging

# It tells of an optional kernel whenever PEFT is imported.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)

import trainers.phases.imitation
import trainers.phases.reinforcement
import trainers.phases.warm_start
import trainers.run  # noqa: F401
