"""The chat templates that TRL ships, each with a small tokenizer that knows its markup."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

FOLDER = Path(trl.__file__).parent / "chat_templates"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.jinja"))
"""Names of all templates of the installed TRL, its own versions for training included."""
THINK = ("<think>", "</think>")
_MARKUP = re.compile(
    "<[|\uff5c][^<>\\s'\"]+?[|\uff5c]>" r"|<\|[a-z_]+>|<[a-z_]+\|>|</?[a-z_]+>|\[gMASK\]"
)
_EOS = {
    "deepseek": "<\uff5cend▁of▁sentence\uff5c>",
    "gptoss": "<|return|>",
    "glm4moe": "<|endoftext|>",
}


@cache
def byte_level(specials: tuple[str, ...], plain: tuple[str, ...]) -> Tokenizer:
    """A byte-level tokenizer of about 300 entries."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300 + len(specials),
        special_tokens=list(specials),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(["press red then click", "plan the next door"], trainer)
    raw.add_tokens(list(plain))
    return raw


def tokenizer(name: str) -> Any:
    """A tokenizer with the template and what it marks messages with as tokens."""
    source = (FOLDER / f"{name}.jinja").read_text(encoding="utf-8")
    marks = sorted(set(_MARKUP.findall(source)) - set(THINK))
    eos = next((token for key, token in _EOS.items() if name.startswith(key)), "</s>")
    specials = tuple(dict.fromkeys(["<s>", eos, *marks]))
    fast_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_level(specials, THINK),
        bos_token="<s>",
        eos_token=eos,
        pad_token="<s>",
        additional_special_tokens=list(specials[2:]),
    )
    fast_tokenizer.chat_template = source
    return fast_tokenizer
