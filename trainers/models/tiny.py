"""A policy from scratch: a Qwen3-architecture model of under a million weights and its tokenizer.

A word-level vocabulary trained on a family's own text keeps a vocabulary of a few hundred and gives
a word one id wherever it stands, which is what lets so small a model copy words from an
observation into an action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers.config.sections import TinyConfig

if TYPE_CHECKING:
    from transformers import (
        PreTrainedModel,
        PreTrainedTokenizerBase,
        PreTrainedTokenizerFast,
        Qwen3Config,
    )

__all__ = [
    "CHAT_TEMPLATE",
    "PATTERN",
    "build_model",
    "build_tokenizer",
    "model_config",
]

PAD, END, UNKNOWN = "<|pad|>", "<|end|>", "<|unk|>"
ROLES = ("system", "user", "assistant")

CHAT_TEMPLATE = (
    "{%- if tools -%}<|system|>{%- for tool in tools -%}{{ tool['function']['name'] }}"
    "({{ tool['function']['parameters']['properties'] | join(', ') }});{%- endfor -%}<|end|>"
    "{%- endif -%}"
    "{%- for m in messages -%}"
    "{%- if m['role'] == 'assistant' -%}"
    "<|assistant|>{% generation %}{{ m['content'] }}<|end|>{% endgeneration %}"
    "{%- else -%}"
    "<|{{ 'user' if m['role'] == 'tool' else m['role'] }}|>{{ m['content'] }}<|end|>"
    "{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
"""Append-only, one token per role: ``<|user|>text<|end|><|assistant|>text<|end|>...``.

Tools are named with their parameters in a system message; what one answered the user says. What the
assistant writes is marked as generated, so that TRL can train on it alone (assistant_only_loss).
"""

PATTERN = r"</?[a-z]+>|[a-z]+\[|\]|[$#]?[0-9]+|[A-Za-z]+(?:['-][A-Za-z]+)*|\n|[^\s\w]"
"""What a word is: a tag such as ``<search>``, ``search[``, a price, a label, a number, a word, a
newline, one other symbol."""
EXACT_PATTERN = r"[A-Za-z]+|[0-9]| +|\s|[^\sA-Za-z0-9]"
"""What a word is where every character counts, as in a program; it matches all of a text."""


def build_tokenizer(
    texts: Iterable[str],
    *,
    words: Sequence[str] = (),
    pattern: str = PATTERN,
    lowercase: bool = True,
    exact: bool = False,
    vocabulary: int = 8192,
) -> PreTrainedTokenizerFast:
    """Train a word-level tokenizer with the chat template above.

    Decoding joins words with spaces (``click[ buy now ]``); action parsers strip them.

    Args:
        texts: Text of the family: observations and actions.
        words: Words to include even if the texts lack them.
        pattern: Regular expression of a word; what it does not match is dropped.
        lowercase: Fold case, special tokens excepted.
        exact: Keep case, blanks and every symbol instead, so that decoding gives the text back.
        vocabulary: Maximum entries; rarer words become unknown.

    Raises:
        ConfigurationError: The texts hold no word.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    roles = [f"<|{role}|>" for role in ROLES]
    specials = [PAD, END, UNKNOWN, *roles]
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    if exact:
        pattern, tokenizer.decoder = EXACT_PATTERN, decoders.Fuse()
    elif lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocabulary, special_tokens=specials, show_progress=False
    )
    # Wanted words are repeated so that the frequency cut does not drop them.
    tokenizer.train_from_iterator([*texts, *([" ".join(words)] * 1000 if words else [])], trainer)
    if tokenizer.get_vocab_size() <= len(specials):
        raise ConfigurationError("expected texts with words to build a tokenizer from, got none.")
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        additional_special_tokens=roles,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    wrapped.chat_template = CHAT_TEMPLATE
    return wrapped


def build_model(
    tokenizer: PreTrainedTokenizerBase, config: TinyConfig | None = None, seed: int = 0
) -> PreTrainedModel:
    """Make a fresh fp32 Qwen3 causal LM with tied embeddings, for the vocabulary of a tokenizer.

    The seed decides the weights; the global generator is left as it was.
    """
    import torch
    from transformers import Qwen3ForCausalLM

    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    settings = model_config(config or TinyConfig(), len(tokenizer), **ids)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(settings)
    model.generation_config.update(**ids)
    return model


def model_config(size: TinyConfig, vocabulary: int, **ids: int | None) -> Qwen3Config:
    """Return the configuration of a fresh policy for a vocabulary of so many tokens."""
    from transformers import Qwen3Config

    return Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=size.head_dim or size.hidden // size.heads,
        intermediate_size=size.intermediate,
        max_position_embeddings=size.context,
        rope_parameters={"rope_type": "default", "rope_theta": size.rope_theta},
        initializer_range=size.init,
        tie_word_embeddings=True,
        bos_token_id=None,
        **ids,
    )
