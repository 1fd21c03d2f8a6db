"""Database: answer questions about a database, or change it, by SQL.

Files:

- ``env.py``: the Gymnasium environment
- ``tasks.py``: tasks and splits, generated or read from a file
- ``engine/session.py``, ``database.py``: one episode; the database and its limits
- ``engine/guard.py``, ``growth.py``, ``clock.py``: refused SQL; the expanded size of statements;
  functions of time with a fixed current moment
- ``engine/tables.py``, ``answers.py``, ``table_hash.py``: tables and columns; comparison of
  answers; AgentBench's hash
- ``experts/``: ``reader.py``, ``guessing.py``, ``oracle.py``
- ``generator/``: ``config.py``, ``domains.py`` (subjects), ``asking.py`` and ``request.py``
  (requests in words and SQL), ``problems.py``
- ``official/``: AgentBench's rows
- ``own/``: the user's tables and questions about them
"""
