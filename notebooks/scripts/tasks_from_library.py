# /// script
# requires-python = ">=3.10"
# dependencies = ["pytest>=8"]
# ///
"""Make SWE tasks from a pure-Python library of your own, and let the expert repair some.

    python tasks_from_library.py ~/code/mylib --out mylib-tasks --num-tasks 20

LIBRARY is a folder, an archive, or a release such as parse==1.22.4. It needs a sandbox (agentgym
doctor) and tests that pytest runs in seconds.
"""

import argparse
from pathlib import Path

import agentgym
from agentgym.cli import main as agentgym_command

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("library")
parser.add_argument("--out", type=Path, required=True)
parser.add_argument("--num-tasks", type=int, default=20)
parser.add_argument("--kind", default="mutation", help="agentgym swe build --help lists them")


def main(argv=None):
    options = parser.parse_args(argv)
    flags = ["--num-tasks", str(options.num_tasks), "--kind", options.kind]
    code = agentgym_command(["swe", "build", options.library, "--out", str(options.out), *flags])
    if code:
        raise SystemExit(code)
    data = {"data": str(options.out)}
    with agentgym.make("swe", **data) as env:
        sizes = {split: env.unwrapped.tasks.len(split) for split in env.unwrapped.tasks.splits}
    print(f"tasks by split: {sizes}")
    split = max(sizes, key=sizes.get)
    report = agentgym.evaluate("oracle", "swe", num_tasks=2, split=split, env_kwargs=data)
    print(f"the expert repaired {report.success:.0%} of {report.n}")
    arguments = f"--env-kwargs data={options.out} --split {split}"
    print(f"agentgym eval swe --policy chat --model NAME {arguments}")
    return report


if __name__ == "__main__":
    main()
