"""Optional methods of the trainer: a folder each, which nothing outside names.

``method.py`` of a folder holds its row of the table (``trainers/methods/table.py``): its presets,
its section of settings with their checks and defaults, and its part in a step.

To add one, touch these files:

- a folder ``trainers/methods/NAME`` with a ``METHOD`` in its ``method.py``, and its name in
  ``BUILT_IN`` of ``trainers/methods/table.py``
- for a method of your own: none, name a ``Method`` as an entry point of its name, of the group
  ``agentgym.methods``, in your package
"""
