"""The verbs of TextWorld's games, and the answers to commands that match none of their lines.

The grammar is Inform's standard one with TextWorld's additions.

Lines stand in the order in which the parser tries them. Tokens: ``noun``, ``held``, ``multi``,
``multiheld``, ``multiexcept``, ``multiinside``, ``creature``, ``direction`` and ``topic``; anything
else is a preposition, its alternatives joined by ``/``. ``!`` after the action swaps the nouns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from agentgym.envs.textworld.inform.dictionary import key

NOUNS = frozenset(("noun", "held", "multi", "multiheld", "multiexcept", "multiinside", "creature",
                   "direction", "switched"))  # fmt: skip
MULTIPLE = frozenset(("multi", "multiheld", "multiexcept", "multiinside"))

_TAKE_ALL = "all => TakeAll; each => TakeAll; everything => TakeAll; "
_UP_ALL = "up all => TakeAll; up each => TakeAll; up everything => TakeAll; "
_COMMON = {
    "take carry hold": "inventory => Inv; " + _TAKE_ALL + "noun => Remove; multi => Take; "
    "off noun => Disrobe; noun off => Disrobe; multiinside from noun => Remove; "
    "multiinside off noun => Remove",
    "get": "out/off/down/up => Exit; in/on => Enter; " + _TAKE_ALL + "multi => Take; "
    "in/into/on/onto noun => Enter; off/down noun => GetOff; multiinside from noun => Remove",
    "pick": _UP_ALL + "up multi => Take; multi up => Take",
    "stand": "=> Exit; up => Exit; on noun => Enter",
    "remove": "held => Disrobe; multiinside from noun => Remove",
    "shed doff disrobe": "held => Disrobe",
    "wear don": "held => Wear",
    "put": "on held => Wear; held on => Wear; down multiheld => Drop; multiheld down => Drop; "
    "multiexcept in/inside/into noun => Insert; multiexcept on/onto noun => PutOn",
    "insert": "multiexcept in/into noun => Insert",
    "drop throw discard": "multiheld => Drop; held at/against noun => ThrowAt; "
    "multiexcept in/into/down noun => Insert; multiexcept on/onto noun => PutOn",
    "give pay offer feed": "creature held => Give !; held to creature => Give",
    "show present display": "creature held => Show !; held to creature => Show",
    "go walk run": "=> Go; direction => Go; noun => Enter; into/in/inside/through noun => Enter",
    "inventory i inv": "=> Inv",
    "look l": "=> Look; noun => Examine; at noun => Examine; "
    "inside/in/into/through noun => Search; under noun => LookUnder; "
    "up topic in noun => Consult !",
    "consult": "noun on/about topic => Consult",
    "open unwrap uncover": "noun => Open; noun with held => Unlock",
    "close shut cover": "noun => Close; up noun => Close; off noun => SwitchOff",
    "enter cross": "=> Enter; noun => Enter",
    "sit": "on/in/inside noun => Enter; on top of noun => Enter",
    "exit leave out": "=> Exit",
    "examine x watch describe check": "noun => Examine",
    "read": "noun => Examine; about topic in noun => Consult !; topic in noun => Consult !",
    "yes y": "=> Yes",
    "no": "=> No",
    "sorry": "=> Sorry",
    "search": "noun => Search",
    "wave": "=> WaveHands; noun => Wave",
    "set adjust": "noun to topic => SetTo",
    "pull drag": "noun => Pull",
    "push move shift clear press": "noun => Push; noun direction => PushDir; "
    "noun to direction => PushDir",
    "turn rotate twist unscrew screw": "noun => Turn; noun on => SwitchOn; on noun => SwitchOn; "
    "noun off => SwitchOff; off noun => SwitchOff",
    "switch": "switched => SwitchOff; noun => SwitchOn; on noun => SwitchOn; noun on => SwitchOn; "
    "noun off => SwitchOff; off noun => SwitchOff",
    "lock": "noun with held => Lock",
    "unlock": "noun with held => Unlock",
    "attack break smash hit fight torture wreck crack destroy murder kill punch thump":
    "noun => Attack",
    "wait z": "=> Wait",
    "answer say shout speak": "topic to creature => Answer !",
    "tell": "creature about topic => Tell",
    "ask": "creature for noun => AskFor; creature about topic => Ask",
    "eat": "held => Eat",
    "sleep nap": "=> Sleep",
    "climb scale": "noun => Climb; up/over noun => Climb",
    "buy purchase": "noun => Buy",
    "squeeze squash": "noun => Squeeze",
    "swing": "noun => Swing; on noun => Swing",
    "wake awake awaken": "=> Wake; up => Wake; creature => WakeOther; creature up => WakeOther; "
    "up creature => WakeOther",
    "kiss embrace hug": "creature => Kiss",
    "think": "=> Think",
    "smell sniff": "=> Smell; noun => Smell",
    "listen": "=> Listen; to noun => Listen",
    "hear": "noun => Listen",
    "taste": "noun => Taste",
    "touch feel": "noun => Touch",
    "rub shine polish sweep clean dust wipe scrub": "noun => Rub",
    "tie attach fasten": "noun to noun => Tie",
    "burn light": "noun => Burn",
    "jump skip hop": "=> Jump",
    "score": "=> Score",
    "nouns": "=> Pronouns",
    "pronouns": "=> Pronouns",
    "goal": "=> Goal",
    "help": "=> Help",
}  # fmt: skip
_PLAIN = {"drink swallow sip": "noun => Drink", "cut slice prune chop": "noun => Cut"}
_COOKING = {
    "drink swallow sip": "noun => DrinkIt",
    "cut": "noun => Cut",
    "prepare": "meal => Prepare",
    "slice": "noun with/using noun => Slice",
    "dice": "noun with/using noun => Dice",
    "chop": "noun with/using noun => Chop",
    "cook": "noun with/in/on/using noun => Cook",
}
REFUSED = frozenset(map(key, (
    "quit", "q", "save", "restart", "restore", "verify", "version", "script", "transcript",
    "superbrief", "short", "verbose", "long", "brief", "normal", "notify", "undo", "oops",
    "print_state", "enable", "disable", "restrict", "tw-extra-infos", "tw-trace-actions",
    "tw-print")))  # fmt: skip
"""Verbs of the interpreter, not of the world: an episode does not know them."""


@dataclass(frozen=True)
class GrammarLine:
    """A way to use a verb.

    Attributes:
        tokens: Kinds of nouns, and prepositions as tuples of alternatives.
        action: The action that the line stands for.
        swapped: Whether the second noun is typed first.
        nouns: How many tokens are nouns.
    """

    tokens: tuple[str | tuple[str, ...], ...]
    action: str
    swapped: bool
    nouns: int


def _line(text: str) -> GrammarLine:
    """Read one line of the table."""
    tokens, _, replacement = text.partition("=>")
    action, _, swap = replacement.strip().partition(" ")
    kinds = tuple(token if token in NOUNS or token == "topic"
                  else tuple(key(word) for word in token.split("/"))
                  for token in tokens.split())  # fmt: skip
    nouns = sum(isinstance(kind, str) and kind != "topic" for kind in kinds)
    return GrammarLine(kinds, action, bool(swap), nouns)


@lru_cache(maxsize=2)
def verbs(cooking: bool) -> dict[str, tuple[GrammarLine, ...]]:
    """Return the lines of every verb, as ``words.key`` shortens it; cooking has its own."""
    table = {**_COMMON, **(_COOKING if cooking else _PLAIN)}
    lines_by_verb = {}
    for names, text in table.items():
        lines = tuple(_line(line) for line in text.split(";"))
        lines_by_verb.update({key(name): lines for name in names.split()})
    return lines_by_verb


@lru_cache(maxsize=2)
def prepositions(cooking: bool) -> frozenset[str]:
    """Return every word that stands as a preposition in some line."""
    tokens = [token for lines in verbs(cooking).values() for line in lines for token in line.tokens]
    return frozenset(word for token in tokens if isinstance(token, tuple) for word in token)


class ParserError(IntEnum):
    """Reasons why a line of grammar did not fit; the higher, the more of it had been read.

    They are Inform's ``*_PE`` codes, and of all lines of a verb the highest one is the answer.
    """

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
            detail: The part understood, the pronoun in question, or the number of things.
            name: The thing that a pronoun stands for, with its article.
        """
        return _TEXTS[self].replace("{detail}", detail).replace("{name}", name)


_TEXTS = {
    ParserError.STUCK: "I didn't understand that sentence.",
    ParserError.UPTO: "I only understood you as far as wanting to {detail}.",
    ParserError.NUMBER: "I didn't understand that number.",
    ParserError.ANIMATE: "You can only do that to something animate.",
    ParserError.CANTSEE: "You can't see any such thing.",
    ParserError.TOOLITTLE: "You seem to have said too little!",
    ParserError.NOTHELD: "You aren't holding that!",
    ParserError.MULTI: "You can't use multiple objects with that verb.",
    ParserError.MMULTI: "You can only use multiple objects once on a line.",
    ParserError.VAGUE: "I'm not sure what '{detail}' refers to.",
    ParserError.EXCEPT: "You excepted something not included anyway!",
    ParserError.VERB: "That's not a verb I recognise.",
    ParserError.ITGONE: "You can't see '{detail}' ({name}) at the moment.",
    ParserError.TOOFEW: "{detail} of those {name} available.",
    ParserError.NOTHING: "There are none at all available!",
    ParserError.CONTEXT: "That noun did not make sense in this context.",
}
