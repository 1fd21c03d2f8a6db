"""The environment families, all laid out in the same way.

A family is a folder of this package and one row of :mod:`agentgym.registration` (in another
distribution: one entry point). The folder contains whichever of these files the family needs:

- ``env.py``: the :class:`~agentgym.core.TextEnv`: its documented arguments, the action specs, and
  hooks such as ``_start`` and ``_act``, which call the running session. ``_start`` stores the
  session in ``_session``; tools read it from the property ``session``.
- ``tasks.py``: the :class:`~agentgym.core.tasks.NumberedTasks`, and the function that selects a set
  from the arguments of the environment (WebShop: ``shared_shop.py``, which also makes the shop).
- ``session.py``: the interface of an episode, if several engines can play it.
- ``engine/``: the rules and all texts of the game, in pure Python; ``engine/session.py`` is one
  episode, with ``snapshot`` and ``restore``. It does not depend on tasks, rewards or Gymnasium.
- ``experts/``: ``base.py`` (shared code), ``oracle.py`` (reads hidden state), one file for each
  other demonstrator; ``EXPERTS`` maps the names of experts to their factories.
- ``generator/``: seeded tasks without data; ``config.py`` defines ``GeneratorConfig``, and its
  method ``of`` takes a name or a config. Raise ``GENERATOR_VERSION`` if a seed gives another task.
- ``official/``: reads and checks the published data, which is optional (TextWorld: ``games/``, the
  bundled games and the user's files).
- ``original/``: the original engine behind the same session, for comparison; never the default.
- ``subcommands.py``: the family's subcommands of ``agentgym``: a dataclass of arguments and a
  function for each, which imports heavy packages only when it runs.
- ``README.md``: the family's page: example, arguments with defaults, tasks, experts. The docstring
  of the package describes each file.

Arguments have the same name and meaning in every family:

- ``data``: the source of tasks, if not the package: a path, or the name of a published set. Search
  has two arguments, since any ``questions`` can be combined with any ``corpus``; ``world`` and
  ``tasks`` of WebShop are Python objects.
- ``difficulty``: size and difficulty of generated tasks, by a name or a ``GeneratorConfig``;
  ``generator_seed`` selects another set of such tasks; it is not part of their ids.
- ``expert``: the demonstrator; ``oracle`` reads hidden state, the other names describe how the
  expert acts.
- ``reward``: what a turn earns; ``sparse`` is 1 for a solved task, else 0.
- ``engine``: what plays the game; ``index``: what searches; ``sandbox``: where commands run.
- ``max_observation_chars`` and ``show_admissible``: what an observation contains.

Allowed values are tuples or tables beside the code that uses them (``ENGINES``, ``REWARDS``,
``EXPERTS``), checked by :mod:`agentgym.core.options`. Plans and indices are cached through
:mod:`agentgym.support.caching`. A family never imports another family, nor code that plays one.

Shared code is beside this file: ``session_env.py`` (environments that are pickled without their
session, or open and close one per episode), ``problem_tasks.py`` (tasks of generated problems and
of files), ``kinds_config.py`` (difficulties that list kinds of tasks) and ``hesitation.py`` (a
demonstrator that wastes turns).

To add one of these, touch these files:

- an environment family: ``agentgym/envs/<family>/`` (``agentgym/envs/__init__.py`` describes the
  plan), a row in ``agentgym/registration/families.json``, the room on the map above, its arguments
  in ``tests/contract/choices.py``; for its own training defaults a row in
  ``trainers/config/family_recipes.yaml`` and a paragraph on what is learnt. ``agentgym doctor``,
  Inspect and the site read the row; README, ``agentgym/README.md`` and CHANGELOG name families by
  hand. If its task names or choices differ from most, the contract says how: ``SHORT``, ``COUNTS``
  and the last test of ``test_blind.py``, the counts at the top of ``test_scores.py``
- a subcommand of a family: a tuple of ``Subcommand`` in ``subcommands.py`` in its folder;
  ``subcommands=`` in its row in ``agentgym/registration/families.json``
- a blind policy of a family: its name and what makes it in ``blind_policies`` of the environment;
  the name begins with ``blind-``
- a reading policy of a family, without the solution: likewise, in ``reading_policies``, under any
  other name
- a demonstrator: a file in a family's ``experts/`` and a row in ``EXPERTS`` there (TextWorld: in
  ``games/game_set.py``); one of WebShop's that may fail also goes into ``FALLIBLE``
"""
