"""Environments behind the interfaces of other projects, one short file each.

`served_envs` holds the environments of many clients within bounds, for servers: `http_server`
answers the calls of AgentGym, `mcp_server` and `openenv_server` speak those protocols. `dialogue`
lays out an episode for loops that keep messages. `conformance` compares what all doors show.

To add one of these, touch these files:

- an interface of another project for our environments: a file in ``agentgym/adapters/``; over a
  network, its environments are ``ServedEnvs`` or ``ServedEnv`` of ``served_envs.py``; its file in
  ``tests/conformance/``
- an interface checked by ``agentgym conform``: a function in
  ``agentgym/adapters/conformance_interfaces.py`` and its row in ``INTERFACES`` there
"""
