"""Parts of TextWorld's generator that are replaced while it runs, and why.

The generator is deterministic in its seeds but for a few leaks, and slow for two reasons that do
not affect the result:

* it parses its knowledge base for each game (five sixths of the time that a small game takes), and
  the text grammars of each challenge, most of which are the same (half a second);
* three challenges compile the game to a story file and play it, to learn the actions of their
  walkthrough (0.6 s, and a compiler that must run on the machine). The game's rules, which
  TextWorld's tracker applies there, give the same actions without a story file.

Replacements last for a ``with`` block, and :data:`lock` admits one game at a time.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from agentgym.core.tasks import canonical_json
from agentgym.errors import ConfigurationError, require

lock = threading.RLock()
"""Held while TextWorld's generator runs."""

_knowledge: dict[tuple[str, str], Any] = {}
_documents: dict[str, str] = {}
_grammars: dict[str, Any] = {}


def load_textworld() -> ModuleType:
    """Import ``textworld``, without leaving traces in numpy's global generator.

    Raises:
        DependencyNotInstalled: The package is missing.
        ConfigurationError: It was imported in a directory with a folder ``textworld_data``, whose
            rules would replace its own.
    """
    state = np.random.get_state()  # at import textworld seeds its generator from numpy's
    try:
        require("textworld.challenges", "textworld")
        data = require("textworld.generator.data", "textworld")
        textworld = require("textworld", "textworld")
    finally:
        np.random.set_state(state)
    if data.KnowledgeBase.default().logic_path != data.LOGIC_DATA_PATH:
        raise ConfigurationError(
            "expected textworld to use its own rules, but it took those of the folder "
            f"{data.KnowledgeBase.default().logic_path!r} in the working directory; start from "
            "another directory"
        )
    return textworld


@contextmanager
def preserve_generators(textworld: ModuleType, seed: int) -> Iterator[None]:
    """Seed TextWorld's own generator, and put every global generator back afterwards."""
    generator_state = dict(vars(textworld.g_rng))
    states = random.getstate(), np.random.get_state()
    textworld.g_rng.set_seed(seed)
    try:
        yield
    finally:
        vars(textworld.g_rng).update(generator_state)
        random.setstate(states[0])
        np.random.set_state(states[1])


@contextmanager
def shared_grammars() -> Iterator[None]:
    """Let challenges share the parsed form of the text grammars that they have in common."""
    from textworld.textgen import TextGrammar

    original = vars(TextGrammar)["parse"]
    parse_anew = TextGrammar.parse

    def parse(text: str, filename: str | None = None) -> Any:
        if text not in _grammars:
            _grammars[text] = parse_anew(text, filename)
        return _grammars[text]

    TextGrammar.parse = staticmethod(parse)
    try:
        yield
    finally:
        TextGrammar.parse = original


@contextmanager
def patched_challenge(textworld: ModuleType, make: Callable[..., Any]) -> Iterator[None]:
    """Let a challenge take its knowledge base from memory and its walkthrough from the rules."""
    scope: dict[str, Any] = make.__globals__
    original, maker = scope["KnowledgeBase"], textworld.GameMaker
    walk = maker.set_walkthrough
    scope["KnowledgeBase"] = type("KnowledgeBase", (), {"load": staticmethod(load_knowledge)})
    maker.set_walkthrough = _set_walkthrough
    try:
        yield
    finally:
        scope["KnowledgeBase"] = original
        maker.set_walkthrough = walk


def load_knowledge(
    target_dir: str | None = None, logic_path: str | None = None, grammar_path: str | None = None
) -> Any:
    """Do what ``KnowledgeBase.load`` does, once for each set of files.

    A knowledge base is not changed by use: TextWorld itself shares its default one. Unlike the
    original this does not prefer a folder ``textworld_data`` in the working directory.
    """
    from textworld.generator import data as builtin

    if target_dir:
        logic_path, grammar_path = f"{target_dir}/logic", f"{target_dir}/text_grammars"
    logic_path = logic_path or builtin.LOGIC_DATA_PATH
    grammar_path = grammar_path or builtin.TEXT_GRAMMARS_PATH
    default = builtin.KnowledgeBase.default()  # parsed when textworld was imported
    if (logic_path, grammar_path) == (default.logic_path, default.text_grammars_path):
        return default
    key = (logic_path, grammar_path)
    if key not in _knowledge:
        load = builtin.KnowledgeBase.load
        _knowledge[key] = load(logic_path=logic_path, grammar_path=grammar_path)
    return _knowledge[key]


def chaining_that_ends_by(*rules: str) -> Any:
    """Return options of TextWorld's search for quests that admit only some rules as last action.

    ``rules_per_depth``, which says this, is set by ``textworld.generator.make_game`` itself, so it
    cannot be given. Quests are searched backwards: depth 0 is their end.
    """
    from textworld.generator import ChainingOptions

    class Ending(ChainingOptions):
        def get_rules(self, depth: int) -> Any:
            return super().get_rules(depth) if depth else self.kb.rules.get_matching(*rules)

    return Ending()


class RuleTracker:
    """Play commands by the rules of a game."""

    def __init__(self, game: Any) -> None:
        from textworld.generator.game import GameProgression
        from textworld.generator.inform7 import Inform7Game

        self.progress = GameProgression(game)
        self._speech = Inform7Game(game)

    def policy(self) -> list[str]:
        """Return the commands of TextWorld's plan from here; none where it has none."""
        return list(self._speech.gen_commands_from_actions(self.progress.winning_policy or ()))

    def find(self, command: str) -> Any:
        """Return the action of a command, or None; of several the one with most preconditions."""
        actions = sorted(self.progress.valid_actions, key=lambda a: -len(a.preconditions))
        commands = self._speech.gen_commands_from_actions(actions)
        return actions[commands.index(command)] if command in commands else None


def _set_walkthrough(maker: Any, commands: list[str]) -> None:
    """Do what ``GameMaker.set_walkthrough`` does, without a story file.

    The original notes for each event the actions up to it, as the tracker of a running story has
    them: after a command that does nothing, the action before it once more.
    """
    maker._working_game = maker.build()
    walk = RuleTracker(maker._working_game)
    trackers = [event for quest in walk.progress.quest_progressions for event in quest.win_events]
    events = [event for quest in maker.quests for event in quest.win_events]
    actions: list[Any] = []
    completions: dict[int, tuple[list[Any], list[str]]] = {}
    for number, command in enumerate(commands, start=1):
        if walk.progress.done:
            raise ValueError("Game has ended before finishing playing all commands.")
        triggered_before = [tracker.triggered for tracker in trackers]
        action = walk.find(command)
        if action is not None:
            walk.progress.update(action)
        actions.append(action or (actions[-1] if actions else None))
        for row, tracker in enumerate(trackers):
            if tracker.triggered and not triggered_before[row]:
                completions[row] = (list(actions), commands[:number])
    for row, (is_completed, typed) in completions.items():
        events[row].actions, events[row].commands = is_completed, typed


def normalise(data: dict[str, Any], kb: Any) -> dict[str, Any]:
    """Sort, in place, the parts whose order depends on a hash seed or a file system."""
    data["KB"] = {"logic": _document(kb.logic_path), "text_grammars_path": ""}
    data["grammar"]["names_to_exclude"] = []  # used while names are given, never by a game
    for quest in data["quests"]:
        quest["fail_events"].sort(key=canonical_json)
    return data


def _document(folder: str) -> str:
    """Return the files of a knowledge base in the order of their names."""
    if folder not in _documents:
        files = sorted(Path(folder).glob("*.twl"))
        _documents[folder] = "".join(file.read_text(encoding="utf-8") + "\n" for file in files)
    return _documents[folder]
