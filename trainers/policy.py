"""The policy of a run: its weights, its tokenizer, and how its conversations begin."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgym.core import TextEnv
from agentgym.errors import ConfigurationError
from trainers.plan import Plan
from trainers.rollouts.budget import Limits
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.runner import Opening, system_opening

TINY = "tiny"
TINY_BUDGET = (18, 512)
"""Tokens per turn and per episode of the tiny policy."""
PRETRAINED_BUDGET = (256, 4096)
"""Tokens per turn and per episode of a pretrained model."""


@dataclass
class PolicyModel:
    """A model with everything that is needed to play episodes with it."""

    model: Any
    """A causal language model of transformers."""
    chat: TurnTokenizer
    """Its turn tokenizer."""
    opening: Opening
    """First messages of an episode."""
    limits: Limits
    """Token budgets."""

    def save(self, path: Path) -> None:
        """Write weights and tokenizer in the format of transformers."""
        self.model.save_pretrained(path)
        self.chat.tokenizer.save_pretrained(path)


def build_tiny(plan: Plan, texts: Iterable[str]) -> PolicyModel:
    """Make a fresh tiny policy whose vocabulary is that of ``texts``."""
    from trainers.tiny import build_model, build_tokenizer

    config = replace(plan.config.tiny, seed=plan.config.seed)
    tokenizer = build_tokenizer(texts)
    return _assemble(plan, build_model(tokenizer, config), tokenizer, None)


def load_policy(plan: Plan, path: str | Path, system: str | None = None) -> PolicyModel:
    """Load a chat model and its tokenizer.

    Args:
        plan: The run.
        path: Folder or hub id.
        system: System message of every episode.

    Raises:
        ConfigurationError: There is no such model, or it has no chat template.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with _loading(path):
        tokenizer = AutoTokenizer.from_pretrained(str(path), padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(str(path), dtype=_dtype())
    return _assemble(plan, model, tokenizer, system)


def check_model(name: str) -> None:
    """Check ``--model`` before a run's folder is made, without loading weights.

    Args:
        name: ``tiny``, a folder or a hub id.

    Raises:
        ConfigurationError: There is no such model, or it has no chat template.
    """
    if name == TINY:
        return
    from transformers import AutoConfig, AutoTokenizer

    with _loading(name):
        AutoConfig.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
    TurnTokenizer(tokenizer)


@contextmanager
def _loading(path: str | Path) -> Iterator[None]:
    """Say clearly that a model cannot be loaded, and why."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise ConfigurationError(
            f"expected --model to be 'tiny', a folder or a hub id of a causal language model, got "
            f"{str(path)!r}, which cannot be loaded: {reason}"
        ) from error


def task_prompt(env: TextEnv) -> str:
    """Return the system message that tells a pretrained model how to act."""
    return (
        "You act in a text environment, one action per turn, until the task is done.\n"
        + env.action_prompt()
    )


def seed_everything(seed: int) -> None:
    """Seed the generators that libraries draw from; the suite itself has no global generator."""
    from transformers import set_seed

    random.seed(seed)
    set_seed(seed)


def one_thread() -> None:
    """Use one torch thread: on few shared cores, barriers cost small models more than they give."""
    import os

    import torch

    if not torch.cuda.is_available():
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def _dtype() -> Any:
    import torch

    return torch.bfloat16 if torch.cuda.is_available() else torch.float32


def _assemble(plan: Plan, model: Any, tokenizer: Any, system: str | None) -> PolicyModel:
    """Put model, tokenizer and budgets together."""
    settings = plan.config.rl
    turn, episode = TINY_BUDGET if plan.config.model == TINY else PRETRAINED_BUDGET
    context = int(getattr(model.config, "max_position_embeddings", 32768))
    limits = Limits(
        turn_tokens=settings.turn_tokens or turn,
        episode_tokens=min(settings.episode_tokens or episode, context),
        context=context,
    )
    return PolicyModel(model, TurnTokenizer(tokenizer), system_opening(system), limits)
