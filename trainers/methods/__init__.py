"""Methods that a preset or a flag asks for: a folder each, with its credit, settings and models.

To add one, touch these files:

- its signal, settings and state: a folder ``trainers/methods/NAME``, on the map of CONTRIBUTING
- its preset: a row in ``trainers/algorithms/presets.py``; its signal in ``SUPPLIED`` of
  ``trainers/config/preset_file.py``
- its section of settings: a field of ``TrainConfig`` in ``trainers/config/schema.py``, its rows in
  ``agentgym/trust/table.py``
"""
