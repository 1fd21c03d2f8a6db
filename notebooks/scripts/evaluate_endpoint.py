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
    options = parser.parse_args(argv)
    models = [
        {"policy": "chat", "model": name, "base_url": options.base_url} for name in options.model
    ]
    suite = {"environments": options.env, "policies": ["random", "oracle", *models]}
    results = agentgym.evaluate_all(
        suite, num_tasks=options.num_tasks, grammar="tool_call", out=options.out
    )
    print(results.leaderboard.matrix("success").markdown())
    results.leaderboard.chart(options.out / "chart.svg")
    print(f"LaTeX: agentgym compare {options.out} --format latex")
    for name, problem in results.failures.items():
        print(f"failed: {name}: {problem}")
    return results


if __name__ == "__main__":
    main()
