"""Training of external agents: an endpoint for the policy records their calls token by token.

An agent owns its loop and does not depend on the trainer: it calls an OpenAI-compatible endpoint
and takes its turns through a session. `server` is the endpoint, `episode` handles the requests of
an agent, `responses` implements OpenAI's responses API, `mcp_door` the turns by MCP, `call_log`
records the calls token by token, `turns` converts them to training turns, `agent_runner` plays the
episodes of a step instead of the trainer's own loop, and `demonstrations` lets an expert answer the
calls.
"""
