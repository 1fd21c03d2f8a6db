"""An event log with undo, redo, snapshots and branches."""

from undotrail.codec import CodecError, dump, load
from undotrail.event import Event
from undotrail.log import Log
from undotrail.query import Query
from undotrail.snapshots import Snapshots
from undotrail.trail import NothingToDo, Trail

__all__ = [
    "CodecError",
    "Event",
    "Log",
    "NothingToDo",
    "Query",
    "Snapshots",
    "Trail",
    "dump",
    "load",
]
