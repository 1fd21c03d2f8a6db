"""Load a model's folder as a player or policy."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from agentgym.conversation import Prompt
from agentgym.errors import ConfigurationError, require
from agentgym.evaluation.policy_maker import PolicyMaker
from trainers.models.torch_setup import quiet_libraries
from trainers.policies.model_policy import ModelPlayer, ModelPolicy
from trainers.policies.shared_engine import SharedEngine
from trainers.rollouts.engines import engine_maker
from trainers.rollouts.engines.base import EngineSettings, Sampling

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PretrainedConfig, PreTrainedModel

__all__ = ["PACKAGES", "PlaySettings", "chosen_sampling", "load_player", "maker"]

logger = logging.getLogger(__name__)

PACKAGES = ("torch", "transformers", "peft", "jinja2", "yaml")
"""Packages needed to load a model, all in the extra ``train``."""
SLOTS = 64
"""Episodes for which an engine allocates memory, if it does so in advance."""


@dataclass(frozen=True)
class PlaySettings:
    """How a model plays."""

    prompt: Prompt
    """Its prompt."""
    window: int | None = None
    """Turns that it reads besides the first observation, under any prompt; None: the prompt's."""
    turn_tokens: int | None = None
    """Maximum tokens of a turn; None: training's default."""
    episode_tokens: int | None = None
    """Maximum tokens of an episode after its opening; None: the model's context."""
    history: Any = "auto"
    """How to treat earlier turns that the chat template rewrites."""
    chat_template: str | None = None
    """Chat template instead of the model's own, as for ``--chat-template``."""
    end_of_turn: str | None = None
    """Token that closes an answer; None: as the chat template says."""
    template_args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the chat template."""
    precision: str | None = None
    """Precision of training, ``fp32`` or ``bf16``; None: as the weights are stored."""
    quantize: str = "none"
    """How the base of adapters is quantised."""
    threads: int | None = None
    """Threads of torch while it generates; None: as in training."""
    sampling: Sampling | None = None
    """Sampling settings; None: the model's generation config."""


def load_player(
    folder: Path,
    settings: PlaySettings,
    *,
    temperature: float | None,
    top_p: float | None,
    facts: Mapping[str, Any],
    horizon: int | None = None,
) -> ModelPlayer:
    """Load a model, whole or as adapters, with its tokenizer.

    Args:
        folder: The model's folder.
        settings: How it plays.
        temperature: Overrides the settings; 0 takes the most probable tokens.
        top_p: Overrides the settings.
        facts: Facts that identify the model in reports.
        horizon: Turns per episode that it was trained for.

    Raises:
        ConfigurationError: It cannot be loaded, has no chat template, or a value is out of range.
    """
    from trainers.config.model_files.chat_templates import read_tokenizer
    from trainers.models.loaded_policy import budget_within, loading, stop_ids
    from trainers.models.model_parts import check_end, check_ids
    from trainers.models.threads import thread_count
    from trainers.models.torch_setup import device, quiet_loading
    from trainers.output.summary import versions
    from trainers.policies.weights import weights_sha256
    from trainers.rollouts.chat import TurnTokenizer

    with loading(folder), quiet_loading():
        tokenizer = read_tokenizer(
            str(folder), settings.chat_template, settings.end_of_turn, padding_side="left"
        )
        model = _model(folder, settings)
    if not getattr(model, "is_quantized", False):
        model = model.to(device())
    model.eval().requires_grad_(False)
    chat = TurnTokenizer(
        tokenizer,
        history=settings.history,
        template_kwargs=settings.template_args,
        stop_ids=stop_ids(model),
    )
    check_end(chat, settings.end_of_turn)
    vocabulary = model.get_input_embeddings().weight.shape[0]
    check_ids(folder, model.config, chat, getattr(model, "generation_config", None), vocabulary)
    turn, episode = _tokens(settings, model.config, chat.thinks)
    budget = budget_within(model.config, turn, episode)
    drawn = chosen_sampling(settings.sampling or _own_sampling(model), temperature, top_p)
    drawn = dataclasses.replace(drawn, max_tokens=budget.turn_tokens, stop_ids=chat.stop_ids)
    bf16 = settings.precision == "bf16"
    make = engine_maker("hf", EngineSettings(chat.pad_id, budget.context, SLOTS, bf16=bf16))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    weights = {
        "weights_sha256": weights_sha256(folder),
        "parameters": parameters,
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        "packages": versions(),
    }
    threads = thread_count(settings.threads or "auto", parameters)
    engine = SharedEngine(make(model), drawn, threads)
    facts = {**facts, **weights}
    return ModelPlayer(engine, chat, settings.prompt, budget, facts, horizon, settings.window)


def maker(
    name: str,
    player: ModelPlayer,
    env: gymnasium.Env[str, str],
    seed: int,
    agent: str | None = None,
    command: str | None = None,
    calls: int | None = None,
) -> PolicyMaker:
    """Return a factory of a model's policies, or of an agent that plays with the model.

    Args:
        name: Name of the policy.
        player: The model.
        env: The environment that will be played.
        seed: Seed of sampling.
        agent: ``MODULE:FUNCTION`` of an agent; None: the model plays by itself.
        command: A command instead of a function.
        calls: Calls that the agent may make in an episode; None: four for each turn, and 16.

    Raises:
        ConfigurationError: There is no such agent.
    """
    if agent or command:
        from trainers.methods.gateway.served_agents import agent_maker

        return agent_maker(name, player, env, seed, agent, command, calls)
    return PolicyMaker(
        name,
        lambda env: ModelPolicy(player, seed),
        env,
        player.described(),
        release=player.engine.close,
    )


def chosen_sampling(default: Sampling, temperature: float | None, top_p: float | None) -> Sampling:
    """Return the sampling settings; a temperature of 0 is greedy decoding.

    Raises:
        ConfigurationError: A number is out of range.
    """
    for name, value, low in (("temperature", temperature, 0.0), ("top_p", top_p, None)):
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or (low is not None and value < low):
            raise ConfigurationError(
                f"expected {name} to be a number of at least 0, got {value!r:.80}; 0 takes the "
                "most probable tokens"
            )
    drawn = default
    if temperature is not None:
        greedy = temperature == 0
        drawn = dataclasses.replace(
            drawn, greedy=greedy, temperature=1.0 if greedy else float(temperature)
        )
    return drawn if top_p is None else dataclasses.replace(drawn, top_p=float(top_p))


def check_counts(**counts: object) -> None:
    """Check options that are whole numbers of at least 1, or open (None).

    Raises:
        ConfigurationError: One is something else.
    """
    for name, value in counts.items():
        if value is not None and (type(value) is not int or value < 1):
            raise ConfigurationError(f"expected {name} to be at least 1, got {value!r:.80}")


def check_packages() -> None:
    """Check that all packages are installed.

    Raises:
        DependencyNotInstalled: A package is missing; names the extra.
    """
    quiet_libraries()
    for module in PACKAGES:
        require(module, "train")


def _model(folder: Path, settings: PlaySettings) -> PreTrainedModel | PeftModel:
    """Load the weights; adapters with the base on which they were trained."""
    from trainers.config.model_files.adapter_folder import has_adapters
    from trainers.config.model_files.precision import quantization_config, weights_dtype
    from trainers.models.saved_weights import load_weights
    from trainers.models.torch_setup import device

    adapted, precision = has_adapters(folder), settings.precision
    options: dict[str, Any] = {
        "dtype": "auto" if precision is None else weights_dtype(precision, frozen=adapted)
    }
    if settings.quantize != "none":
        options["quantization_config"] = quantization_config(settings.quantize, precision or "fp32")
        options["device_map"] = {"": device()}
    return load_weights(folder, **options)


def _tokens(settings: PlaySettings, config: PretrainedConfig, thinks: bool) -> tuple[int, int]:
    """Return the most tokens of a turn and of an episode."""
    from trainers.config.family_defaults import ANY_TASKS
    from trainers.config.resolve import THINKING_TURN

    turn = settings.turn_tokens or (THINKING_TURN if thinks else ANY_TASKS["turn_tokens"])
    readable = int(getattr(config, "max_position_embeddings", 32768))
    turn = min(turn, readable)
    return turn, max(turn, settings.episode_tokens or readable)


def _own_sampling(model: PreTrainedModel | PeftModel) -> Sampling:
    """Return the sampling settings of the model's generation config."""
    config = getattr(model, "generation_config", None)
    penalty = getattr(config, "repetition_penalty", None)
    if penalty not in (None, 1.0):
        logger.warning(
            "the model's generation config has a repetition_penalty of %g, without which it plays: "
            "its engine draws from the model's own probabilities, as in training",
            penalty,
        )
    if not getattr(config, "do_sample", False):
        return Sampling(greedy=True)
    return Sampling(
        temperature=float(getattr(config, "temperature", None) or 1.0),
        top_p=float(getattr(config, "top_p", None) or 1.0),
        top_k=int(getattr(config, "top_k", None) or 0),
    )
