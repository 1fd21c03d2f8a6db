"""A critic: values of tokens or turns, which advantages are estimated with.

To add a kind of critic, touch these files:

- ``critic.py``: a subclass of ``Critic`` and its line in ``make_critic``
- ``settings.py``: its name in ``kind`` and ``UPDATES``

To add an advantage of its values: a ``ValueSignal`` in ``gae.py``, its name in ``STEPS_OF_GAE`` of
``settings.py`` and in ``parts`` of ``method.py``.
"""
