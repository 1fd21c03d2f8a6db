"""ALFWorld: household tasks in text, on a native engine or on the original.

Files:

- ``env.py``, ``tasks.py``: the environment; the task sets, generated and official
- ``session.py``: a game in play: engine, experts, forks
- ``engine/``: ``household`` (a game, parsed), ``state``, ``actions`` and ``goals`` (admissible
  actions, their effects, winning), ``session`` (commands in, text out), ``text`` and ``refusals``
  (every sentence), ``pddl``
- ``experts/``: ``oracle`` (the shortest plan, by ``plan_search``), ``searcher``, ``fixed_order``,
  ``hesitant``, ``doubting`` and ``trusting`` (which use ``reader``, what has been read), all on
  ``base``
- ``generator/``: ``config``, ``households`` (one game), ``room_layout``, ``problem`` (PDDL and
  sentence), ``rooms`` and ``object_tables`` (facts), ``named_draws``, ``writer``
- ``official/``: ``games`` (layouts of the data), ``folders``, ``packs``, ``gamefile``
- ``original/``: the original engine, here or in a process of its own, to compare with
"""
