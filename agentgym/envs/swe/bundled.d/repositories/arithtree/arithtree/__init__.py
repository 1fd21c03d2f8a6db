"""Parse, evaluate, simplify and print arithmetic expressions."""

from arithtree.evaluator import EvaluationError, evaluate
from arithtree.parser import parse
from arithtree.printer import to_text
from arithtree.simplifier import simplify
from arithtree.tokens import ParseError, Token, tokenize
from arithtree.tree import Binary, Call, Name, Node, Number, Unary, variables

__all__ = [
    "Binary",
    "Call",
    "EvaluationError",
    "Name",
    "Node",
    "Number",
    "ParseError",
    "Token",
    "Unary",
    "evaluate",
    "parse",
    "simplify",
    "to_text",
    "tokenize",
    "variables",
]
