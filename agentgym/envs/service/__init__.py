"""Service: serve a customer by tools, under a written policy, in a conversation.

The form of the tasks is that of tau-bench (Yao et al., 2024, arXiv:2406.12045): an agent with a
dozen tools over a small database, a policy, and a simulated customer who tells what they want piece
by piece and may ask for what the policy forbids. All policies, data and texts are our own. The
customer is a seeded program, and success is the state of the database and what the agent said.
The tasks of tau-bench and tau2-bench can be read from their files.

Files:

- ``env.py``, ``tasks.py``: the environment; the task sets
- ``offers.py``: the admissible actions, a sample
- ``voice.py``: a language model that words what the customer says, or plays the customer
- ``engine/``: ``domain`` (tools, rules and wording of a domain), ``problem`` (one task),
  ``records`` (the database and its tools), ``message`` (what a message of the agent says),
  ``customer`` (the simulated customer), ``session`` (one episode and its judge)
- ``domains/``: ``retail`` (orders), ``airline`` (bookings), ``telecom`` (phone lines), ``shared``
- ``generator/``: ``config``, ``problems`` (one task from a seed)
- ``published/``: tau-bench's own tasks: ``files`` (reads them), ``rows`` (the database and its
  hash), ``tools``, ``retail``, ``airline`` (its tools), ``problem`` (a task and the judge),
  ``session`` (one episode, with the customer), ``gold`` (the expert); ``tau2`` (reads
  tau2-bench's), ``tau2_tools`` (its tools, where they differ), ``contents`` (of files)
- ``experts/``: ``clerk`` (asks, looks up, checks the policy; the others differ from it in what
  they leave out or write down)
"""

from __future__ import annotations
