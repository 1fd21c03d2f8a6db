"""Specifications that a little grammar draws: some make sense, some do not."""

from __future__ import annotations

import random
from typing import Any


def drawn(seed: int) -> dict[str, Any]:
    """Draw a specification."""
    return _Draw(random.Random(seed)).specification(f"drawn-{seed}")


class _Draw:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        kinds = rng.sample(["cat", "box", "room"], rng.randint(1, 2))
        self.kinds = {kind: self._kind(kind) for kind in kinds}
        self.effects: list[str] = []
        self.facts = {f"f{n}": self._fact() for n in range(rng.randint(1, 4))}

    def specification(self, name: str) -> dict[str, Any]:
        rng = self.rng
        tools = {f"do{n}": self._tool() for n in range(rng.randint(3, 6))}
        tells = [self._tell(fact) for fact in self.facts]
        goals = [self._goal() for _ in range(rng.randint(1, 3))]
        turns = rng.choice([[1, 8], [1, 8], [1, 8], [2, 10]])
        return {
            "name": name, "summary": "Whatever a grammar draws.", "types": self.kinds,
            "facts": self.facts, "tools": tools, "observe": {"start": tells}, "goals": goals,
            "tasks": {"goals": [1, rng.randint(1, 2)], "turns": turns, "horizon": 25},
        }  # fmt: skip

    def _kind(self, kind: str) -> dict[str, Any]:
        names = [f"{kind}-{letter}" for letter in "abcdefgh"[: self.rng.randint(3, 8)]]
        return {"names": names, "count": sorted(self.rng.choices((1, 2, 3), k=2))}

    def _fact(self) -> dict[str, Any]:
        rng, kinds = self.rng, [*self.kinds]
        fact: dict[str, Any] = {"of": rng.choice(kinds)}
        values = rng.choice([None, ["low", "mid", "high"], ["low", "high"], [rng.choice(kinds)]])
        if values:
            fact["is"] = values
        if rng.random() < 0.15:
            fact["hidden"] = True
        return fact

    def _values(self, name: str, variables: dict[str, str]) -> list[str]:
        values = self.facts[name].get("is", ["'yes'", "'no'"])
        names = [variable for variable, kind in variables.items() if kind in values]
        return names if values[0] in self.kinds else values

    def _about(self, name: str, variables: dict[str, str]) -> str:
        kind = self.facts[name]["of"]
        return f"{name}({next(variable for variable, of in variables.items() if of == kind)})"

    def _draw_fact(self, variables: dict[str, str], signs: tuple[str, ...] = ("=",)) -> str:
        """Draw a fact; now and then one that means nothing."""
        usable = [
            name for name, fact in self.facts.items()
            if fact["of"] in variables.values() and self._values(name, variables)
        ]  # fmt: skip
        if not usable or self.rng.random() < 0.01:
            return "f9(x) = nowhere"
        name = self.rng.choice(usable)
        value = self.rng.choice(self._values(name, variables))
        return f"{self._about(name, variables)} {self.rng.choice(signs)} {value}"

    def _variables(self) -> dict[str, str]:
        return {kind[0]: kind for kind in self.kinds}

    def _tool(self) -> dict[str, Any]:
        rng, takes = self.rng, self._variables()
        tool: dict[str, Any] = {"does": "Do something.", "takes": takes}
        tool["when"] = [self._draw_fact(takes, ("=", "=", "!=")) for _ in range(rng.randint(0, 1))]
        if rng.random() < 0.25:
            percent = rng.choice([50, 70, 90])
            tool["chance"] = [
                {"percent": percent, "then": [self._draw_fact(takes)], "answer": "It works."},
                {"percent": 100 - percent, "answer": "Nothing happens."},
            ]
        else:
            tool["then"] = [self._draw_fact(takes) for _ in range(rng.randint(1, 2))]
            tool["answer"] = "Done."
        self.effects += tool.get("then") or tool["chance"][0]["then"]
        return tool

    def _tell(self, fact: str) -> dict[str, Any]:
        return {"each": {"x": self.facts[fact]["of"]}, "tell": f"{fact} of {{x}}: {{{fact}(x)}}"}

    def _goal(self) -> dict[str, Any]:
        variables = self._variables()
        # What a tool can bring about, mostly: else nearly every goal would be out of reach.
        likely = self.rng.random() < 0.8
        effect = (
            self.rng.choice(self.effects) if likely else self._draw_fact(variables, ("=", "!="))
        )
        want = list(
            dict.fromkeys([effect, *self.rng.choices(self.effects, k=self.rng.randint(0, 1))])
        )
        holes = ", ".join(f"{{{name}}}" for name in variables)
        return {"each": variables, "want": want, "words": f"{' and '.join(want)} of {holes}"}
