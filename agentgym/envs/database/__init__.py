"""Database: answer questions about a database, and change it, by SQL.

What the folder holds:

- ``env.py``: the Gymnasium environment
- ``tasks.py``: tasks and splits, generated or of a file
- ``engine/session.py``, ``database.py``: one episode; the database, and what bounds it
- ``engine/guard.py``, ``growth.py``, ``clock.py``: what SQL may not do; what it may come to;
  functions of time without a now
- ``engine/tables.py``, ``answers.py``, ``table_hash.py``: tables and columns; whether an answer is
  right; AgentBench's hash
- ``experts/``: ``reader.py``, ``guessing.py``, ``oracle.py``
- ``generator/``: ``config.py``, ``domains.py`` (what there is), ``asking.py`` and ``request.py``
  (what is asked, in words and SQL), ``problems.py``
- ``official/``: AgentBench's rows
- ``own/``: tables of the user's own, and questions about them
"""
