"""Agents of others in training: an endpoint before the policy records their calls, token by token.

An agent owns its loop and knows nothing of the trainer: it asks an OpenAI-compatible endpoint for
answers and takes its turns by a session. `server` is the endpoint, `episode` what an agent may ask
there, `responses` the same in another form, `mcp_door` its turns by MCP, `call_log` its calls token
by token, `turns` the turns of training that come of them, `agent_runner` plays the episodes of a
step in place of the trainer's own loop, and `demonstrations` lets an expert answer the calls.
"""
