"""The policy of a run: weights, tokenizer and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.conversation import Prompt
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.support.text_lines import error_line
from trainers import processes
from trainers.config.model_files.chat_templates import read_tokenizer
from trainers.config.model_files.precision import (
    keep_differentiable,
    quantization_config,
    weights_dtype,
)
from trainers.config.model_files.source import MODEL_NAMES, model_source
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY, TrainConfig
from trainers.config.sections import ALL_LINEAR
from trainers.models.model_parts import (
    check_adapters,
    check_end,
    check_history,
    check_ids,
    check_no_adapters,
    generation_config,
)
from trainers.models.torch_setup import device
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer

if TYPE_CHECKING:
    from peft import PeftConfig, PeftModel
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

OPENING_TOKENS = 4096
"""Maximum tokens of an episode's opening."""


@dataclass
class LoadedPolicy:
    """A model with its tokenizer, prompts and budgets: all that is needed to play episodes."""

    model: PreTrainedModel | PeftModel
    """A causal language model of transformers."""
    chat: TurnTokenizer
    """Its turn tokenizer."""
    prompts: Mapping[str, Prompt]
    """Prompt for each environment of the run, by name."""
    budget: TokenBudget
    """Token budgets."""

    def save(self, path: Path) -> None:
        """Write weights and tokenizer in the format of transformers."""
        self.model.save_pretrained(path)
        self.chat.tokenizer.save_pretrained(path)


def build_tiny(
    run: ResolvedRun, texts: Iterable[str], tokenizer: PreTrainedTokenizerBase | None = None
) -> LoadedPolicy:
    """Make a fresh tiny policy.

    Args:
        run: The run.
        texts: Texts whose words, with those of the prompts, form its vocabulary.
        tokenizer: The tokenizer; None makes one from that vocabulary.
    """
    from trainers.models.tiny import build_model, build_tokenizer

    prompts = make_prompts(run)
    all_texts = chain(texts, *(prompt.texts for prompt in prompts.values()))
    tokenizer = tokenizer or build_tokenizer(all_texts, exact=run.exact_text)
    model = build_model(tokenizer, run.config.tiny, run.config.seed)
    return _assemble(run, model, tokenizer, prompts)


def load_policy(run: ResolvedRun, path: str | Path) -> LoadedPolicy:
    """Load a chat model and its tokenizer from a folder or the hub.

    Raises:
        ConfigurationError: There is no such model, or it has no chat template.
    """
    from transformers import AutoModelForCausalLM

    config = run.config
    # A checkpoint has the tokenizer of its run, template included.
    choices = (config.chat_template, config.end_of_turn) if path == config.model else (None, None)
    # Adapters store the path of their base model, and may come from another run's folder.
    path = Path(path).resolve() if Path(path).exists() else path
    with loading(path) as source:
        tokenizer = read_tokenizer(source, *choices, padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(source, **_weights(run))
    keep_differentiable(model)
    return _assemble(run, model, tokenizer, make_prompts(run))


def _weights(run: ResolvedRun) -> dict[str, Any]:
    """Return the options that decide the weights' types."""
    memory = run.config.memory
    dtype = weights_dtype(memory.precision, frozen=adapters(run) is not None)
    if memory.quantize == "none":
        return {"dtype": dtype}
    quantized = quantization_config(memory.quantize, memory.precision)
    return {"dtype": dtype, "quantization_config": quantized, "device_map": {"": device()}}


def check_model(
    settings: TrainConfig,
    template_args: Mapping[str, Any],
    imitates: bool = False,
    in_process: bool = False,
) -> None:
    """Check ``--model`` before a run's folder is made, without loading weights.

    Args:
        settings: The settings.
        template_args: Arguments of the chat template.
        imitates: Whether it will imitate written actions.
        in_process: Whether the transformers engine generates with it.

    Raises:
        ConfigurationError: There is no such model, it has no chat template, its parts do not fit
            one another, or a written action has no tokens of its own behind the template's prompt.
    """
    if settings.model == TINY:
        return
    name, history = settings.model, settings.rollout.history
    check_no_adapters(name)
    config = read_model_config(name)
    with loading(name) as source:
        tokenizer = read_tokenizer(source, settings.chat_template, settings.end_of_turn)
    chat = TurnTokenizer(tokenizer, history=history, template_kwargs=template_args)
    check_end(chat, settings.end_of_turn)
    check_ids(name, config, chat, generation_config(source, config))
    if in_process:
        check_history(name, config)
    if imitates and chat.joined is not None:
        raise ConfigurationError(
            "expected --model with a tokenizer that encodes an action behind the generation prompt "
            f"without changing the tokens of the prompt, but that of {name} joins its end with "
            f"{chat.joined!r}, so that there are no tokens of the action alone to imitate: use a "
            "chat template whose generation prompt does not end in white space, or train without "
            "demonstrations (--sft.max-steps 0)"
        )


def read_model_config(name: str) -> PretrainedConfig:
    """Read the configuration of a model in a folder or on the hub, without its weights.

    Raises:
        ConfigurationError: There is no such model.
    """
    from transformers import AutoConfig

    with loading(name) as source:
        return AutoConfig.from_pretrained(source)


def adapters(run: ResolvedRun) -> PeftConfig | None:
    """Return PEFT's configuration for a pretrained model, or None."""
    settings = run.config.lora
    if run.config.model == TINY or settings.r == 0:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=ALL_LINEAR[0] if settings.targets == ALL_LINEAR else [*settings.targets],
        task_type="CAUSAL_LM",
    )


def check_lora(run: ResolvedRun) -> None:
    """Check that PEFT can add the run's adapters to its model, without loading weights.

    Raises:
        ConfigurationError: It cannot.
    """
    if (lora := adapters(run)) is not None:
        check_adapters(run.config.model, read_model_config(run.config.model), lora)


@contextmanager
def loading(path: str | Path) -> Iterator[str]:
    """Load part of a model; if that fails, raise one error that says why.

    Yields:
        The folder or hub id that transformers loads.
    """
    name = str(path)
    if not Path(path).exists() and (name.startswith((".", "/", "~")) or name.count("/") > 1):
        raise ConfigurationError(
            f"expected --model to be {MODEL_NAMES}, got {name!r}: there is no such file or folder"
        )
    processes.load_whole()
    try:
        yield model_source(path)
    except AgentGymError:
        raise
    except Exception as error:  # damaged files fail in as many ways as there are parsers
        raise ConfigurationError(
            f"expected --model to be {MODEL_NAMES}, got {name!r}, which cannot be loaded: "
            f"{error_line(error)}"
        ) from error


def reader_of(run: ResolvedRun, texts: Iterable[str]) -> tuple[TurnTokenizer, TokenBudget]:
    """Return the turn tokenizer and the token budgets of a run's policy; no weights are loaded.

    Args:
        run: The run.
        texts: Texts that a tiny policy will read, which define its vocabulary.
    """
    if run.config.model == TINY:
        from trainers.models.tiny import build_tokenizer, model_config

        tokenizer: PreTrainedTokenizerBase = build_tokenizer(texts, exact=run.exact_text)
        config: PretrainedConfig = model_config(run.config.tiny, len(tokenizer))
    else:
        settings = run.config
        with loading(settings.model) as source:
            tokenizer = read_tokenizer(source, settings.chat_template, settings.end_of_turn)
        config = read_model_config(run.config.model)
    chat = TurnTokenizer(
        tokenizer, history=run.config.rollout.history, template_kwargs=run.template_args
    )
    return chat, token_budget(run, config)


def make_prompts(run: ResolvedRun) -> dict[str, Prompt]:
    """Return the policy's prompt for each environment of a run, by name."""
    return {env.name: env.make_prompt() for env in run.envs}


def _assemble(
    run: ResolvedRun,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Mapping[str, Prompt],
) -> LoadedPolicy:
    """Put model, tokenizer and budgets together."""
    chat = TurnTokenizer(
        tokenizer,
        history=run.config.rollout.history,
        template_kwargs=run.template_args,
        stop_ids=stop_ids(model),
    )
    budget = token_budget(run, model.config)
    # A quantised base is placed on its device when loaded, and cannot be moved.
    placed = model if getattr(model, "is_quantized", False) else model.to(device())
    return LoadedPolicy(placed, chat, prompts, budget)


def stop_ids(model: PreTrainedModel) -> list[int]:
    """Return the stop ids of the model's generation config, as a server applies them."""
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return [] if ends is None else [ends] if isinstance(ends, int) else list(ends)


def token_budget(run: ResolvedRun, config: object) -> TokenBudget:
    """Return the token budgets of a run, limited by the context length of the model."""
    settings = run.config.rl
    return budget_within(config, settings.turn_tokens, settings.episode_tokens)


def budget_within(config: object, turn: int, episode: int) -> TokenBudget:
    """Return token budgets limited by the context length of the model.

    Args:
        config: The model's configuration, or any object with its number of positions.
        turn: Maximum tokens of a turn.
        episode: Maximum tokens of an episode after its opening.
    """
    longest = int(getattr(config, "max_position_embeddings", 32768))
    context = min(longest, OPENING_TOKENS + episode + turn)
    return TokenBudget(turn_tokens=turn, episode_tokens=min(episode, context), context=context)
