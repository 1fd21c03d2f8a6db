"""The policy of a run: its weights, its tokenizer, and how its conversations begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgym.core import TextEnv
from agentgym.errors import AgentGymError, ConfigurationError
from trainers.config.plan import Plan
from trainers.config.schema import TINY, known
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.runner import InitialMessages, TokenBudget, initial_messages

OPENING_TOKENS = 4096
"""Most tokens of an episode's opening."""


@dataclass
class PolicyModel:
    """A model with everything that is needed to play episodes with it."""

    model: Any
    """A causal language model of transformers."""
    chat: TurnTokenizer
    """Its turn tokenizer."""
    opening: InitialMessages
    """First messages of an episode."""
    limits: TokenBudget
    """Token budgets."""

    def save(self, path: Path) -> None:
        """Write weights and tokenizer in the format of transformers."""
        self.model.save_pretrained(path)
        self.chat.tokenizer.save_pretrained(path)


def build_tiny(plan: Plan, texts: Iterable[str]) -> PolicyModel:
    """Make a fresh tiny policy whose vocabulary is that of ``texts``."""
    from trainers.models.tiny import build_model, build_tokenizer

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

    # Adapters store where their base lies, and are loaded from other folders than this run's.
    path = Path(path).resolve() if Path(path).exists() else path
    with _loading(path):
        tokenizer = AutoTokenizer.from_pretrained(str(path), padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(str(path), dtype=_dtype(plan))
    return _assemble(plan, model, tokenizer, system)


def check_model(name: str, template_args: Mapping[str, Any] | None = None) -> None:
    """Check ``--model`` before a run's folder is made, without loading weights.

    Args:
        name: ``tiny``, a folder or a hub id.
        template_args: Arguments of the chat template.

    Raises:
        ConfigurationError: There is no such model, or it has no chat template.
    """
    if name == TINY:
        return
    from transformers import AutoConfig, AutoTokenizer

    with _loading(name):
        AutoConfig.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
    TurnTokenizer(tokenizer, template_kwargs=template_args)


@contextmanager
def _loading(path: str | Path) -> Iterator[None]:
    """Say clearly that a model cannot be loaded, and why."""
    try:
        yield
    except AgentGymError:
        raise
    except Exception as error:  # damaged files fail in as many ways as there are parsers
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

    set_seed(seed)


def one_thread() -> None:
    """Use one torch thread: on few shared cores, barriers cost small models more than they give."""
    import os

    import torch

    if not torch.cuda.is_available():
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def _dtype(plan: Plan) -> Any:
    """Return bfloat16 for frozen weights under adapters on a GPU, else float32."""
    import torch

    frozen = plan.config.model != TINY and plan.config.lora.r > 0
    return torch.bfloat16 if frozen and torch.cuda.is_available() else torch.float32


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _assemble(plan: Plan, model: Any, tokenizer: Any, system: str | None) -> PolicyModel:
    """Put model, tokenizer and budgets together."""
    settings = plan.config.rl
    turn, episode = known(settings.turn_tokens), known(settings.episode_tokens)
    most = int(getattr(model.config, "max_position_embeddings", 32768))
    context = min(most, OPENING_TOKENS + episode + turn)
    limits = TokenBudget(turn_tokens=turn, episode_tokens=min(episode, context), context=context)
    chat = TurnTokenizer(tokenizer, template_kwargs=plan.template_args)
    return PolicyModel(model.to(_device()), chat, initial_messages(system), limits)
