"""A critic: values of tokens or turns, which advantages are estimated with.

To add a kind of critic, touch these files:

- ``critic.py``: a subclass of ``Critic`` and its line in ``make_critic``
- ``settings.py``: its name in ``kind`` and ``UPDATES``
"""
