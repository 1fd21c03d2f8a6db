"""Merge adapters into their base model, as a plain folder for transformers and vLLM."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentgym.errors import ConfigurationError
from agentgym.support.caching import publish
from trainers.config.model_files.adapter_folder import base_of
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.models.loaded_policy import loading
from trainers.output.run_folder import COMPLETE

__all__ = ["check_export", "merge_adapters"]


def check_export(run: ResolvedRun) -> None:
    """Check before the run that the base model allows a merged export.

    Raises:
        ConfigurationError: The base model is stored quantised.
    """
    if run.config.export == "merged" and run.config.model != TINY and run.config.lora.r:
        _check_precision(run.config.model)


def merge_adapters(checkpoint: Path, target: Path) -> None:
    """Write W + s B A in place of every adapted weight W of the base model.

    Adapters of a run that trained on a quantised copy of its base (QLoRA) are merged into the
    stored base W, not into that copy. This is the usual way; the merged policy differs slightly
    from the evaluated one.

    Args:
        checkpoint: Folder of adapters in PEFT's format, with the tokenizer.
        target: Folder to write; an existing folder is replaced.

    Raises:
        ConfigurationError: The base model cannot be loaded, or is stored quantised.
    """
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = base_of(checkpoint)
    _check_precision(base)
    with loading(base):
        # In the precision of the base, as it is stored: that is what a server would load.
        model = AutoModelForCausalLM.from_pretrained(base, dtype="auto")
    merged = PeftModel.from_pretrained(model, str(checkpoint)).merge_and_unload(safe_merge=True)
    half = target.with_name(f".{target.name}-new")
    for folder in (half, target):
        shutil.rmtree(folder, ignore_errors=True)
    merged.save_pretrained(half)
    AutoTokenizer.from_pretrained(str(checkpoint)).save_pretrained(half)
    (half / COMPLETE).touch()
    publish(half, target)


def _check_precision(base: str) -> None:
    """Refuse a base model whose weights are no plain numbers."""
    from transformers import AutoConfig

    with loading(base):
        stored = getattr(AutoConfig.from_pretrained(base), "quantization_config", None)
    if stored is None:
        return
    method = stored.get("quant_method") if isinstance(stored, dict) else stored.quant_method
    raise ConfigurationError(
        f"expected a base model in full precision for --export merged, but {base} is stored "
        f"quantised ({getattr(method, 'value', method)}), and adapters cannot be added to such "
        "weights; pass the unquantised original with --model, or leave out --export and serve "
        "the adapters beside their base model"
    )
