"""Train one policy on two families in one run, and play it on each.

    python train_on_two_families.py --env webshop textworld --steps 40

All further flags are those of agentgym train, such as --dry-run.
"""

import argparse
import json
from pathlib import Path

from trainers.cli import main as agentgym_train

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--env", nargs="+", default=["webshop", "textworld"])
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--out", type=Path, default=Path("runs/two-families"))


def main(argv=None):
    options, further = parser.parse_known_args(argv)
    flags = [
        "--env",
        ",".join(options.env),
        "--steps",
        str(options.steps),
        "--out",
        str(options.out),
    ]
    code = agentgym_train([*flags, *further])
    summary = options.out / "summary.json"
    if code == 0 and summary.exists():
        print(json.loads(summary.read_text())["verdict"])
        for name in options.env:
            print(f"agentgym eval {name} --policy {options.out}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
