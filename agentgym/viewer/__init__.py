"""Episode records as a self-contained HTML page.

`render_page` puts one or two runs into a page. The page is written in ``static/`` (HTML, CSS and
scripts, package data); Python only reads records and embeds them, so that no text of theirs can
become markup.
"""

from __future__ import annotations

from agentgym.viewer.episode_files import EpisodesFile, RunFiles, find_run, is_html
from agentgym.viewer.page import is_page, render_page

__all__ = ["EpisodesFile", "RunFiles", "find_run", "is_html", "is_page", "render_page"]
