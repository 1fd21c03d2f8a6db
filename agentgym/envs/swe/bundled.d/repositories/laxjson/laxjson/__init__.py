"""Relaxed JSON: comments, single quotes, bare keys and trailing commas."""

from laxjson.errors import LaxJSONError
from laxjson.parser import loads
from laxjson.pointer import lookup, replace
from laxjson.tokens import Token, tokenize
from laxjson.writer import dumps

__all__ = ["LaxJSONError", "Token", "dumps", "loads", "lookup", "replace", "tokenize"]
