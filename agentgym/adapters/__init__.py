"""Environments behind the interfaces of other projects, one short file each.

`served_envs` holds the environments of many clients within bounds, for servers: `http_server`
answers the calls of AgentGym, `mcp_server` and `openenv_server` speak those protocols. `dialogue`
lays out an episode for loops that keep messages. `conformance` compares what all doors show.
"""
