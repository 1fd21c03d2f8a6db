"""Shell: answer questions about files, and change them, by commands in a box.

What the folder holds:

- ``env.py``: the Gymnasium environment
- ``tasks.py``: tasks and splits, generated or of a file
- ``engine/session.py``: one episode, its box, and what is judged
- ``experts/``: ``reader.py``, ``guessing.py``, ``oracle.py``
- ``generator/``: ``config.py``, ``problems.py``
- ``official/``: AgentBench's rows
"""
