"""A reward model that learns preferences between episodes and pays turns.

To add a preference between episodes: its name in ``PreferredBy`` and its line in
``preferred_pairs`` (``pairs.py``).
"""
