"""Write the tables of the pages from the result files.

python -m benchmarks.tables            # after a result has changed
python -m benchmarks.tables --check    # change nothing; exit code 1 if a page is out of date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agentgym.errors import AgentGymError
from agentgym.support.caching import write_atomically
from benchmarks.tables.pages import PAGES, ROOT, rewrite_page


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages, or only compare them.

    Args:
        argv: Arguments; None takes those of the process.

    Returns:
        0; 1 if ``--check`` finds an outdated page; 2 after a wrong comment.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="change nothing, compare only")
    check = parser.parse_args(argv).check
    try:
        changed = {page: new for page in PAGES if (new := rewrite_page(_text(page))) != _text(page)}
    except AgentGymError as error:
        print(f"benchmarks.tables: {error}", file=sys.stderr)
        return 2
    for page, new in changed.items():
        print(f"{page}: {'out of date' if check else 'written'}")
        if not check:
            write_atomically(ROOT / page, new.encode())
    return int(check and bool(changed))


def _text(page: str) -> str:
    return (ROOT / page).read_text()


if __name__ == "__main__":
    sys.exit(main())
