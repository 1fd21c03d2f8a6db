"""Mathematics with tools: a calculator, and Python in a sandbox.

What the folder holds:

- ``env.py``, ``tools.py``: the Gymnasium environment, an environment of tools; calculator and
  Python
- ``tasks.py``, ``problem.py``: problems as tasks: splits and ids; what a problem is
- ``engine/tokens.py``, ``parser.py``, ``tree.py``: from text to a tree
- ``engine/exact.py``, ``symbolic.py``, ``equivalence.py``: fractions; what sympy decides; whether
  two answers are one
- ``experts/``: ``programmer.py``, ``calculating.py`` and ``lazy.py`` read what tools show,
  ``oracle.py`` knows the answer
- ``generator/``: ``arithmetic.py``, ``numbers.py`` and ``algebra.py`` draw problems, ``config.py``
  says which
- ``official/``: data sets of others: found and read

To add one of these, touch these files:

- a kind of problem of MathPython: a function of draw and level in
  ``agentgym/envs/mathpython/generator/``, its name in ``KINDS`` of ``config.py`` there, its row on
  the family's page
"""
