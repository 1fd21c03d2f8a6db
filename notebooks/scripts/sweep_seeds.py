"""Train with several values of one flag and several seeds each; print the verdict on each value.

    python sweep_seeds.py --flag rl.learning-rate --values 3e-4 1e-3 --seeds 0 1 2 -- --quick

What follows -- are flags of agentgym train. A sweep that was cut off goes on when it is repeated.
"""

import argparse
import json
from pathlib import Path

from trainers.cli import main as agentgym_train

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--env", default="webshop")
parser.add_argument(
    "--flag", default="rl.learning-rate", help="as agentgym train has it, without --"
)
parser.add_argument("--values", nargs="+", default=["3e-4", "1e-3"])
parser.add_argument("--seeds", nargs="+", default=["0", "1", "2"])
parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
parser.add_argument("--out", type=Path, default=Path("runs/sweep"))
parser.add_argument("further", nargs="*", help="flags of agentgym train, after --")


def main(argv=None):
    options = parser.parse_args(argv)
    verdicts = {}
    for value in options.values:
        folder = options.out / f"{options.flag}={value}"
        flags = ["--resume", "--out", str(folder)]
        if not (folder / "config.yaml").exists() and not any(folder.glob("seed*")):
            flags = ["--env", options.env, f"--{options.flag}", value, "--out", str(folder)]
            flags += ["--seeds", *options.seeds, "--jobs", str(options.jobs), *options.further]
        code = agentgym_train(flags)
        if code:
            return code
        if (folder / "summary.json").exists():  # not after --dry-run
            verdicts[value] = json.loads((folder / "summary.json").read_text())["verdict"]
    for value, verdict in verdicts.items():
        print(f"{options.flag} {value}: {verdict}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
