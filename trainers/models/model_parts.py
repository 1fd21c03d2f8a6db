"""Check that the parts of a model belong together: weights, tokenizer, configuration, cache.

Each part is loaded separately, so a mismatch would otherwise surface in the middle of a run: an id
beyond the embedding as a device error without a name, adapters as an unknown configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.support.program_name import program_name
from agentgym.support.text_lines import error_line
from trainers.config.model_files.adapter_folder import base_of, has_adapters

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import GenerationConfig, PretrainedConfig

    from trainers.rollouts.chat import TurnTokenizer

__all__ = [
    "check_adapters",
    "check_end",
    "check_history",
    "check_ids",
    "check_no_adapters",
    "generation_config",
]

PROBED = 1 << 26
"""Maximum size of the random model that is built to test how the architecture keeps its history."""


def check_no_adapters(name: str) -> None:
    """Check that a folder holds a model and not only adapters.

    Raises:
        ConfigurationError: The folder holds adapters alone; names their base, and how to merge.
    """
    folder = Path(name)
    if not has_adapters(folder) or (folder / "config.json").exists():
        return
    raise ConfigurationError(
        f"expected --model to be a whole model, got adapters of {base_of(folder)} in {name}: merge "
        f"them first, with {program_name('merge')} {name} --method linear --out FOLDER, and pass "
        "--model FOLDER/checkpoints/trained"
    )


def check_ids(
    name: str | Path,
    config: PretrainedConfig,
    chat: TurnTokenizer,
    generation: GenerationConfig | None,
    vocabulary: int | None = None,
) -> None:
    """Check that the embedding has a row for every id that can be read or generated.

    More rows than ids are fine: embeddings are padded to round sizes.

    Args:
        name: The model, for the message.
        config: Its configuration.
        chat: Its turn tokenizer.
        generation: Its generation config.
        vocabulary: Rows of its embedding; None: as its configuration says.

    Raises:
        ConfigurationError: An id lies beyond the embedding.
    """
    vocabulary = vocabulary or config.get_text_config().vocab_size
    largest, label = max(_ids(config, chat, generation), key=lambda pair: pair[0])
    if largest >= vocabulary:
        raise ConfigurationError(
            f"expected a model with an embedding for every token, but {name} has {vocabulary} of "
            f"them (vocab_size, ids up to {vocabulary - 1}), and {label} is {largest}: use the "
            "tokenizer of this very model, or resize the model to it "
            f"(model.resize_token_embeddings({largest + 1})) and save both"
        )


def check_end(chat: TurnTokenizer, end_of_turn: str | None) -> None:
    """Check that a chat template closes answers with the chosen end-of-turn token.

    Args:
        chat: The turn tokenizer.
        end_of_turn: The token as text; None: none was chosen.

    Raises:
        ConfigurationError: It closes them with another one.
    """
    if end_of_turn not in (None, chat.end_text):
        raise ConfigurationError(
            f"expected the chat template to close an answer with {end_of_turn!r}, the chosen end "
            f"of turn, but it puts {chat.end_text!r} there: choose that, or another chat template"
        )


def _ids(
    config: PretrainedConfig, chat: TurnTokenizer, generation: GenerationConfig | None
) -> Iterator[tuple[int, str]]:
    """Yield the ids that a model reads or writes, each with its description."""
    vocabulary: Mapping[str, int] = chat.tokenizer.get_vocab()
    token, largest = max(vocabulary.items(), key=lambda item: item[1])
    yield largest, f"the largest id of its tokenizer, of {token!r},"
    yield chat.pad_id, "the pad_token_id of its tokenizer"
    for stop in (chat.end_of_turn, *chat.stop_ids):
        yield stop, "the id that ends a turn"
    if (pad := getattr(config, "pad_token_id", None)) is not None:
        yield pad, "the pad_token_id of its configuration"
    for field in ("eos_token_id", "pad_token_id"):
        value = getattr(generation, field, None)
        for number in [value] if isinstance(value, int) else value or []:
            yield number, f"the {field} of its generation config"


def generation_config(name: str, config: PretrainedConfig) -> GenerationConfig:
    """Read a model's generation config, or make it from its configuration as transformers does."""
    from transformers import GenerationConfig

    try:
        return GenerationConfig.from_pretrained(name)
    except OSError:
        return GenerationConfig.from_model_config(config)


def check_history(name: str, config: PretrainedConfig) -> None:
    """Check that the engine in this process can cache the history of an architecture.

    A small architecture is tested with random weights on a few tokens. For a large one only the
    arguments of its forward method are checked; the rest shows when its engine is made.

    Raises:
        ConfigurationError: It cannot.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    from trainers.rollouts.engines.forwards import cache_argument, forward_of

    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return
    cache_argument(MODEL_FOR_CAUSAL_LM_MAPPING[type(config)])
    try:
        with torch.device("meta"):
            weights = sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())
        if weights > PROBED:
            return
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        forward_of(model.eval(), pad=0).close()
    except AgentGymError:
        raise
    except Exception as error:  # inconsistent sizes fail in many ways
        raise ConfigurationError(
            f"expected --model with a configuration from which transformers can make a model, got "
            f"{name}, of which it says: {error_line(error)}"
        ) from error


def check_adapters(name: str, config: PretrainedConfig, adapters: PeftConfig) -> None:
    """Check that PEFT can add adapters to an architecture, without making weights.

    Of models with Mamba layers, such as Falcon-H1, it adapts only some linear layers.

    Raises:
        ConfigurationError: It cannot.
    """
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return
    try:
        with torch.device("meta"):
            get_peft_model(AutoModelForCausalLM.from_config(config), adapters)
    except ValueError as error:
        raise ConfigurationError(
            f"expected --lora.targets that PEFT can adapt in {name}, got "
            f"{adapters.target_modules!r}, of which it says: {error_line(error)}; name other "
            "linear layers, or train all weights with --lora.r 0"
        ) from error
