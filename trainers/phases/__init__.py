"""A run, its phases (warm start, reinforcement learning, comparison), and several runs.

To add one of these, touch these files:

- a baseline of reinforcement learning: its name in ``BaselineName`` of
  ``trainers/config/sections.py``, its training in ``trainers/phases/baselines.py``, what it
  imitates in ``trainers/output/remarks.py``, its fields in ``summary.py`` and its colours in
  ``curve.py`` and ``report.html.j2`` beside it
- a teacher of rounds of imitation: its name in ``SftConfig.teacher`` of
  ``trainers/config/sections.py``, what is learnt in ``trainers/phases/imitation_rounds.py``
"""
