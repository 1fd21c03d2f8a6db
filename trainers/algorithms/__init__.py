"""Credit, losses, filters, schedules and sampling of multi-turn agentic RL, in numpy alone.

Data flows one way: a packed ``batch``, the ``signals`` in it, their ``advantage``, the weights of
the ``loss``. ``presets`` names the combinations that papers made of them. The trainer consumes
three arrays from here: advantages, weights and a train mask.
"""
