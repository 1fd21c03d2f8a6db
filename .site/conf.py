"""Settings of the site: Sphinx, with the pages in Markdown that lie beside the code."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `benchmarks` is not installed.
sys.path.insert(0, str(Path(__file__).resolve().parent))

import pages

import agentgym

project = "agentgym"
author = "The agentgym authors"
release = version = agentgym.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.githubpages",  # .nojekyll: GitHub would leave out folders such as _static.
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["README.md"]  # It is the index.
suppress_warnings = ["ref.python"]  # A type of one name in two modules: both are right.
html_theme = "furo"
html_static_path = [str(Path(__file__).resolve().parent / "static")]
html_css_files = ["wrap.css"]
html_title = f"agentgym {release}"
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_merge_streams = True
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["harbor", "inspect_ai", "skyrl_gym", "verifiers"]
autodoc_typehints = "description"


def setup(app: Sphinx) -> None:
    """Gather the pages before Sphinx looks for them, and list them for programs at the end."""
    app.connect("builder-inited", lambda app: pages.gather())
    app.connect("build-finished", _finish)


def _finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is None:
        pages.write_llms(Path(app.outdir))
