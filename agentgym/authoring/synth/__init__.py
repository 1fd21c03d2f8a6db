"""Environments from specifications: entities, facts, tools and goals in a YAML file.

`specification` reads a file, `facts` its little language of facts; `world` is what is drawn from it
for one task, `search` plans in it and says what the expert does, `tasks` draws tasks, `env` plays
them. The names ``synth:NAME`` and ``synth:FILE.yaml`` open one (see `making`).
"""
