"""Adapters to the interfaces of other projects, one short file each.

`served_envs` manages the environments of a server's clients: `http_server` implements the calls of
AgentGym, `mcp_server` and `openenv_server` implement those protocols. `dialogue` presents an
episode as a list of messages. `conformance` compares all interfaces.

To add one of these, touch these files:

- an interface of another project for our environments: a file in ``agentgym/adapters/``; over a
  network, use ``ServedEnvs`` or ``ServedEnv`` of ``served_envs.py``; its file in
  ``tests/conformance/``
- an interface checked by ``agentgym conform``: a function in
  ``agentgym/adapters/conformance_interfaces.py`` and its row in ``INTERFACES`` there
"""
