"""Our environments in other projects, and theirs here: a folder or a file for each of them.

In a folder, ``imported.py`` has a project's environments here. A name such as ``gem:ID`` is
resolved by `agentgym.registration.imports`, which has a row for each kind: its prefix, and the
module whose function ``make(reference, **options)`` makes one. A kind implements a `world.World`;
`imported_env.ImportedEnv` turns it into an `agentgym.core.TextEnv`. The other project's package is
imported when an environment is made.

The other files of a folder have our environments in that project. `served_envs` manages the
environments of a server's clients: `http_server` implements the calls of AgentGym, ``mcp`` and
``openenv`` those protocols. `prompt_rows` writes tasks as data sets, and `played_rows` makes
episodes of responses to them. `dialogue` presents an episode as a list of messages. `family_code`
copies a family into folders that are published (``openenv/folder.py``, ``verifiers/package.py``).
`agentgym.certification` compares interfaces.

To add one of these, touch these files:

- a kind of environments of other projects: a file here with ``make(reference, **options)`` and
  perhaps ``names()``, its row in ``agentgym/registration/imports.json``, its lines in
  ``agentgym/interop/imports.md``, an extra in ``pyproject.toml``
- an interface of another project for our environments: a file here; over a network, use
  ``ServedEnvs`` or ``ServedEnv`` of ``served_envs.py``; its file in ``tests/conformance/``
"""
