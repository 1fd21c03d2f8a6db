"""The prompts that a user can choose by name: built-in ones, and those of protocols."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentgym.conversation import BARE, DEFAULT, Layout, Prompt
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError
from agentgym.protocols.protocol_file import protocol_file, read_protocol
from agentgym.registration.making import resolve

HOUSE = {"default": DEFAULT, "bare": BARE}
"""The prompts of the suite, by name."""


@dataclass(frozen=True)
class NamedPrompt:
    """A layout with its name and the grammar that it requires."""

    name: str
    """What it is called."""
    layout: Layout
    """The layout."""
    grammar: str | None = None
    """The grammar in which it has actions written; None: any."""

    def at(self, env: TextEnv) -> Prompt:
        """Return it at an environment.

        Raises:
            ConfigurationError: Actions are written in another grammar there.
        """
        grammar = env.language.grammar
        if self.grammar not in (None, grammar):
            raise ConfigurationError(
                f"expected the grammar {self.grammar} of the prompt {self.name}, got {grammar}: "
                "leave the grammar out, or choose another prompt"
            )
        return Prompt.at(env, self.layout, self.name)


def find_prompt(prompt: str | Path, env: str) -> NamedPrompt:
    """Return the prompt of a name at an environment.

    Args:
        prompt: ``default``, ``bare``, the name of a protocol, or the path of the file of one.
        env: Short name, id or ``MODULE:ID`` of the environment.

    Raises:
        ConfigurationError: There is no such prompt, or it does not cover this environment.
        DataError: Its file cannot be read.
    """
    if str(prompt) in HOUSE:
        return NamedPrompt(str(prompt), HOUSE[str(prompt)])
    file = protocol_file(prompt, "a prompt", tuple(HOUSE))
    named = resolve(env)
    setup = read_protocol(file).setup(named.family, named.id)
    if setup.layout is None:
        raise ConfigurationError(
            f"expected a protocol that lays out prompts in {setup.env}, got {setup.protocol}, "
            f"which does not change them: choose another one, or {' or '.join(HOUSE)}"
        )
    return NamedPrompt(setup.protocol, setup.layout, setup.arguments.get("grammar"))
