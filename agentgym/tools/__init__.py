"""Typed Python functions, a data set and a reward function as an environment."""

from agentgym.imports.tool_actions import Called
from agentgym.tools.env import ToolEnv
from agentgym.tools.episode import ToolEpisode
from agentgym.tools.python_tool import PythonTool
from agentgym.tools.register import register_tools
from agentgym.tools.tasks import tool_tasks

__all__ = ["Called", "PythonTool", "ToolEnv", "ToolEpisode", "register_tools", "tool_tasks"]
