"""Typed Python functions, a data set and a reward function as an environment.

`signatures` makes actions of functions, `tool_set` holds the tools of an episode and forks them,
`tool_actions` and `json_schemas` make actions of tools that JSON schemas describe. `calling` has
time limits and turns errors into text, `tasks` makes tasks of rows, `env` plays them, `register`
gives them an id.
"""
