"""Settings that depend on the model: engine, precision, and whether turns hold thoughts."""

from __future__ import annotations

import importlib.util
import logging
from functools import cache
from pathlib import Path

from agentgym.errors import AgentGymError
from agentgym.registration import making
from trainers.config.config_file import CONFIG_FILE, RESOLVED, read_settings
from trainers.config.model_files.chat_templates import read_tokenizer
from trainers.config.model_files.precision import chosen_precision
from trainers.config.model_files.source import model_source
from trainers.config.schema import TINY, TrainConfig
from trainers.rollouts.chat import TurnTokenizer

__all__ = ["choose_engine", "choose_precision", "count_weights", "thinks"]

logger = logging.getLogger(__name__)


def choose_engine(config: TrainConfig) -> str:
    """Return the generation engine: vLLM for a pretrained model if it is installed and has a GPU.

    Engines of transformers reserve keys and values for the whole context of every episode.
    """
    if config.engine is not None:
        return config.engine
    if config.model == TINY or config.memory.quantize != "none":
        return "hf"
    import torch

    has_vllm = torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None
    return "vllm" if has_vllm else "hf"


def choose_precision(config: TrainConfig, out: Path) -> str:
    """Return the precision of matrix products; a resumed run keeps its own."""
    path = out / CONFIG_FILE
    if config.resume and config.memory.precision == "auto" and path.exists():
        stored = read_settings(path).get(RESOLVED, {}).get("memory", {}).get("precision")
        if stored in ("fp32", "bf16"):
            return str(stored)
    return chosen_precision(
        config.memory.precision, config.model == TINY, lambda: count_weights(config.model)
    )


def count_weights(model: str) -> int:
    """Count the weights of a pretrained model from its configuration; 0 if it cannot be read."""
    try:
        return _count_weights(model)
    except Exception:  # the loader reports models that cannot be read
        logger.debug("no configuration of %s to read", model, exc_info=True)
        return 0


@cache
def _count_weights(model: str) -> int:
    """Count the weights of a pretrained model that exists."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    source = model_source(model)  # Converted with real memory, if it has to be.
    with torch.device("meta"):  # Shapes alone: no memory is taken.
        config = AutoConfig.from_pretrained(source)
        network = AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in network.parameters())


def thinks(config: TrainConfig) -> bool:
    """Return whether the model may think before it answers, according to its chat template."""
    arguments = making.parse_pairs(config.template_args, "--template-args")
    try:
        source = model_source(config.model)
        tokenizer = read_tokenizer(source, config.chat_template, config.end_of_turn)
        return TurnTokenizer(tokenizer, template_kwargs=arguments).thinks
    except AgentGymError:
        raise  # A chat template that no conversation can be made with.
    except Exception:  # the loader reports models that cannot be read
        logger.debug("no tokenizer of %s to ask", config.model, exc_info=True)
        return False
