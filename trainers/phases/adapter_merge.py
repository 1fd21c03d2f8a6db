"""Adapters merged into their base model: a plain folder that transformers and vLLM open."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentgym.errors import ConfigurationError
from agentgym.support.caching import publish
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.models.loaded_policy import loading
from trainers.output.card import has_adapters
from trainers.output.run_folder import COMPLETE

__all__ = ["check_export", "merge_adapters"]


def check_export(run: ResolvedRun) -> None:
    """Refuse a merged export that the base model does not allow, before the run begins.

    Raises:
        ConfigurationError: The base model is stored quantised.
    """
    if run.config.export == "merged" and run.config.model != TINY and run.config.lora.r:
        _check_precision(run.config.model)


def merge_adapters(checkpoint: Path, target: Path) -> None:
    """Write W + s B A in place of every adapted weight W of the base model.

    Adapters of a run that trained on a quantised copy of its base (QLoRA) are merged into the base
    as it is stored, W, not into that copy: the usual way, after which the policy acts a little
    differently from the one that was evaluated.

    Args:
        checkpoint: Folder of adapters in PEFT's format, with the tokenizer.
        target: Folder to be written; another one of the name is replaced.

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


def base_of(checkpoint: Path) -> str:
    """Return the path or hub id of the base model of adapters.

    Adapters keep where the warm start lay that they were trained on. In a run's folder that was
    moved since it lies beside them.
    """
    from peft import PeftConfig

    base = str(PeftConfig.from_pretrained(str(checkpoint)).base_model_name_or_path)
    beside = checkpoint.parent / Path(base).name
    moved = Path(base).is_absolute() and not Path(base).exists() and beside.is_dir()
    return str(beside) if moved and not has_adapters(beside) else base


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
        "weights; name the model it was made from with --model, or leave out --export and serve "
        "the adapters beside their base model"
    )
