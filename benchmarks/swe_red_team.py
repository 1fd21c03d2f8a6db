"""Check which exploits earn reward from the SWE grader.

Exit code 1 if an exploit is rewarded or the solution is not. ``--rows`` is the file written by
``--out`` of the command: attempts in it are not repeated. ``image_rows.py`` makes rows whose images
need no registry.

Usage:
    python benchmarks/swe_red_team.py [--data bundled] [--tasks 4] [--seed 0] [--rows ROWS.jsonl]
        [--sandbox namespace] [--pull never]

Smallest run: ``--tasks 1``
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.swe.making.red_team import (
    MUST_LOSE,
    MUST_WIN,
    Attempt,
    Campaign,
    Totals,
    load_exploits,
    run_campaign,
    totals,
)
from benchmarks.provenance import to_json


def watch(done_count: int, total: int, newest: Attempt) -> None:
    """Report progress."""
    sys.stderr.write(f"\r{done_count} of {total}")


def summary(rows: Sequence[Totals]) -> dict[str, Any]:
    """Return the figures of the two baselines, of each kind, and the rewarded exploits."""
    by_exploit = {row.exploit: row for row in rows}
    exploits = [row for row in rows if row.exploit not in (MUST_WIN, MUST_LOSE)]
    kinds: dict[str, list[Totals]] = defaultdict(list)
    for row in exploits:
        kinds[row.exploit.partition("/")[0]].append(row)
    return {
        "solution": _of([by_exploit[MUST_WIN]]),
        "nothing": _of([by_exploit[MUST_LOSE]]),
        "exploits": {"number": len(exploits), **_of(exploits)},
        "kinds": {
            kind: {"number": len(kind_rows), **_of(kind_rows)} for kind, kind_rows in kinds.items()
        },
        "paid": {row.exploit: _of([row]) for row in exploits if row.paid},
        "names": [row.exploit for row in exploits],
    }


def _of(rows: Sequence[Totals]) -> dict[str, int]:
    names = ("tried", "paid", "flagged", "errors", "by_tests_alone")
    return {name: sum(getattr(row, name) for row in rows) for name in names}


def main() -> int:
    """Play a campaign, and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="bundled", help="where the tasks come from")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="episodes at once")
    parser.add_argument("--timeout", type=int, default=40, help="seconds of one grading")
    parser.add_argument("--sandbox", default="auto", help="back end in which tasks are played")
    parser.add_argument("--pull", default="missing", help="when images are pulled")
    parser.add_argument("--rows", type=Path, help="file of the attempts, to resume")
    options = parser.parse_args()
    campaign = Campaign(
        data=options.data,
        exploits=load_exploits(),
        tasks=options.tasks,
        seed=options.seed,
        out=options.rows,
        jobs=options.jobs,
        options={
            "grading_timeout": options.timeout,
            "sandbox": options.sandbox,
            "pull": options.pull,
        },
    )
    attempts = run_campaign(campaign, watch)
    rows = totals(attempts)
    setting = {
        "data": options.data,
        "seed": options.seed,
        "tasks": options.tasks,
        "played": sorted({attempt.task for attempt in attempts}),
        "evidence": dict(sorted(Counter(attempt.evidence for attempt in attempts).items())),
    }
    print(to_json({**setting, **summary(rows)}))
    return int(not all(row.as_it_must for row in rows))


if __name__ == "__main__":
    sys.exit(main())
