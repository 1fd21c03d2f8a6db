"""TextWorld: walk through rooms, open what is closed, take and bring things, cook a meal.

The games are those of TextWorld (Côté et al., 2018, arXiv:1806.11532), version 1.7: its generator,
its challenges and its rules. ``gym.make("agentgym/TextWorld-v0")`` plays a bundled set; other
settings and seeds are generated with the ``textworld`` package and kept in a cache.

Files:

- ``env.py``, ``tasks.py``, ``rewards.py``: the Gymnasium environment and its arguments; games as
  tasks; progress as reward
- ``record.py``: a game in compact form: each fact and action once, to JSON and back
- ``guessing.py``: the cook that mostly guesses the recipe
- ``sanitise.py``, ``session.py``: sanitising text to one command; the interface of an engine
- ``engine/``: the state machine, without text: rules are parsed (``rule_parser``, ``logic``), facts
  as bits, admissible actions (``commands``), quests with TextWorld's plan repair
  (``dependency_tree``); ``session.py`` joins it with ``inform/``
- ``inform/``: the text that the compiled game would print, from its parser (``parser``,
  ``line_parser``, ``nouns``) over refusals (``action_rules``) to reports (``narrator``)
- ``generator/``: difficulties and challenges, TextWorld's generator made reproducible, disjoint
  splits
- ``games/``: sets of games, the bundled ones, the cache on disk, files of your own and the check of
  their form
- ``original/``: compiled and verified story files, Jericho, the child process for other people's
  stories
"""

from __future__ import annotations
