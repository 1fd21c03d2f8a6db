"""Typed Python functions, a data set and a reward function as an environment.

`signatures` makes actions of functions, `tool_set` holds the tools of an episode and forks them,
`calling` has time limits and turns errors into text, `tasks` makes tasks of rows, `env` plays them,
`register` gives them an id.
"""

from agentgym.imports.tool_actions import CallRecord
from agentgym.tools.env import ToolEnv
from agentgym.tools.episode import ToolEpisode
from agentgym.tools.python_tool import PythonTool
from agentgym.tools.register import register_tools
from agentgym.tools.tasks import tool_tasks

__all__ = ["CallRecord", "PythonTool", "ToolEnv", "ToolEpisode", "register_tools", "tool_tasks"]
