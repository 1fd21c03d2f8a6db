"""Agents of others in training: an endpoint before the policy records their calls, token by token.

An agent owns its loop and knows nothing of the trainer: it asks an OpenAI-compatible endpoint for
answers and takes its turns by a session. `server` is the endpoint, `episode` what an episode may
ask and what ends it, `call_log` its calls and the training rows that come of them. `agent_runner`
plays the episodes of a step in place of the trainer's own loop, and `demonstrations` lets an expert
answer the calls.
"""
