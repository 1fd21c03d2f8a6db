"""WebShop in the browser: a person plays the tasks of an agent, and sees what the agent sees.

`serve` answers on this machine only. The page shows what the environment says, rendered as a shop:
`page_parts` makes it of the very parts of which the observation is made. Finished episodes are
recorded as demonstrations, in the format of every other record.
"""

from __future__ import annotations

from agentgym.envs.webshop.browser.page_parts import Part, page_parts
from agentgym.envs.webshop.browser.server import make_app, serve
from agentgym.envs.webshop.browser.visits import Visits

__all__ = ["Part", "Visits", "make_app", "page_parts", "serve"]
