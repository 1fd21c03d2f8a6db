"""Measure how much faster an evaluation is with several requests in flight.

A local server answers every request of `ChatPolicy` after ``--latency`` seconds with the action
that WebShop's first observation suggests, so every episode takes ``--turns`` requests. The bar: 8
episodes in flight take at most a fifth of the time of 1, at 0.2 seconds a request.

Smallest run: ``--n 8 --latency 0.05`` (misses the bar)
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance import to_json

from agentgym import evaluate, make
from agentgym.policies import ChatConfig, ChatPolicy
from benchmarks.endpoints import Reply, completion, serving

BAR = 0.2
"""Maximum time with 8 episodes in flight, as a share of that with 1."""


def measure(concurrency: int, options: argparse.Namespace) -> dict[str, Any]:
    """Play the panel with a number of episodes in flight."""
    env = make("webshop", difficulty="easy", horizon=options.turns)
    env.reset(seed=0)  # builds the shop, which is not measured

    def answer(body: bytes) -> Reply:
        time.sleep(options.latency)
        return completion("search[shoes]")

    with serving(answer) as server:
        config = ChatConfig("local", server.url)
        policy = ChatPolicy(config, env.unwrapped.action_prompt())  # type: ignore[attr-defined]
        start = time.perf_counter()
        report = evaluate(policy, env, "test", options.n, concurrency=concurrency)
        seconds = time.perf_counter() - start
        env.close()
        return {
            "in_flight": concurrency,
            "seconds": seconds,
            "requests": server.requests,
            "most_in_flight": server.most,
            "errors": report.errors,
        }


def main() -> None:
    """Print the times as JSON; exit with 1 if the bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=64, help="tasks of the panel")
    parser.add_argument("--turns", type=int, default=3, help="turns of an episode")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of a request")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 8, 32])
    options = parser.parse_args()
    rows = [measure(concurrency, options) for concurrency in options.in_flight]
    alone = rows[0]["seconds"]
    for row in rows:
        row["share_of_first"] = row["seconds"] / alone
    eight = next((row["share_of_first"] for row in rows if row["in_flight"] == 8), None)
    within_bar = eight is None or eight <= BAR
    result = {
        **vars(options),
        "env": "agentgym/WebShop-v0",
        "rows": rows,
        "bar": BAR,
        "met": within_bar,
    }
    print(to_json(result))
    sys.exit(not within_bar)


if __name__ == "__main__":
    main()
