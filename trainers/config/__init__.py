"""The settings of a run, and the one place that decides those which were left open.

``model_files`` is what is known of a model before it loads.

To add one of these, touch these files:

- a flag for a part: its setting in ``RlConfig`` of ``trainers/config/sections.py``, what it changes
  in ``preset_knobs.py`` beside it
- a unit of the budget: its field in ``trainers/config/budget.py``, its count in
  ``trainers/phases/spending.py``
"""
