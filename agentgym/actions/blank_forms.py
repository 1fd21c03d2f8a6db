"""Forms of actions for messages to a model: their blanks, such as ``{query}``, are no values.

A weak model copies what a message shows. A blank that stands for a value is refused in every
grammar (`agentgym.actions.values.build_call`), so that a copied form is never played.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentgym.actions.specs import ActionSpec, Param

SHOWN = 4
"""Most forms of a message: a list of all actions would bury what it is about."""


def blank(param: Param) -> str:
    """Return what stands for the value of an argument in a form."""
    return f"{{{param.name}}}"


def blank_form(spec: ActionSpec, grammar: str) -> str:
    """Return the form of an action with blanks, as it is written in a grammar."""
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
    """Return the forms of the first actions that have arguments, for the end of a sentence.

    Empty if none has: a form without a blank is an action, which a model would copy.
    """
    with_arguments = [spec for spec in specs if spec.params]
    return " or ".join(blank_form(spec, grammar) for spec in with_arguments[:SHOWN])
