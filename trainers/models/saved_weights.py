"""The weights in a folder, whole or as adapters over their base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.config.model_files.adapter_folder import base_of, has_adapters
from trainers.config.model_files.weights_size import check_room, stored_bytes

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

__all__ = ["load_weights"]


def load_weights(folder: Path, **options: Any) -> PreTrainedModel | PeftModel:
    """Load a causal language model; adapters with the base on which they were trained.

    Args:
        folder: Where it lies.
        **options: Of transformers' ``from_pretrained``.

    Raises:
        ConfigurationError: Its weights take more memory than is free.
    """
    from transformers import AutoModelForCausalLM

    adapted = has_adapters(folder)
    place = base_of(folder) if adapted else str(folder)
    if "quantization_config" not in options:
        dtype = options.get("dtype", "auto")
        check_room(place, stored_bytes(Path(place), None if dtype == "auto" else dtype.itemsize))
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(place, **options)
    if not adapted:
        return model
    from peft import PeftModel

    return PeftModel.from_pretrained(model, str(folder))
