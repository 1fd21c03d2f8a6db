"""Train a model of a given size from scratch on WebShop's official pages, and time it.

No weights are downloaded: the model is a fresh Qwen3, saved like a pretrained one, so that the run
uses everything for pretrained models: bf16 and gradient checkpointing if the device supports them,
adapters or all weights, and any engine. Its text is noise. Measured are tokens per second in
generation and training, the share of each part of a step, and the peak of memory beside the
estimate of ``--dry-run``.

Usage: ``python benchmarks/large_model.py --size 0.5b --engines vllm --ranks 0 16 [--steps 20]``, on
a GPU; ``--size cpu --engines hf --steps 3`` is the same at the size of a CPU, with a peak of one
step there, because recording every allocation is slow. Prints JSON; ``--out DIR`` keeps the model
and the runs, and the figures of those that have ended as ``DIR/result.json``.

Smallest run: ``--size cpu --groups 1 --steps 3``
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from dataclasses import asdict
from itertools import islice, pairwise, product
from pathlib import Path
from statistics import mean
from string import ascii_lowercase
from typing import Any

import gymnasium
from provenance import to_json

from agentgym.envs.webshop.env import WebShopEnv
from trainers.cli import parse_config
from trainers.config.sections import TinyConfig

SIZES = {
    "cpu": TinyConfig(
        hidden=128, layers=4, heads=4, head_dim=32, intermediate=384, context=8192, init=0.02
    ),
    "0.1b": TinyConfig(
        hidden=768, layers=12, heads=12, head_dim=64, intermediate=3072, context=8192, init=0.02
    ),
    "0.5b": TinyConfig(
        hidden=1024, layers=28, heads=16, head_dim=128, intermediate=3072, context=8192, init=0.02
    ),
}
VOCABULARY = {"cpu": 0, "0.1b": 32_000, "0.5b": 151_936}
"""Vocabulary of each size, as usual for such models, which decides the cost of the head; 0: only
the words of pages."""
SHOP = {"difficulty": "medium", "observation_mode": "text"}
TEXTS = 20
"""Number of tasks whose pages form the vocabulary."""
TURNS, TURN_TOKENS, EPISODE_TOKENS = 4, 32, 1024
WARM_UP = 1
"""Uncounted steps, which start engines and fill caches."""


class PaidShop(WebShopEnv):
    """A shop in which the expert acts, whatever the policy writes, with a reward for letters.

    Noise would never leave the search page or solve anything: with equal returns nothing would
    train, and steps without an update would be timed.
    """

    def step(self, action: str) -> Any:
        """Take the expert's action; reward the length of the text."""
        observation, _, terminated, truncated, info = super().step(
            self.demonstrator_action() or action
        )
        paid = len(action) % 7 / 7
        return observation, paid, terminated, truncated, {**info, "reward_terms": {"letters": paid}}


if "benchmark/PaidShop-v0" not in gymnasium.registry:  # This file may be imported under two names.
    gymnasium.register("benchmark/PaidShop-v0", entry_point="large_model:PaidShop")


def write_model(folder: Path, size: str) -> int:
    """Save a fresh model and its tokenizer like a pretrained one; return the weights' number."""
    import torch

    from trainers.models.tiny import build_model, build_tokenizer
    from trainers.models.torch_setup import device

    env = PaidShop(**SHOP)
    texts = [env.action_prompt()]
    for index in range(TEXTS):
        observation, info = env.reset(options={"split": "train", "index": index})
        texts += [observation, " ".join(info["admissible_actions"])]
        texts.append(env.step(env.demonstrator_action() or "search[shirt]")[0])
    env.close()
    filler = map("".join, product(ascii_lowercase, repeat=4))  # 456,976 words
    texts.append(" ".join(islice(filler, VOCABULARY[size])))
    tokenizer = build_tokenizer(texts, vocabulary=VOCABULARY[size] or 8192)
    with torch.device(device()):
        model = build_model(tokenizer, SIZES[size])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def arguments(model: Path, out: Path, options: argparse.Namespace, steps: int) -> list[str]:
    """Return the command line of a run."""
    settings = {
        "env": "large_model:benchmark/PaidShop-v0",
        "model": model,
        "engine": options.engine,
        "steps": steps,
        "horizon": TURNS,
        "lora.r": options.lora,
        "rl.groups": options.groups,
        "rl.turn-tokens": TURN_TOKENS,
        "rl.episode-tokens": EPISODE_TOKENS,
        "rl.save-every": steps,
        "eval.num-tasks": 4,
        "eval.every": 0,
        "out": out,
    }
    shop = [f"{name}={value}" for name, value in SHOP.items()]
    return [*(f"--{name}={value}" for name, value in settings.items()), "--env-kwargs", *shop]


def train_and_watch(argv: list[str], watch: bool, answer: Any) -> None:
    """Train in this process, and send the peak of memory if it is watched."""
    from trainers.cli import main
    from trainers.models.memory_peak import peak_bytes

    codes: list[int] = []
    peak = peak_bytes(lambda: codes.append(main(argv))) if watch else codes.append(main(argv))
    answer.put((codes[0], peak))


def trained(argv: list[str], watch: bool) -> int | None:
    """Train in a separate process; return the peak of memory in bytes, if it is watched.

    Raises:
        SystemExit: The run failed.
    """
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=train_and_watch, args=(argv, watch, answer))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"expected the run to end well, got exit code {process.exitcode}")
    code, peak = answer.get()
    if code:
        raise SystemExit(f"expected the run to end well, got code {code}; it says why above")
    return peak


def rates(out: Path) -> dict[str, Any]:
    """Return the seconds of a run's steps, by part, and tokens per second."""
    lines = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    steps = [line for line in lines if line.get("phase") == "rl"]
    totals = [step["tokens_total"] for step in steps][WARM_UP - 1 :]
    steps = steps[WARM_UP:]
    parts = {name: mean(step["time"][name] for step in steps) for name in steps[0]["time"]}
    tokens = mean(total_after - total_before for total_before, total_after in pairwise(totals))
    total = sum(parts.values())
    return {
        "steps": len(steps),
        "seconds_per_step": total,
        "share": {name: seconds / total for name, seconds in parts.items()},
        "sampled_tokens_per_step": tokens,
        "sampled_tokens_per_second_of_generation": tokens / parts["generation"],
        "sampled_tokens_per_second_of_updates": tokens / parts["update"],
        "probe_gap": max(step.get("probe_gap", 0.0) for step in steps),
    }


def measure(model: Path, out: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train with one engine and one choice of weights; return its figures."""
    import torch

    from trainers.config.resolve import resolve
    from trainers.models.memory_plan import plan_memory

    argv = arguments(model, out, options, options.steps)
    cuda = torch.cuda.is_available()
    peak = trained(argv, watch=cuda)
    if not cuda:
        watched = out.with_name(f"{out.name}-watched")
        peak = trained(arguments(model, watched, options, 1), watch=True)
    estimate = plan_memory(resolve(parse_config(argv))).estimate
    memory = {
        "peak_bytes": peak,
        "estimated_bytes": estimate.total,
        "estimate": asdict(estimate),
    }
    return {"engine": options.engine, "lora": options.lora, **rates(out), "memory": memory}


def main() -> None:
    """Print the figures of one size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--engines", choices=("hf", "hf-copy", "vllm"), nargs="+", default=["hf"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[0], help="0: all weights")
    parser.add_argument("--groups", type=int, default=4, help="tasks of a step")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path, help="keep the runs here")
    options = parser.parse_args()
    if options.steps < WARM_UP + 2:
        parser.error(f"expected at least {WARM_UP + 2} steps, the first of which is not counted")
    import torch

    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        out = options.out or Path(scratch)
        result = {
            "size": {
                "name": options.size,
                "weights": write_model(out / "model", options.size),
                "vocabulary": VOCABULARY[options.size],
                **asdict(SIZES[options.size]),
            },
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "groups": options.groups,
            "runs": runs,
        }
        for engine, rank in product(options.engines, options.ranks):
            options.engine, options.lora = engine, rank
            runs.append(measure(out / "model", out / f"{engine}-{rank}", options))
            (out / "result.json").write_text(to_json(result), encoding="utf-8")
    print(to_json(result))


if __name__ == "__main__":
    main()
