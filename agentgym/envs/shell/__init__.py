"""Shell: answer questions about files, or change them, by commands in a sandbox.

Files:

- ``env.py``: the Gymnasium environment
- ``tasks.py``: tasks and splits, generated or read from a file
- ``engine/session.py``: one episode, its sandbox, and the judge
- ``engine/patterns.py``: regular expressions of rows, matched in a process that can be ended
- ``experts/``: ``reader.py``, ``guessing.py``, ``oracle.py``
- ``generator/``: ``config.py``, ``problems.py``
- ``official/``: AgentBench's rows
"""
