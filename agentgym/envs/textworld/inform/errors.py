"""What the parser says when it does not understand; the later in the list, the more it had read."""

from __future__ import annotations

from enum import IntEnum


class Error(IntEnum):
    """Reasons why a line of grammar did not fit, the more telling the higher."""

    STUCK = 1
    UPTO = 2
    NUMBER = 3
    ANIMATE = 4
    CANTSEE = 5
    TOOLITTLE = 6
    NOTHELD = 7
    MULTI = 8
    MMULTI = 9
    VAGUE = 10
    EXCEPT = 11
    VERB = 12
    ITGONE = 14
    TOOFEW = 16
    NOTHING = 17
    CONTEXT = 19

    def text(self, detail: str = "", name: str = "") -> str:
        """Return the answer to a command that failed for this reason.

        Args:
            detail: What was understood, the pronoun in question, or how many there are.
            name: The thing that a pronoun stands for, with its article.
        """
        return _TEXTS[self].replace("{detail}", detail).replace("{name}", name)


_TEXTS = {
    Error.STUCK: "I didn't understand that sentence.",
    Error.UPTO: "I only understood you as far as wanting to {detail}.",
    Error.NUMBER: "I didn't understand that number.",
    Error.ANIMATE: "You can only do that to something animate.",
    Error.CANTSEE: "You can't see any such thing.",
    Error.TOOLITTLE: "You seem to have said too little!",
    Error.NOTHELD: "You aren't holding that!",
    Error.MULTI: "You can't use multiple objects with that verb.",
    Error.MMULTI: "You can only use multiple objects once on a line.",
    Error.VAGUE: "I'm not sure what '{detail}' refers to.",
    Error.EXCEPT: "You excepted something not included anyway!",
    Error.VERB: "That's not a verb I recognise.",
    Error.ITGONE: "You can't see '{detail}' ({name}) at the moment.",
    Error.TOOFEW: "{detail} of those {name} available.",
    Error.NOTHING: "There are none at all available!",
    Error.CONTEXT: "That noun did not make sense in this context.",
}
