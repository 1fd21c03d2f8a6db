"""Parse the text of an answer or an expression into a tree, without calculating.

The text may be hostile: its length, its digits, the depth of its brackets and the size of the tree
are bounded, and no part of it is ever evaluated as a program.
"""

from __future__ import annotations

from fractions import Fraction

from agentgym.envs.mathpython.engine.tokens import Token, tokens
from agentgym.envs.mathpython.engine.tree import (
    MINUS_ONE,
    Call,
    Group,
    Measured,
    Name,
    Node,
    Number,
    Operation,
    Unreadable,
    Words,
)

DEEPEST = 100
"""Most brackets, fractions and roots inside one another."""
MOST_NODES = 400
"""Most parts of a tree."""
MOST_SIGNS = 60
"""Maximum number of factorials and percents of a text, which nest without brackets."""

FUNCTIONS = frozenset((
    "sqrt", "cbrt", "root", "abs", "floor", "ceil", "round", "gcd", "lcm", "mod", "max", "min",
    "factorial", "binom", "comb", "sin", "cos", "tan", "cot", "arcsin", "arccos", "arctan", "asin",
    "acos", "atan", "exp", "ln", "log", "fraction",
))  # fmt: skip
"""Known functions; several arguments are written as ``gcd(a, b)``."""
CONSTANTS = {
    "pi": "pi", "infty": "oo", "inf": "oo", "infinity": "oo", "oo": "oo", "e": "e", "i": "i",
}  # fmt: skip
GREEK = frozenset((
    "alpha", "beta", "gamma", "theta", "lambda", "mu", "omega", "phi", "rho", "sigma", "tau",
))  # fmt: skip
CLOSING = {"lfloor": "rfloor", "lceil": "rceil"}
RELATIONS = {"=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "le": "<=",
             "leq": "<=", "ge": ">=", "geq": ">=", "!=": "!=", "ne": "!=", "neq": "!=",
             "approx": "=", "approxeq": "=", "simeq": "=", "doteq": "="}  # fmt: skip
UNITS = frozenset((
    "cm", "mm", "km", "kg", "mg", "ft", "mi", "hr", "hrs", "min", "sec", "in", "oz", "lb", "lbs",
    "mph", "kph", "ml", "am", "pm", "deg", "yd", "and", "or",
))  # fmt: skip
"""Short words that are not products of letters."""
TIMES = {"*", "cdot", "times", "ast"}
OVER = {"/", "div"}


def parse(text: str) -> Node:
    """Parse a text as mathematics.

    Raises:
        Unreadable: It is not mathematics, or too long or too deep.
    """
    token_list = tokens(text)
    if not token_list[:-1]:
        raise Unreadable("expected mathematics, got an empty text")
    word_text = _words(token_list)
    return word_text if word_text is not None else _Parser(token_list).read_all()


def expression(text: str) -> Node:
    """Parse one expression of a calculator.

    Raises:
        Unreadable: It is not an expression, such as an equation, a list, or a quantity with a unit.
    """
    parser = _Parser(tokens(text))
    node = parser.sum()
    if parser.now.kind != "end":
        raise Unreadable(f"expected one expression, got {parser.now.text!r:.40} behind it")
    return node


def _words(token_list: list[Token]) -> Words | Name | None:
    """Return a text that is words and nothing else: an answer that needs no calculation."""
    texts = [token.text for token in token_list[:-1]]
    word_kinds = {"word", "text"}
    if not all(token.kind in word_kinds or token.text in ",()-" for token in token_list[:-1]):
        return None
    if any(token.kind == "text" for token in token_list) or any(
        len(word) > 2 and word.lower() not in FUNCTIONS and word.lower() not in CONSTANTS
        for word in texts
    ):
        joined = " ".join(" ".join(texts).replace("(", " ").replace(")", " ").split())
        return Name(joined) if len(joined) == 1 else Words(joined.lower())
    return None


class _Parser:
    """Recursive descent over tokens."""

    def __init__(self, token_list: list[Token]) -> None:
        self._tokens, self._place, self._depth, self._nodes, self._bars = token_list, 0, 0, 0, 0
        self._signs = 0

    @property
    def now(self) -> Token:
        """The token that is next."""
        return self._tokens[self._place]

    def read_all(self) -> Node:
        """Read all of an answer: items in any order, joined by commas, ``and`` or ``or``."""
        if RELATIONS.get(self.now.text) == "=" and self.now.kind != "word":
            self._next()  # An answer may begin with it: `= 42`.
        items = [self._item()]
        while self._takes(",", ";") or self._takes_word("and", "or"):
            self._takes_word("and", "or")
            items.append(self._item())
        if self.now.kind != "end":
            raise Unreadable(f"expected the end, got {self.now.text!r:.40}")
        return items[0] if len(items) == 1 else Group("set", tuple(items))

    def sum(self) -> Node:
        """Read terms that are added."""
        with _Deeper(self):
            node = self._product()
            while True:
                if self._takes("+"):
                    node = self._count_node(Operation("+", node, self._product()))
                elif self._takes("-"):
                    node = self._count_node(Operation("-", node, self._product()))
                elif self._takes("pm"):
                    summand = self._product()
                    branches = (Operation("+", node, summand), Operation("-", node, summand))
                    return self._count_node(Group("set", branches))
                else:
                    return node

    # -- from the outside to the inside ---------------------------------------------------------

    def _item(self) -> Node:
        """Read an equation, a union, or a quantity with its unit."""
        node = self._side()
        while self._is_relation() or self.now.text == "in":
            sign = self._next().text
            side = self._side()
            named = isinstance(node, Name) or _is_function_of(node)
            if sign == "in" or (RELATIONS[sign] == "=" and named):
                node = side  # What is said of a name: `x = 5` is 5.
            else:
                node = self._count_node(Group(RELATIONS[sign], (node, side)))
        return node

    def _side(self) -> Node:
        """Read one side of an equation."""
        parts = [self._measured()]
        while self._takes("cup") or self._takes_word("U", "union"):
            parts.append(self._measured())
        return parts[0] if len(parts) == 1 else self._count_node(Group("union", tuple(parts)))

    def _measured(self) -> Node:
        """Read a quantity and the words behind it."""
        node = self.sum()
        unit = []
        while self.now.kind in ("text", "word") or self.now.text == "degree":
            if self.now.text.lower() in ("and", "or", "u", "union"):
                break
            unit.append(self._next().text.lower())
            if self._takes("^"):
                unit.append(f"^{self._raised()}")
            if self.now.text == "/" and self._tokens[self._place + 1].kind in ("text", "word"):
                unit.append(self._next().text)
        word = " ".join(unit).strip(" .")
        if word in ("percent", "per cent"):
            return self._count_node(Call("%", (node,)))
        return self._count_node(Measured(node, word)) if word else node

    def _raised(self) -> str:
        """Read the exponent of a unit."""
        braced = self._takes("{")
        sign = "-" if self._takes("-") else ""
        text = self._next().text
        if braced:
            self._must("}")
        return sign + text

    def _product(self) -> Node:
        """Read factors that are multiplied; a sign before them is of the whole."""
        if self._takes("-"):
            return self._count_node(Operation("*", MINUS_ONE, self._deeper_product()))
        if self._takes("+"):
            return self._deeper_product()
        if self._takes("pm"):
            factor = self._deeper_product()
            return self._count_node(Group("set", (factor, Operation("*", MINUS_ONE, factor))))
        node = self._power()
        while True:
            if self.now.text in TIMES and self.now.kind in ("sign", "command"):
                self._next()
                node = self._count_node(Operation("*", node, self._signed()))
            elif self.now.text in OVER and self.now.kind in ("sign", "command"):
                self._next()
                node = self._count_node(Operation("/", node, self._signed()))
            elif self.now.text in ("mod", "bmod"):
                self._next()
                node = self._count_node(Operation("mod", node, self._signed()))
            elif self._juxtaposed():
                node = self._joined(node)
            else:
                return node

    def _deeper_product(self) -> Node:
        with _Deeper(self):
            return self._product()

    def _joined(self, node: Node) -> Node:
        """Multiply by what stands behind without a sign; 3 1/2 and its like are sums."""
        previous = self._tokens[self._place - 1]
        token = self.now
        is_whole = isinstance(node, Number) and node.places is None
        if is_whole and token.text == "frac":
            return self._count_node(Operation("+", node, self._power()))
        if token.kind == "number":
            ahead = [
                next_token.text for next_token in self._tokens[self._place + 1 : self._place + 2]
            ]
            if is_whole and previous.kind == "number" and ahead == ["/"]:
                top, _, bottom = self._power(), self._next(), self._power()
                return self._count_node(Operation("+", node, Operation("/", top, bottom)))
            raise Unreadable(f"expected a sign before {token.text:.40}")
        return self._count_node(Operation("*", node, self._power()))

    def _juxtaposed(self) -> bool:
        """Return whether a factor follows that is joined without a sign."""
        token = self.now
        if token.kind == "number":
            return True
        if token.kind == "word":
            word = token.text.lower()
            ahead = self._tokens[self._place + 1].text
            minutes = word == "min" and ahead != "("
            named = (word in FUNCTIONS and not minutes) or word in CONSTANTS
            return named or (len(word) == 1 and word != "u") or _letters(token)
        if token.kind == "command":
            commands = ("frac", "sqrt", "binom", "lfloor", "lceil")
            return token.text in FUNCTIONS | CONSTANTS.keys() | GREEK or token.text in commands
        return token.text == "(" or (token.text == "{" and token.kind == "sign")

    def _signed(self) -> Node:
        """Read a factor that may have a sign of its own: 3 * -2."""
        if self._takes("-"):
            with _Deeper(self):
                return self._count_node(Operation("*", MINUS_ONE, self._signed()))
        return self._power()

    def _power(self) -> Node:
        """Read a thing with an exponent, factorials and percents behind it."""
        node = self._primary()
        while True:
            if self._takes("^", "**"):
                with _Deeper(self):
                    node = self._count_node(Operation("^", node, self._exponent()))
            elif self.now.text in ("!", "%") and self.now.kind in ("sign", "command"):
                self._signs += 1
                if self._signs > MOST_SIGNS:
                    raise Unreadable(f"expected at most {MOST_SIGNS} of ! and %")
                name = "factorial" if self._next().text == "!" else "%"
                node = self._count_node(Call(name, (node,)))
            else:
                return node

    def _exponent(self) -> Node:
        if self._takes("-"):
            with _Deeper(self):
                return self._count_node(Operation("*", MINUS_ONE, self._exponent()))
        return self._power()

    def _primary(self) -> Node:
        """Read a number, a name, a function or a bracket."""
        token = self._next()
        if token.kind == "number":
            return self._number(token.text)
        word = token.text
        if token.kind == "command":
            return self._command(word)
        if token.kind == "word":
            return self._word(word)
        if word in ("(", "["):
            return self._bracket(word)
        if word == "{":
            return self._braces("}")
        if word == "|" and not self._bars:
            self._bars += 1
            node = self.sum()
            self._bars -= 1
            self._must("|")
            return self._count_node(Call("abs", (node,)))
        raise Unreadable(f"expected a number or an expression, got {word or 'the end'!r:.40}")

    def _number(self, text: str) -> Node:
        """Read a number; ``1.5e3`` is the product that ``1.5*10^3`` is."""
        mantissa, _, exponent = text.lower().partition("e")
        _, _, behind = mantissa.partition(".")
        node = self._count_node(Number(Fraction(mantissa.rstrip(".")), len(behind) or None))
        if not exponent:
            return node
        power = Operation("^", Number(Fraction(10)), Number(Fraction(int(exponent))))
        return self._count_node(Operation("*", node, self._count_node(power)))

    def _command(self, word: str) -> Node:
        """Read what a command of LaTeX begins."""
        if word in ("frac", "binom"):
            top, bottom = self._argument(), self._argument()
            pair = Operation("/", top, bottom) if word == "frac" else Call("binom", (top, bottom))
            return self._count_node(pair)
        if word == "sqrt" and self._takes("["):
            index = self.sum()
            self._must("]")
            return self._count_node(Call("root", (self._argument(), index)))
        if word == "sqrt":
            return self._count_node(Call("sqrt", (self._argument(),)))
        if word in ("lfloor", "lceil"):
            node = self.sum()
            self._must(CLOSING[word])
            return self._count_node(Call("floor" if word == "lfloor" else "ceil", (node,)))
        if word == "{":
            return self._braces("}", escaped=True)
        if word in ("emptyset", "varnothing"):
            return Group("set", ())
        if word in FUNCTIONS or word in CONSTANTS:
            return self._word(word)
        if word in GREEK:
            return self._count_node(Name(word))
        raise Unreadable(f"expected a known command, got \\{word:.40}")

    def _word(self, word: str) -> Node:
        """Read a name or a call of a function."""
        low = word.lower()
        if low in FUNCTIONS:
            return self._called(low)
        if low in CONSTANTS:
            return self._count_node(Name(CONSTANTS[low]))
        if len(word) == 1:
            return self._subscripted(word)
        if _letters(Token("word", word, False)):  # The others are factors that follow.
            self._place -= 1
            self._tokens[self._place] = Token("word", word[1:], False)
            return self._count_node(Name(word[0]))
        raise Unreadable(f"expected mathematics, got the word {word!r:.40}")

    def _subscripted(self, word: str) -> Node:
        """Read a letter with what stands below it: ``a_1``."""
        if self._takes("_"):
            braced = self._takes("{")
            word = f"{word}_{self._next().text}"
            if braced:
                self._must("}")
        return self._count_node(Name(word))

    def _called(self, name: str) -> Node:
        """Read the arguments of a function."""
        power: Node | None = None
        if self._takes("^"):
            power = self._argument()
        if self._takes("("):
            arguments = [self.sum()]
            while self._takes(","):
                arguments.append(self.sum())
            self._must(")")
            if name == "fraction" and len(arguments) == 2:  # as Python shows one
                return self._count_node(Operation("/", *arguments))
            node = self._count_node(Call(name, tuple(arguments)))
        else:
            node = self._count_node(Call(name, (self._argument(),)))
        return node if power is None else self._count_node(Operation("^", node, power))

    def _argument(self) -> Node:
        """Read what a command takes: a group in braces, or one digit or thing."""
        with _Deeper(self):
            if self._takes("{"):
                node = self.sum()
                self._must("}")
                return node
            token = self.now
            if token.kind == "number" and token.text.isdigit() and len(token.text) > 1:
                # \frac12 is a half: a command takes one digit.
                first, tail = token.text[0], token.text[1:]
                self._tokens[self._place] = Token("number", tail, False)
                return self._count_node(Number(Fraction(first)))
            return self._primary()

    def _bracket(self, opening: str) -> Node:
        """Read an expression in brackets, a pair, or an interval."""
        with _Deeper(self):
            items = [self.sum()]
            while self._takes(",", ";"):
                items.append(self.sum())
            closing = self._next().text
            if closing not in (")", "]"):
                raise Unreadable(f"expected a closing bracket, got {closing or 'the end'!r:.40}")
            if len(items) > 1:
                return self._count_node(Group(opening + closing, tuple(items)))
            if opening + closing not in ("()", "[]"):
                raise Unreadable(f"expected brackets that pair, got {opening + closing}")
            return items[0]

    def _braces(self, closing: str, escaped: bool = False) -> Node:
        """Read a set, or a group of LaTeX."""
        with _Deeper(self):
            if escaped and self._takes(closing):
                return Group("set", ())
            items = [self._item()]
            while self._takes(",", ";"):
                items.append(self._item())
            self._must(closing)
            if len(items) == 1 and not escaped:
                return items[0]
            return self._count_node(Group("set", tuple(items)))

    # -- tokens ---------------------------------------------------------------------------------

    def _next(self) -> Token:
        token = self.now
        self._place += token.kind != "end"
        return token

    def _takes(self, *signs: str) -> bool:
        """Go past one of some signs, if it is next."""
        if self.now.kind in ("sign", "command") and self.now.text in signs:
            self._place += 1
            return True
        return False

    def _takes_word(self, *words: str) -> bool:
        """Go past one of some words, if it is next."""
        if self.now.kind in ("word", "text") and self.now.text in words:
            self._place += 1
            return True
        return False

    def _must(self, sign: str) -> None:
        if not self._takes(sign):
            raise Unreadable(f"expected {sign!r}, got {self.now.text or 'the end'!r:.40}")

    def _is_relation(self) -> bool:
        return self.now.kind in ("sign", "command") and self.now.text in RELATIONS

    def _count_node(self, node: Node) -> Node:
        """Count a part of the tree."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise Unreadable(f"expected at most {MOST_NODES} parts")
        return node

    def deeper(self, by: int) -> None:
        """Go into a bracket, or out of it."""
        self._depth += by
        if self._depth > DEEPEST:
            raise Unreadable(f"expected at most {DEEPEST} brackets inside one another")


def _letters(token: Token) -> bool:
    """Return whether a short word is a product of letters: the xy of 2xy."""
    word = token.text
    return not token.spaced and len(word) <= 3 and word.islower() and word not in UNITS


def _is_function_of(node: Node) -> bool:
    """Return whether a node is what stands before an equals sign: ``f(x)``."""
    return (
        isinstance(node, Operation)
        and node.sign == "*"
        and isinstance(node.left, Name)
        and isinstance(node.right, Name)
    )


class _Deeper:
    """Counts the depth of what is read inside it."""

    def __init__(self, parser: _Parser) -> None:
        self._parser = parser

    def __enter__(self) -> None:
        self._parser.deeper(1)

    def __exit__(self, *_: object) -> None:
        self._parser.deeper(-1)
