"""The multi-turn trainer on TRL: its steps, its advantages and its loss.

To add one of these, touch these files:

- a ratio, a clip, a term of the loss: its setting in ``trainers/algorithms/loss.py``, its line in
  ``token_losses`` (``trainers/grpo/objective.py``), numbers worked by hand in
  ``tests/trainers/grpo/test_token_losses.py``
- what only some methods do in a step: a hook of ``StepPart`` (``trainers/grpo/step_part.py``) in a
  folder of ``trainers/methods/``; with weights of its own, a subclass of ``OwnWeights``
  (``trainers/methods/own_weights.py``)
"""
