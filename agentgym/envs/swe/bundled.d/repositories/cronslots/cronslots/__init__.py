"""Read cron expressions and compute when they fire."""

from cronslots.describe import describe
from cronslots.fields import CronError, Field
from cronslots.schedule import Schedule

__all__ = ["CronError", "Field", "Schedule", "describe"]
