"""agentgym: Gymnasium environments of text tasks for language-model agents.

Importing the package registers every id, so that ``gymnasium.make("agentgym/WebShop-v0")`` works.
"""

from agentgym.registration import register_all

__version__ = "0.1.0"
__all__ = ["__version__"]

register_all()
