"""Mathematics with tools: a calculator, and Python in a sandbox.

Files:

- ``env.py``, ``tools.py``: the Gymnasium environment, a tool environment; calculator and Python
- ``tasks.py``, ``problem.py``: problems as tasks: splits and ids; the problem class
- ``engine/spelling.py``, ``tokens.py``, ``parser.py``, ``tree.py``: from text to a tree
- ``engine/exact.py``, ``symbolic.py``, ``equivalence.py``, ``lowest.py``: fractions; comparisons by
  sympy; equivalence of answers; which answers are calculated values
- ``experts/``: ``programmer.py``, ``calculating.py`` and ``lazy.py`` read the tools' results,
  ``oracle.py`` knows the answer
- ``generator/``: ``arithmetic.py``, ``numbers.py`` and ``algebra.py`` draw problems, ``config.py``
  selects them
- ``official/``: reads published data sets

To add one of these, touch these files:

- a kind of problem of MathPython: a function of draw and level in
  ``agentgym/envs/mathpython/generator/``, its name in ``KINDS`` of ``config.py`` there, its row on
  the family's page
"""
