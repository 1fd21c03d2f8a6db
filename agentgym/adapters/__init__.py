"""Environments behind the interfaces of other projects, one short file each.

`served_envs` holds the environments of many clients within bounds; `http_server` answers the calls
of AgentGym. `trl` is for TRL's own trainers.
"""
