"""Rules for nested data, with errors that say where."""

from shapecheck.check import Invalid, check, is_valid, problems
from shapecheck.describe import describe
from shapecheck.infer import infer
from shapecheck.nested import Field, ListOf, MapOf, Nullable, OneOf, Record, TupleOf
from shapecheck.problem import Problem
from shapecheck.scalars import Any, Constant, Flag, Number, Schema, Text

__all__ = [
    "Any",
    "Constant",
    "Field",
    "Flag",
    "Invalid",
    "ListOf",
    "MapOf",
    "Nullable",
    "Number",
    "OneOf",
    "Problem",
    "Record",
    "Schema",
    "Text",
    "TupleOf",
    "check",
    "describe",
    "infer",
    "is_valid",
    "problems",
]
