"""Chat template and end-of-turn token for a model whose tokenizer lacks them or has wrong ones."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["CHATML", "read_tokenizer", "template_names"]

CHATML = r"""
{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}
"""
"""ChatML without a default system message."""
LARGEST = 1 << 20
"""Maximum bytes of a template's file."""
NAME = re.compile(r"[a-z0-9_]+")
"""Pattern of a template's name; the path of a file has a dot or a slash."""


def read_tokenizer(
    source: str, chat_template: str | None, end_of_turn: str | None, **options: Any
) -> PreTrainedTokenizerBase:
    """Load a tokenizer with the chosen chat template and end-of-turn token.

    Both are saved with the tokenizer, so every checkpoint has them.

    Args:
        source: A folder or hub id that transformers loads.
        chat_template: A name of `template_names`, or a file; None keeps the model's own.
        end_of_turn: The token that closes an answer, as text; None: the first special token that
            the template puts behind one.
        options: Passed to transformers.

    Raises:
        ConfigurationError: There is no such template, or no such token.
    """
    from transformers import AutoTokenizer

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(source, **options)
    if chat_template is not None:
        tokenizer.chat_template = _read_template(chat_template)
    if end_of_turn is not None:
        if end_of_turn not in tokenizer.get_vocab():
            raise ConfigurationError(
                "expected the end of turn to be a token of the model's vocabulary, such as "
                f"{tokenizer.eos_token or '<|im_end|>'!r}, got {end_of_turn!r:.80}"
            )
        # The end-of-turn token is looked up among the special tokens, each of which is one id.
        tokenizer.add_special_tokens({"eos_token": end_of_turn})
    return tokenizer


@cache
def template_names() -> dict[str, Path | None]:
    """Return the names of chat templates, each with its file; ``chatml`` has none.

    They are those that TRL ships, for models that come without one.
    """
    package = importlib.util.find_spec("trl")  # which imports nothing
    folders = (package and package.submodule_search_locations) or []
    files = sorted(file for f in folders for file in Path(f, "chat_templates").glob("*.jinja"))
    return {"chatml": None, **{path.stem: path for path in files if NAME.fullmatch(path.stem)}}


def _read_template(name: str) -> str:
    """Return a template by its name or file."""
    path: Path | None = Path(name)
    if NAME.fullmatch(name):
        if name not in template_names():
            usual = (
                template for template in template_names() if not template.endswith("_training")
            )
            raise ConfigurationError(
                f"expected a chat template to be a file such as ./template.jinja, or one of "
                f"{', '.join(usual)}; got {name!r:.80}"
            )
        path = template_names()[name]
    if path is None:
        return CHATML
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"expected a chat template to be a Jinja file, or a name such as chatml, got "
            f"{name!r:.200}, which cannot be read: {error}"
        ) from error
    if len(content) > LARGEST or not text.strip():
        raise ConfigurationError(
            f"expected a chat template of 1 to {LARGEST:,} bytes, got {name!r:.200} with "
            f"{'more' if text.strip() else 'none'}"
        )
    return text
