"""Forks: episodes of a group go on several times from the same state.

To add a rule that decides where episodes are forked: a class of ``(turn, rise)`` and a row in
``FORK_RULES`` in ``branching.py``, and its name in ``parts`` of ``method.py``.
"""
