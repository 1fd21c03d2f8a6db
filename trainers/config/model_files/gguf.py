"""Convert GGUF files to model folders, once, in the cache, and repair their tokenizers.

transformers reads a GGUF file but does not save it, and picks wrong tokens for end of text and
padding. The file's metadata names the right ones, which are set here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, require
from agentgym.support.caching import cache_folder, check_folder, file_entry, save_folder
from trainers.config.model_files.weights_size import check_room

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MAGIC = b"GGUF"
SPECIAL_TOKENS = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
"""Special tokens of a tokenizer, by the names that the metadata has for them."""
CONVERSION = 6
"""Bytes per weight during a conversion: the float32 weights and the bfloat16 copy that is saved."""
DIGIT_SPLITTERS = frozenset({"smollm"})
"""Pre-tokenizers (``tokenizer.ggml.pre``) that split numbers into digits, which the conversion
of transformers forgets."""

logger = logging.getLogger(__name__)


def find_gguf(path: Path) -> Path | None:
    """Return the GGUF file that a path names: the file, or the only one of a folder of weights.

    Raises:
        ConfigurationError: A folder has several and no other weights.
    """
    if path.is_file():
        return path if path.suffix == ".gguf" else None
    if not path.is_dir() or (path / "config.json").exists():
        return None
    files = sorted(path.glob("*.gguf"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ConfigurationError(
            f"expected one GGUF file in {path}, got {names}: name one, as in --model {files[0]}"
        )
    return files[0] if files else None


def convert_gguf(path: Path) -> Path:
    """Return a folder that transformers can load, converted from a GGUF file and cached.

    Args:
        path: The file. Its weights are dequantized and kept in bfloat16.

    Raises:
        ConfigurationError: It is not a GGUF file, transformers does not read its architecture or
            its tokenizer, or its conversion takes more memory than is free.
        DataError: The converted folder has been damaged since.
        DependencyNotInstalled: The package ``gguf`` is missing.
    """
    require("gguf", "smollm2")
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ConfigurationError(
                f"expected a GGUF file, got {path}, which does not begin with {MAGIC.decode()}: "
                "fetch it again"
            )
    digest = file_entry(path)["sha256"]
    folder = cache_folder() / "models" / f"{path.stem}-{digest[:12]}"
    if not folder.is_dir():
        metadata = read_metadata(path)
        check_architecture(path, metadata)
        check_room(path, CONVERSION * count_weights(path), "its conversion takes")
        logger.info("converting %s, once, into %s", path.name, folder)
        if not save_folder(folder, lambda scratch: _convert(path, metadata, scratch)):
            raise ConfigurationError(
                f"expected to write the converted model into {folder}, which fails: set "
                "AGENTGYM_CACHE to a folder on a disk with room"
            )
    check_folder(folder)
    return folder


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a GGUF file by its keys, without lists, which hold the vocabulary.

    Raises:
        ConfigurationError: The file is damaged.
    """
    from gguf import GGUFReader

    try:
        fields = GGUFReader(path).fields.values()
        return {field.name: field.contents() for field in fields if len(field.types) == 1}
    except Exception as error:  # the reader trusts the lengths that a damaged file states
        raise ConfigurationError(
            f"expected a whole GGUF file, got {path}, which cannot be read ({error}): fetch it "
            "again"
        ) from error


def count_weights(path: Path) -> int:
    """Count the weights of a GGUF file by the shapes that it states; none is read."""
    from gguf import GGUFReader

    return sum(int(tensor.n_elements) for tensor in GGUFReader(path).tensors)


def check_architecture(path: Path, metadata: Mapping[str, Any]) -> None:
    """Check that transformers converts the architecture of a file.

    Raises:
        ConfigurationError: It does not.
    """
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    architectures = sorted({*GGUF_SUPPORTED_ARCHITECTURES} - {"general", "tokenizer"})
    if (architecture := metadata.get("general.architecture")) not in architectures:
        raise ConfigurationError(
            f"expected a GGUF file of an architecture that transformers converts "
            f"({', '.join(architectures)}), got {architecture!r} in {path}: pass the original "
            "folder or hub id of the model as --model"
        )


def _convert(path: Path, metadata: Mapping[str, Any], target: Path) -> None:
    """Write model and tokenizer of a file into a folder, as transformers saves them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        tokenizer = AutoTokenizer.from_pretrained(**source)
        model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
    except Exception as error:  # parsers of metadata and tensors fail in as many ways
        raise ConfigurationError(
            f"expected a GGUF file that transformers converts, got {path}: {error}; pass the "
            "original folder or hub id of the model as --model"
        ) from error
    name_special_tokens(tokenizer, metadata)
    split_digits(tokenizer, metadata)
    # transformers refuses to save quantized models, but these weights are dequantized. Older
    # versions do not set it.
    vars(model.config).pop("quantization_config", None)
    model.hf_quantizer, model.is_quantized = None, False
    model.generation_config.pad_token_id = model.config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    tokenizer.save_pretrained(target)
    model.save_pretrained(target)


def name_special_tokens(tokenizer: PreTrainedTokenizerBase, metadata: Mapping[str, Any]) -> None:
    """Give a tokenizer the special tokens that a file's metadata names by their ids."""
    for name, key in SPECIAL_TOKENS.items():
        number = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if number is not None:
            setattr(tokenizer, f"{name}_token", tokenizer.convert_ids_to_tokens(int(number)))
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token


def split_digits(tokenizer: PreTrainedTokenizerBase, metadata: Mapping[str, Any]) -> None:
    """Split numbers into digits where the file's pre-tokenizer does."""
    if metadata.get("tokenizer.ggml.pre") not in DIGIT_SPLITTERS:
        return
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    parts = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(parts)
