"""Environments without a class: from Python functions, or from a specification in YAML.

``tools/`` makes an environment of typed functions, a data set and a reward function; its
``tool_actions.py`` turns JSON schemas of tools into actions, for tools of other projects, too.
``synth/`` makes one of entities, facts, tools and goals, by the names ``synth:NAME`` and
``synth:FILE.yaml``.

To add one of these, touch these files:

- a type of a tool's argument: ``agentgym/authoring/tools/hints.py``, its values in ``PLAIN`` of
  ``tests/authoring/tools/test_signatures.py``
- a bundled specification: a file in ``agentgym/authoring/synth/bundled/``, its name in ``BUNDLED``
  of ``tests/authoring/synth/test_env.py``
"""

from agentgym.authoring.tools.env import ToolEnv
from agentgym.authoring.tools.episode import ToolEpisode
from agentgym.authoring.tools.python_tool import PythonTool
from agentgym.authoring.tools.register import register_tools
from agentgym.authoring.tools.tasks import tool_tasks
from agentgym.authoring.tools.tool_actions import CallRecord

__all__ = ["CallRecord", "PythonTool", "ToolEnv", "ToolEpisode", "register_tools", "tool_tasks"]
