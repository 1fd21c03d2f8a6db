# /// script
# requires-python = ">=3.10"
# dependencies = ["openai>=1.40", "matplotlib>=3.8"]
# ///
"""Evaluate models behind an OpenAI-compatible endpoint on several environments, as one table.

    python evaluate_endpoint.py --base-url http://localhost:8000/v1 --model A B --num-tasks 50

Repeat the command to resume. The key is read from OPENAI_API_KEY.
"""

import argparse
from pathlib import Path

import agentgym

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--base-url", required=True)
parser.add_argument("--model", nargs="+", required=True)
parser.add_argument("--env", nargs="+", default=["webshop", "alfworld", "textworld", "search"])
parser.add_argument("--num-tasks", type=int, default=50, help="tasks of each environment")
parser.add_argument("--out", type=Path, default=Path("runs/endpoint"))


def main(argv=None):
    chosen = parser.parse_args(argv)
    models = [
        {"policy": "chat", "model": name, "base_url": chosen.base_url} for name in chosen.model
    ]
    suite = {"environments": chosen.env, "policies": ["random", "oracle", *models]}
    found = agentgym.evaluate_all(
        suite, num_tasks=chosen.num_tasks, grammar="tool_call", out=chosen.out
    )
    print(found.leaderboard.matrix("success").markdown())
    found.leaderboard.chart(chosen.out / "chart.svg")
    print(f"LaTeX: agentgym compare {chosen.out} --format latex")
    for name, problem in found.failures.items():
        print(f"failed: {name}: {problem}")
    return found


if __name__ == "__main__":
    main()
