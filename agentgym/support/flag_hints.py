"""Hints for unknown flags: the command's own name for the same thing.

Users of TRL, verl, Inspect, verifiers or CleanRL type the flags of these projects. One table serves
all commands: a command suggests those equivalents that it has.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agentgym.errors import ConfigurationError

__all__ = ["SYNONYMS", "check_flags", "flag_hint"]

_RATES = (
    "rl.learning-rate", "sft.learning-rate", "critic.learning-rate", "turn-critic.learning-rate",
    "reward-model.learning-rate",
)  # fmt: skip
_WARMUPS = (
    "rl.warmup-steps", "critic.warmup-steps", "turn-critic.warmup-steps",
    "reward-model.warmup-steps",
)  # fmt: skip
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    # environments, policies and tasks
    "env-id": ("env",), "env-name": ("env",), "task-name": ("env",),
    "env-args": ("env-kwargs",), "set": ("env-kwargs",), "task-args": ("env-kwargs",),
    "model-args": ("policy-kwargs",), "policy-set": ("policy-kwargs",),
    "model-name": ("model",), "model-name-or-path": ("model",), "model-path": ("model",),
    "api-base-url": ("base-url",), "api-base": ("base-url",), "api-key": ("api-key-env",),
    "hooks": ("reward-hooks",), "rewards": ("reward-hooks",), "reward-funcs": ("reward-hooks",),
    "history-length": ("window",), "memory-window": ("window",),
    "max-turns": ("horizon",), "max-episode-steps": ("horizon",), "max-rounds": ("horizon",),
    "oracle": ("hints",), "index": ("task-index",), "doors": ("interfaces",),
    "a": ("env-kwargs",), "T": ("env-kwargs", "temperature"), "M": ("policy-kwargs",),
    "m": ("model",), "b": ("base-url",), "k": ("api-key-env",),
    # sizes and limits
    "n": ("num-tasks", "eval.num-tasks"), "num-examples": ("num-tasks", "eval.num-tasks"),
    "limit": ("num-tasks", "max-episodes", "eval.num-tasks"),
    "num-episodes": ("num-tasks", "max-episodes"), "tasks": ("num-tasks", "eval.num-tasks"),
    "only-success": ("only-successes", "sft.only-successes"),
    "rollouts-per-example": ("samples", "rl.num-generations"),
    "epochs": ("samples", "sft.max-steps"), "num-samples": ("samples", "rl.num-generations"),
    "num-envs": ("concurrency", "workers"), "max-connections": ("concurrency",),
    "max-concurrent": ("concurrency",), "num-workers": ("workers",),
    "most": ("max-envs", "max-sandboxes"), "idle": ("idle-timeout",), "lease": ("idle-timeout",),
    "max-new-tokens": ("max-tokens", "rl.turn-tokens"),
    "max-tokens": ("rl.turn-tokens",), "max-completion-length": ("rl.turn-tokens",),
    "max-response-length": ("rl.turn-tokens",),
    "max-length": ("rl.episode-tokens",), "max-seq-length": ("rl.episode-tokens",),
    # folders, files and records
    "output-dir": ("out",), "output": ("out",), "log-dir": ("out",), "save-dir": ("out",),
    "file": ("config",), "config-file": ("config",),
    "resume-from-checkpoint": ("resume",), "hub-model-id": ("push-to-hub",),
    "track": ("report-to",), "logger": ("report-to",), "wandb": ("report-to",),
    # training
    "lr": _RATES, "learning-rate": _RATES,
    "warmup": _WARMUPS, "warmup-steps": _WARMUPS,
    "max-steps": ("steps", "sft.max-steps"), "total-training-steps": ("steps",),
    "num-train-epochs": ("steps", "sft.max-steps"),
    "total-timesteps": ("rl.turn-budget",),
    "num-generations": ("rl.num-generations",), "group-size": ("rl.num-generations",),
    "train-batch-size": ("rl.groups", "sft.batch-size"),
    "batch-size": ("rl.groups", "sft.batch-size"),
    "per-device-train-batch-size": ("rl.groups", "memory.micro-tokens"),
    "gradient-accumulation-steps": ("memory.micro-tokens",),
    "num-minibatches": ("rl.minibatches",), "num-mini-batches": ("rl.minibatches",),
    "steps-per-generation": ("rl.minibatches",), "ppo-mini-batch-size": ("rl.minibatches",),
    "num-iterations": ("rl.num-iterations",), "iterations": ("rl.num-iterations",),
    "update-epochs": ("rl.num-iterations",), "ppo-epochs": ("rl.num-iterations",),
    "beta": ("rl.beta",), "kl": ("rl.beta",), "kl-coef": ("rl.beta",), "kl-loss-coef": ("rl.beta",),
    "epsilon": ("rl.epsilon",), "clip-low": ("rl.epsilon",), "clip-coef": ("rl.epsilon",),
    "clip-ratio": ("rl.epsilon",), "cliprange": ("rl.epsilon",),
    "epsilon-high": ("rl.epsilon-high",), "clip-high": ("rl.epsilon-high",),
    "entropy-coef": ("rl.entropy",), "ent-coef": ("rl.entropy",), "entropy-coeff": ("rl.entropy",),
    "loss-type": ("preset", "rl.aggregation"), "algorithm": ("preset",), "algo": ("preset",),
    "adv-estimator": ("preset",), "advantage-estimator": ("preset",), "method": ("preset",),
    "scale-rewards": ("preset", "rl.normalize"),
    "gamma": ("rl.gamma",), "lam": ("critic.lam",), "gae-lambda": ("critic.lam",),
    "vf-coef": ("critic.weight",), "cliprange-value": ("critic.clip",),
    "max-grad-norm": ("rl.max-grad-norm",), "max-prompt-length": ("window", "rl.episode-tokens"),
    "eval-steps": ("eval.every",), "eval-freq": ("eval.every",), "test-freq": ("eval.every",),
    "save-steps": ("rl.save-every", "sft.save-every"), "save-freq": ("rl.save-every",),
    "save-total-limit": ("rl.keep-checkpoints",),
    "bf16": ("memory.precision",), "fp16": ("memory.precision",), "dtype": ("memory.precision",),
    "gradient-checkpointing": ("memory.checkpointing",), "optim": ("memory.optimizer",),
    "load-in-4bit": ("memory.quantize",), "load-in-8bit": ("memory.quantize",),
    "lora-r": ("lora.r",), "lora-alpha": ("lora.alpha",), "lora-dropout": ("lora.dropout",),
    "use-peft": ("lora.r",), "use-vllm": ("engine",), "vllm-mode": ("engine",),
    "vllm-server-base-url": ("vllm.url",),
    "gate-success": ("sft.target-success",), "gate-every": ("sft.eval-every",),
    "gate-tasks": ("sft.eval-tasks",),
}  # fmt: skip
"""Flags, without dashes, that a word of another project stands for, the
likeliest first."""
_LETTER = re.compile(r"-[A-Za-z]")
"""A flag of one letter, as other projects have them."""
_NAMED = 3
"""Most flags that a hint names."""


def check_flags(argv: Sequence[str], flags: Collection[str], program: str) -> None:
    """Refuse the first argument that looks like a flag and is none.

    Args:
        argv: What was typed; of an argument after a lone ``--`` nothing is said.
        flags: All flags of the command, such as ``--rl.beta`` and ``--no-scale``.
        program: What is typed for it, such as ``agentgym train``.

    Raises:
        ConfigurationError: There is one; the message names the flag that was probably meant.
    """
    for word in argv:
        if word == "--":
            return
        name = word.partition("=")[0].replace("_", "-")
        if (name.startswith("--") or _LETTER.fullmatch(name)) and name not in flags:
            raise ConfigurationError(
                f"expected a flag of {program}, got {word.partition('=')[0]}"
                f"{flag_hint(name, flags) or f': see {program} --help-all'}"
            )


def flag_hint(name: str, flags: Collection[str]) -> str:
    """Return what to say of a flag that a command does not have, such as ``: here it is --out``.

    Args:
        name: What was typed, such as ``--output-dir``.
        flags: The flags of the command.

    Returns:
        The end of a sentence; empty where nothing is like it.
    """
    word = name.lstrip("-").replace("_", "-")
    section, _, last = word.rpartition(".")
    synonyms = [
        f"--{synonym}" for synonym in _synonyms(word, section, last) if f"--{synonym}" in flags
    ]
    if synonyms:
        return f": here it is {' or '.join(synonyms[:_NAMED])}"
    near = [flag for flag in flags if flag.rpartition(".")[2].removeprefix("--") == last]
    near += difflib.get_close_matches(f"--{word}", sorted(flags), _NAMED, 0.75)
    near = list(dict.fromkeys(near))[:_NAMED]
    return f": did you mean {' or '.join(near)}?" if near else ""


def _synonyms(word: str, section: str, last: str) -> Iterator[str]:
    """Yield what a word stands for; a section that was typed, such as ``sft``, chooses."""
    if word in SYNONYMS:
        yield from SYNONYMS[word]
        return
    flags = SYNONYMS.get(last, ()) if section else ()
    of_section = [flag for flag in flags if flag.startswith(f"{section}.")]
    yield from of_section or flags
