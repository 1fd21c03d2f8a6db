"""The environment families, which follow one plan: who knows one finds the way in the others.

A family is a folder of this package and one row of :mod:`agentgym.registration` (those of other
distributions: one entry point). The folder holds,
under these names, as many of the following as the family has:

- ``env.py``: the :class:`~agentgym.core.TextEnv`: its arguments with their documentation, the
  action specs, and ``_start``, ``_act`` and their like, which ask the running session. ``_start``
  puts it into ``_session``; the property ``session`` gives it to tools.
- ``tasks.py``: the :class:`~agentgym.core.tasks.NumberedTasks`, and the function that chooses a set
  by the arguments of the environment (WebShop: ``shared_shop.py``, which also makes the shop).
- ``session.py``: what the environment asks of an episode, where several engines can play it.
- ``engine/``: the rules and every text of the game, in pure Python; ``engine/session.py`` is one
  episode, with ``snapshot`` and ``restore``. It knows nothing of tasks, rewards or Gymnasium.
- ``experts/``: ``base.py`` (what experts share), ``oracle.py`` (knows hidden state), one file for
  each other demonstrator; ``EXPERTS`` maps the names of experts to what makes them.
- ``generator/``: seeded tasks without data; ``config.py`` has ``GeneratorConfig``, whose ``of``
  takes a name or a config. ``GENERATOR_VERSION`` is raised when a seed would give another task.
- ``official/``: reading and checking the published data, which nobody needs for the above
  (TextWorld: ``games/``, the bundled games and files of one's own).
- ``original/``: the original engine behind the same session, to compare with and never by default.
- ``subcommands.py``: what the family adds to ``agentgym``: a dataclass of arguments and a function
  for each, which imports what is heavy when it runs.
- ``README.md``: the family's page: example, arguments with defaults, tasks, experts. The docstring
  of the package says what each file holds.

What is the same thing has the same argument in every family that has it:

- ``data``: where tasks come from in place of what the package brings: a path, or the name of a
  published set. Search keeps two words, since any ``questions`` can be asked of any ``corpus``;
  ``world`` with ``tasks`` of WebShop are objects that a program has made.
- ``difficulty``: how large and how hard generated tasks are, by a name or a ``GeneratorConfig``;
  ``generator_seed``: another set of such tasks, where seeds are not part of their ids.
- ``expert``: who demonstrates; ``oracle`` knows hidden
  state, the names of others say how they act.
- ``reward``: what turns pay; ``sparse`` is 1 for a task that is solved, else 0.
- ``engine``: what plays the game; ``index``: what searches; ``sandbox``: where commands run.
- ``max_observation_chars`` and ``show_admissible``: what an observation holds.

Choices are tuples or tables beside what they choose (``ENGINES``, ``REWARDS``, ``EXPERTS``) and are
checked by :mod:`agentgym.core.options`. Stored plans and indices go through
:mod:`agentgym.support.caching`. A family imports no other family, and nothing that plays one.

What families share stands beside this file: ``session_env.py`` (an environment that travels without
its session, or opens and closes one for each episode), ``problem_tasks.py`` (tasks of generated
problems and of files), ``kinds_config.py`` (difficulties that name kinds of tasks) and
``hesitation.py`` (the habit of a demonstrator that wastes turns).

To add one of these, touch these files:

- an environment family: ``agentgym/envs/<family>/`` (``agentgym/envs/__init__.py`` describes the
  plan), a row in ``agentgym/registration.py``, the room on the map above, its arguments in
  ``tests/contract/choices.py``; for its own training defaults a row in
  ``trainers/config/family_defaults.py`` and a paragraph on what is learnt. ``agentgym doctor``,
  Inspect and the site read the row; README, ``agentgym/README.md`` and CHANGELOG name families by
  hand. If its task names or choices differ from most, the contract says how: ``SHORT``, ``COUNTS``
  and the last test of ``test_blind.py``, the counts at the top of ``test_scores.py``
- a subcommand of a family: a tuple of ``Subcommand`` in ``subcommands.py`` in its folder;
  ``subcommands=`` in its row in ``agentgym/registration.py``
- a blind policy of a family: its name and what makes it in ``blind_policies`` of the environment;
  the name begins with ``blind-``
- a reading policy of a family, without the solution: likewise, in ``reading_policies``, under any
  other name
- a demonstrator: a file in a family's ``experts/`` and a row in ``EXPERTS`` there (TextWorld: in
  ``games/game_set.py``); one of WebShop's that may fail also goes into ``FALLIBLE``
"""
