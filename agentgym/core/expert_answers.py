"""What the experts of a family answer about a state, asked at most once a state."""

from __future__ import annotations

from typing import Any

import gymnasium

from agentgym.core.extensions import ExtendedLanguage, Extensions
from agentgym.core.family_contract import FamilyContract
from agentgym.core.language import Language
from agentgym.core.oracle import DemonstratorPolicy, OraclePolicy
from agentgym.core.returned_values import checked_number, checked_text


class ExpertAnswers(FamilyContract, gymnasium.Env[str, str]):
    """The part of `TextEnv` that asks a family for its experts' actions and its potential."""

    spoken: Language | ExtendedLanguage
    extensions: Extensions
    _expert_answers: dict[str, Any]
    """Answers about the present state, by method; `TextEnv` empties it when the state changes."""

    def potential(self) -> float:
        """Return phi of the present state, for potential-based shaping."""
        return checked_number(self, "_potential", self._ask_once("_potential"))

    def oracle(self) -> OraclePolicy:
        """Return the oracle policy, which plays the solver's actions."""
        return OraclePolicy(self)

    def demonstrator(self) -> DemonstratorPolicy:
        """Return the policy of the demonstrator, chosen by ``expert=``, which may make mistakes."""
        return DemonstratorPolicy(self)

    def oracle_action(self) -> str | None:
        """Return the solver's next action in this environment's grammar, or None."""
        return self._spoken_action("_oracle_action")

    def demonstrator_action(self) -> str | None:
        """Return the demonstrator's next action in this environment's grammar, or None."""
        return self._spoken_action("_demonstrator_action")

    def plan_horizon(self, plan: int | None) -> int | None:
        """Return the turn budget whose first try has room for a plan of some number of actions."""
        turns = self.extensions.turns(plan)
        return turns and self.extensions.horizon(turns)

    def _spoken_action(self, method: str) -> str | None:
        """Call an expert's method, and write its action in this environment's grammar."""
        action = self._ask_once(method)
        if action is None:
            return None
        return self.spoken.write(self.extensions.expert(checked_text(self, method, action)))

    def _ask_once(self, method: str) -> Any:
        """Call a method of the family, and cache its result for this state: experts can be slow."""
        if method not in self._expert_answers:
            self._expert_answers[method] = getattr(self, method)()
        return self._expert_answers[method]
