"""Train LoRA adapters of a causal language model: one of the hub, of a folder, or made here.

    python lora_of_local_model.py --model Qwen/Qwen3-0.6B --env webshop --steps 100
    python lora_of_local_model.py --dry-run          # a small model that is made from its config

Without --model a Qwen3 of random weights is made, which shows that all parts fit and learns
nothing in a few steps. All further flags are those of agentgym train.
"""

import argparse
from pathlib import Path

from trainers.cli import main as agentgym_train

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--model", default="", help="hub id or folder")
parser.add_argument("--env", default="webshop")
parser.add_argument("--steps", type=int, default=2)
parser.add_argument("--rank", type=int, default=16)
parser.add_argument("--out", type=Path, default=Path("runs/lora"))


def make_model(folder):
    """Write a small Qwen3 with a tokenizer and a chat template, as the hub has them."""
    from trainers.config.sections import TinyConfig
    from trainers.models.tiny import build_model, build_tokenizer

    texts = ("search for red shoes and buy now", "click on the first product of the page")
    tokenizer = build_tokenizer(texts)
    build_model(tokenizer, TinyConfig(hidden=64, layers=2), 0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def main(argv=None):
    options, further = parser.parse_known_args(argv)
    model = options.model or make_model(options.out.with_name(f"{options.out.name}-base"))
    flags = ["--env", options.env, "--model", model, "--steps", str(options.steps)]
    return agentgym_train(
        [*flags, "--lora.r", str(options.rank), "--out", str(options.out), *further]
    )


if __name__ == "__main__":
    raise SystemExit(main())
