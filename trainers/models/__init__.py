"""Models: loading a policy, the tiny model, supervised training.

To add one of these, touch these files:

- a way to merge policies: its formula and its name in ``MergeMethod`` of
  ``trainers/models/merging.py``, numbers worked by hand in
  ``tests/trainers/models/test_merging.py``
"""
