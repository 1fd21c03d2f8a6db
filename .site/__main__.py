"""``python .site`` builds the documentation site in ``build/site``, and fails if a link is broken.

``python .site --serve`` also serves it, and builds it again whenever a page changes.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from pages import FOLDERS

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(prog="python .site", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="serve it at http://127.0.0.1:8000")
    serve = parser.parse_args().serve
    folders = ["-c", str(HERE), str(HERE / "pages"), str(HERE.parent / "build" / "site")]
    # What is gathered changes at each build, so that it is the originals that have to be watched.
    watch = ["--ignore", str(HERE / "pages" / "*")]
    watch += [f"--watch={HERE.parent / name}" for name in FOLDERS]
    watch += [f"--watch={page}" for page in sorted(HERE.parent.glob("*.md"))]
    sys.argv = ["sphinx", *folders, *(watch if serve else ["-q", "-W", "--keep-going"])]
    runpy.run_module("sphinx_autobuild" if serve else "sphinx", run_name="__main__")


if __name__ == "__main__":
    main()
