"""Forms of actions with blanks such as ``{query}``, for error messages to a model.

A weak model copies the form that a message shows. `agentgym.actions.values.build_call` rejects a
blank as a value, so a copied form is never executed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentgym.actions.specs import ActionSpec, Param

SHOWN = 4
"""Maximum number of forms in a message: a list of all actions would bury the error itself."""


def blank(param: Param) -> str:
    """Return the blank that stands for the value of an argument."""
    return f"{{{param.name}}}"


def blank_form(spec: ActionSpec, grammar: str) -> str:
    """Return an action in a grammar, with blanks in place of its arguments."""
    if grammar == "tool_call":
        arguments = {param.name: blank(param) for param in spec.params}
        payload = json.dumps({"name": spec.name, "arguments": arguments})
        return f"<tool_call>{payload}</tool_call>"
    if grammar == "xml":
        blanks = [blank(param) for param in spec.params]
        if len(blanks) > 1:
            blanks = [f"<{p.name}>{blank(p)}</{p.name}>" for p in spec.params]
        return f"<{spec.name}>{''.join(blanks)}</{spec.name}>"
    native = spec.templates[0].replace("?}", "}")
    if grammar == "action_tag":
        return f"<action>{native}</action>"
    return f"Action: {native}" if grammar == "react" else native


def blank_forms(specs: Sequence[ActionSpec], grammar: str) -> str:
    """Return the forms of the first `SHOWN` actions that have arguments, joined by "or".

    Actions without arguments are left out: their form is a valid action, which a model would copy.
    """
    with_arguments = [spec for spec in specs if spec.params]
    return " or ".join(blank_form(spec, grammar) for spec in with_arguments[:SHOWN])
