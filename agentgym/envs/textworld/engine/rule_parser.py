"""Read the logic of a TextWorld game from the text in its JSON (the ``.twl`` format).

A small recursive-descent parser over a fixed token set: it evaluates nothing. The grammar, where
``{x}`` is any number of ``x`` and ``[x]`` at most one::

    document   = {"type" NAME [":" NAME {"," NAME}] "{" {part} "}"}
    part       = "predicates" "{" {(signature | atom "=" atom {"&" atom}) ";"} "}"
               | ("rules" | "constraints") "{" {rule ";"} "}"
               | "reverse_rules" "{" {NAME "::" NAME ";"} "}"
               | "inform7" "{" {inform7} "}"
    rule       = NAME "::" ["$"] atom {"&" ["$"] atom} "->" atom {"&" atom}
    atom       = NAME "(" [placeholder {"," placeholder}] ")"
    placeholder = NAME [":" NAME]
    inform7    = "type" "{" {NAME "::" STRING ";"} "}"
               | "predicates" "{" {atom "::" STRING ";"} "}"
               | "commands" "{" {NAME "::" STRING "::" STRING ";"} "}"
               | "code" "::" BLOCK ";"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from agentgym.envs.textworld.engine.logic import FIELD, Atom, Logic, Rule
from agentgym.errors import DataError

T = TypeVar("T")
_Signature = tuple[str, tuple[str, ...]]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
      | (?P<block>\"\"\".*?\"\"\")
      | (?P<string>"[^"]*")
      | (?P<word>!?[\w/']+(?:-[\w/']+)*)
      | (?P<mark>::|->|[{}();:,&$=])""",
    re.VERBOSE | re.DOTALL,
)
_CACHED = 16


@lru_cache(maxsize=_CACHED)
def parse(text: str) -> Logic:
    """Read the logic of a game, aliases expanded: ``game["KB"]["logic"]``, one object for a text.

    Raises:
        DataError: The text is not of the format; the message says where.
    """
    return _Parser(text).document()


class _Parser:
    """One pass over the tokens of one document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._position = 0
        self._parents: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[_Signature, tuple[Atom, list[Atom], dict[str, str]]] = {}
        self._rules: dict[str, tuple[list[Atom], list[Atom], dict[str, str]]] = {}
        self._reverses: dict[str, str] = {}
        self._commands: dict[str, str] = {}
        # Placeholder to type: an atom's own meaning, valid within one rule or declaration.
        self._types: dict[str, str] = {}

    def document(self) -> Logic:
        while not self._is_at_end():
            self._type()
        rules = [self._rule(name) for name in sorted(self._rules)]
        for rule in rules:
            self._check(rule)
        return Logic(
            parents=self._parents,
            rules=tuple(rules),
            reverses=self._reverses,
            commands=self._commands,
        )

    # Tokens

    def _split(self) -> list[tuple[str, str, int]]:
        tokens, end = [], 0
        for match in _TOKEN.finditer(self._text):
            if match.start() != end:
                break
            end = match.end()
            if match.lastgroup != "skip":
                tokens.append((str(match.lastgroup), match.group(), match.start()))
        if end < len(self._text):
            raise self._error(f"a word or mark at {self._text[end : end + 20]!r}", end)
        return tokens

    def _is_at_end(self) -> bool:
        return self._position >= len(self._tokens)

    def _peek(self) -> str:
        return "" if self._is_at_end() else self._tokens[self._position][1]

    def _accept(self, text: str) -> bool:
        if self._peek() != text:
            return False
        self._position += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(f"{text!r}, got {self._peek() or 'the end'!r}")

    def _take(self, kind: str) -> str:
        if self._is_at_end() or self._tokens[self._position][0] != kind:
            raise self._error(f"a {kind}, got {self._peek() or 'the end'!r}")
        self._position += 1
        return self._tokens[self._position - 1][1]

    def _error(self, expected: str, position: int | None = None) -> DataError:
        if position is None:
            position = len(self._text) if self._is_at_end() else self._tokens[self._position][2]
        line = self._text.count("\n", 0, position) + 1
        return DataError(
            f"expected {expected} in line {line} of the game's logic; "
            'pass the unchanged JSON of a TextWorld 1.x game (its "KB" holds the logic)'
        )

    # Productions

    def _braces(self, item: Callable[[], None]) -> None:
        self._expect("{")
        while not self._accept("}"):
            item()

    def _several(self, item: Callable[[], T], mark: str) -> list[T]:
        items = [item()]
        while self._accept(mark):
            items.append(item())
        return items

    def _name(self) -> str:
        return self._take("word")

    def _type(self) -> None:
        self._expect("type")
        name = self._name()
        parents = self._several(self._name, ",") if self._accept(":") else []
        if name in self._parents:
            raise self._error(f"one declaration of the type {name!r}, got a second")
        self._parents[name] = tuple(parents)
        self._braces(self._part)

    def _part(self) -> None:
        items: dict[str, Callable[[], None]] = {
            "predicates": self._declaration,
            "rules": self._rule_source,
            "constraints": self._constraint,
            "reverse_rules": self._reverse,
            "inform7": self._inform7,
        }
        word = self._name()
        if word not in items:
            raise self._error(f"one of {', '.join(items)}, got {word!r}")
        self._braces(items[word])

    def _declaration(self) -> None:
        self._types = {}
        pattern = self._atom()
        if self._accept("="):
            replacement = self._several(self._atom, "&")
            self._aliases[self._signature(pattern)] = (pattern, replacement, self._types)
        self._expect(";")

    def _rule_source(self) -> None:
        name, rule = self._transition()
        if name in self._rules:
            raise self._error(f"one rule {name!r}, got a second")
        self._rules[name] = rule

    def _constraint(self) -> None:
        self._transition()  # Constraints bind the generator of worlds, not the play.

    def _transition(self) -> tuple[str, tuple[list[Atom], list[Atom], dict[str, str]]]:
        self._types = {}
        name = self._name()
        self._expect("::")
        conditions = self._several(lambda: (self._accept("$"), self._atom()), "&")
        self._expect("->")
        preserved = [atom for keep, atom in conditions if keep]
        postconditions = preserved + self._several(self._atom, "&")
        self._expect(";")
        return name, ([atom for _, atom in conditions], postconditions, self._types)

    def _reverse(self) -> None:
        name = self._name()
        self._expect("::")
        reverse = self._name()
        self._expect(";")
        self._reverses[name] = reverse
        self._reverses[reverse] = name

    def _atom(self) -> Atom:
        name = self._name()
        if name.startswith("!"):
            name = name.lstrip("!")
            name = name[len("not_") :] if name.startswith("not_") else f"not_{name}"
        self._expect("(")
        args = [] if self._peek() == ")" else self._several(self._placeholder, ",")
        self._expect(")")
        return Atom(name, tuple(args))

    def _placeholder(self) -> str:
        name = self._name()
        kind = self._name() if self._accept(":") else name.rstrip("'")
        if self._types.setdefault(name, kind) != kind:
            raise self._error(f"the type {self._types[name]!r} for {name!r}, got {kind!r}")
        return name

    def _inform7(self) -> None:
        word = self._name()
        if word == "code":
            self._expect("::")
            self._take("block")
            self._expect(";")
        elif word in ("type", "predicates", "commands"):
            self._braces(self._command if word == "commands" else self._source)
        else:
            raise self._error(f"one of type, predicates, commands, code, got {word!r}")

    def _command(self) -> None:
        rule = self._name()
        self._expect("::")
        self._commands[rule] = self._take("string")[1:-1]
        self._expect("::")
        self._take("string")  # The event, by which an Inform 7 story reports the action.
        self._expect(";")

    def _source(self) -> None:
        """Skip kinds and source of predicates, which only the Inform 7 compiler needs."""
        self._types = {}
        if (
            self._tokens[self._position + 1 : self._position + 2]
            and self._tokens[self._position + 1][1] == "("
        ):
            self._atom()
        else:
            self._name()
        self._expect("::")
        self._take("string")
        self._expect(";")

    # Aliases

    def _signature(self, atom: Atom) -> tuple[str, tuple[str, ...]]:
        return atom.name, tuple(self._types[arg] for arg in atom.args)

    def _rule(self, name: str) -> Rule:
        preconditions, postconditions, self._types = self._rules[name]
        pre = tuple(part for atom in preconditions for part in self._expand(atom, ()))
        post = tuple(part for atom in postconditions for part in self._expand(atom, ()))
        return Rule(name, pre, post, self._types)

    def _check(self, rule: Rule) -> None:
        """Refuse a command that names an entity its rule does not bind."""
        for name in (rule.name, self._reverses.get(rule.name, "")):
            command = self._commands.get(name, "")
            strange = set(FIELD.findall(command)) - set(rule.types)
            if strange:
                raise DataError(
                    f"expected the command {command!r} to name placeholders of the rule "
                    f"{rule.name!r}, got {', '.join(sorted(strange))}; repair the game's logic"
                )

    def _expand(self, atom: Atom, ancestors: tuple[str, ...]) -> list[Atom]:
        alias = self._aliases.get(self._signature(atom))
        if alias is None:
            return [atom]
        if atom.name in ancestors:
            raise self._error(f"no cycle of aliases, got one through {atom.name!r}")
        pattern, replacement, types = alias
        identity = {name: name for name in types}
        renamed = identity | dict(zip(pattern.args, atom.args, strict=True))
        parts = [Atom(part.name, tuple(renamed[arg] for arg in part.args)) for part in replacement]
        for name, kind in types.items():
            self._types.setdefault(renamed[name], kind)
        return [deep for part in parts for deep in self._expand(part, (*ancestors, atom.name))]
