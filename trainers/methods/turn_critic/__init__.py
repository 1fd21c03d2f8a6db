"""Critics of turns: they score actions that the policy could have taken in a state.

To add a kind, touch these files:

- a signal with its sizes in ``trainers/algorithms/``
- a subclass of ``TurnCritic`` in a file of this folder, and its line in ``make_turn_critic``
- ``settings.py``: its updates in ``UPDATES``
"""
