"""WebShop in the browser: a person plays the agent's tasks and sees what the agent sees.

`serve` listens on this machine only. The page shows the observation, rendered as a shop:
`page_parts` builds it from the same parts as the observation. Finished episodes are recorded as
demonstrations, in the usual record format.
"""

from __future__ import annotations

from agentgym.envs.webshop.browser.page_parts import PagePart, page_parts
from agentgym.envs.webshop.browser.server import make_app, serve
from agentgym.envs.webshop.browser.visits import Visits

__all__ = ["PagePart", "Visits", "make_app", "page_parts", "serve"]
