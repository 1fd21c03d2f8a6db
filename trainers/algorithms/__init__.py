"""Credit, losses, filters, schedules and sampling of multi-turn agentic RL, in numpy alone.

Data flows one way: a packed ``batch``, the ``signals`` in it, their ``advantage``, the weights of
the ``loss``. ``presets`` names the combinations that papers made of them. The trainer consumes
three arrays from here: advantages, weights and a train mask.

To add one of these, touch these files:

- a preset of existing parts: a row in ``trainers/algorithms/core_presets.py``; for your own preset:
  none, pass ``--preset-file``
- a part of presets: its class in ``trainers/algorithms/``, its name in ``SUPPLIED`` of
  ``trainers/config/preset_file.py``
- a task sampler: a class of ``(n_tasks, seed)`` in ``trainers/algorithms/sampling.py``, a row in
  ``SAMPLERS`` there, its name in ``SamplerName`` of ``trainers/config/sections.py``
"""
