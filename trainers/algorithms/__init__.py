"""Credit, losses, filters, schedules and sampling of multi-turn agentic RL, in numpy alone.

Data flows one way: a packed ``batch``, the ``signals`` in it, their ``advantage``, the weights of
the ``loss``. ``presets`` names the combinations that papers made of them. The trainer consumes
three arrays from here: advantages, weights and a train mask.

To add one of these, touch these files:

- a preset of existing parts: a row in ``trainers/algorithms/core_presets.py``; for your own preset:
  none, pass ``--preset-file``
- a part of presets: its class in ``trainers/algorithms/``, its name in ``SUPPLIED`` of
  ``trainers/config/preset_file.py``
- a rule that decides where episodes are forked: a class of ``(turn, rise)`` and a row in
  ``FORK_RULES`` in ``trainers/methods/forks/branching.py``, and its name in ``parts`` of the
  ``method.py`` beside it
- a task sampler: a class of ``(n_tasks, seed)`` in ``trainers/algorithms/sampling.py``, a row in
  ``SAMPLERS`` there, its name in ``SamplerName`` of ``trainers/config/sections.py``
- a preference between episodes: its name in ``PreferredBy`` and its line in ``preferred_pairs``
  (``trainers/methods/reward_model/pairs.py``)
- an advantage of a critic's values: a ``ValueSignal`` in ``trainers/algorithms/gae.py``, its name
  in ``STEPS_OF_GAE`` of ``trainers/methods/critic/settings.py`` and in ``parts`` of the
  ``method.py`` beside it
"""
