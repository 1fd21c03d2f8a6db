"""Convert a module of agentgym to source that the old Python of any image can run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


class _Untyped(ast.NodeTransformer):
    """Removes type annotations, which old Pythons cannot parse, and imports of agentgym."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        arguments = node.args
        starred = (arguments.vararg, arguments.kwarg)
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred):
            if argument is not None:
                argument.annotation = None
        node.returns = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return ast.Assign([node.target], node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        is_own = (node.module or "").partition(".")[0] in ("__future__", "agentgym")
        return None if is_own else node


@cache
def plain_source(module: str) -> str:
    """Return the source of a module without annotations and imports of agentgym.

    Args:
        module: Path of the module's file.
    """
    tree = _Untyped().visit(ast.parse(Path(module).read_text("utf-8")))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
