"""The card of a trained model: data, training, results and usage.

The front matter is the metadata of the Hugging Face hub, written by ``huggingface_hub`` itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.conversation import BARE, Layout
from agentgym.support.caching import write_atomically
from trainers.config.config_file import FREE, RESOLVED, read_settings
from trainers.config.describe import horizon_in_words
from trainers.config.model_files.adapter_folder import has_adapters
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.output.page_templates import render
from trainers.output.roles import TRAINED
from trainers.output.run_folder import RunFolder
from trainers.output.summary import Summary, WarmStart

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

__all__ = ["chosen_folder", "usage_code", "write_card"]

TAGS = ("agentgym", "reinforcement-learning", "multi-turn", "text-agent", "trl")
SERVED = 8192
"""Maximum tokens of a conversation in the example of vLLM."""


def chosen_folder(folder: RunFolder, summary: Summary) -> Path:
    """Return the checkpoint of the policy that was compared."""
    return folder.checkpoints / summary.chosen.checkpoint


def write_card(
    folder: RunFolder, run: ResolvedRun, summary: Summary, checkpoint: Path | None = None
) -> None:
    """Write the ``README.md`` of the trained model.

    Args:
        folder: Folder of the run.
        run: The resolved run.
        summary: The result of the run.
        checkpoint: Where the model lies; None: the policy that was compared.
    """
    place = checkpoint or chosen_folder(folder, summary)
    adapters = has_adapters(place)
    card = render(
        "card.md.j2",
        metadata=_metadata(run, summary, adapters, merged=place == folder.merged).to_yaml(),
        run=run,
        horizons={env.name: horizon_in_words(env) for env in run.envs},
        summary=summary,
        warm=_warm_start(summary),
        base=base_name(run),
        adapters=adapters,
        merged=place == folder.merged,
        usage=usage_code(run, summary, place, "."),
        rank=run.config.lora.r,
        # After a warm start the adapters belong to its checkpoint, which lies beside them.
        beneath="../warm-start" if adapters and run.config.sft.max_steps else base_name(run),
        served=SERVED,
        settings=_settings(folder),
        prompts={env.name: env.make_prompt() for env in run.envs},
    )
    write_atomically(place / "README.md", card.encode())


def _warm_start(summary: Summary) -> WarmStart | None:
    """Return the result of the warm start, which is shared by all environments."""
    parts = summary.families.values() or [summary]
    return next((part.warm_start for part in parts if part.warm_start), None)


def base_name(run: ResolvedRun) -> str:
    """Return the name of the base model, without local paths."""
    model = run.config.model
    return Path(model).resolve().name if Path(model).exists() else model


def usage_code(run: ResolvedRun, summary: Summary, checkpoint: Path, place: str) -> str:
    """Return Python code that loads a trained model from a place and evaluates it, greedily."""
    modules = {env.module: env.env_id for env in run.envs if env.module}
    layouts = {env.name: _own_fields(env.layout) for env in run.envs}
    return render(
        "usage.py.j2",
        run=run,
        summary=summary,
        modules=modules,
        adapters=has_adapters(checkpoint),
        place=place,
        layouts=layouts,
    )


def _own_fields(layout: Layout) -> dict[str, Any]:
    """Return the fields of a layout that are required or not the default."""
    bare = BARE.to_dict()
    needed = ("kind", "first", "later")
    return {k: v for k, v in layout.to_dict().items() if k in needed or v != bare.get(k)}


def _metadata(run: ResolvedRun, summary: Summary, adapters: bool, merged: bool) -> ModelCardData:
    """Return the metadata by which the hub lists and links a model."""
    from huggingface_hub import ModelCardData

    # The hub resolves the base model's name, so a local folder must not be given.
    on_the_hub = run.config.model != TINY and not Path(run.config.model).exists()
    relation = "adapter" if adapters else "merge" if merged else "finetune"
    families = dict.fromkeys(env.family for env in run.envs)
    # A model's name must not have other characters.
    title = re.sub(r"[^A-Za-z0-9.]+", "-", run.title).strip("-")
    values: dict[str, Any] = {
        "library_name": "peft" if adapters else "transformers",
        "pipeline_tag": "text-generation",
        "tags": [*TAGS, *families, summary.preset, *(["lora"] if adapters or merged else [])],
        "base_model": run.config.model if on_the_hub else None,
        "base_model_relation": relation if on_the_hub else None,
        "model_name": f"{base_name(run)}-{title}-{summary.preset}",
    }
    return ModelCardData(**values, eval_results=_eval_results(run, summary))


def _eval_results(run: ResolvedRun, summary: Summary) -> list[EvalResult]:
    """Return the results of the trained policy per environment, in the hub's format."""
    from huggingface_hub import EvalResult

    return [
        EvalResult(
            task_type="reinforcement-learning",
            task_name="text agent",
            dataset_type=env.env_id,
            dataset_name=f"{env.title}, {part.eval[TRAINED].n} held-out tasks",
            dataset_config=env.name if run.several else None,
            dataset_split=part.evaluation.split,
            dataset_revision=part.evaluation.panel_sha256,
            metric_type=name,
            metric_name=f"{name}, {part.evaluation.decoding} actions",
            metric_value=round(value, 4),
        )
        for env in run.envs
        for part in [summary.families[env.name] if run.several else summary]
        for name, value in (
            ("success", part.eval[TRAINED].success),
            ("score", part.eval[TRAINED].score_mean),
        )
    ]


def _settings(folder: RunFolder) -> str:
    """Return the settings given when the run started, as YAML for ``--config``."""
    import yaml

    from trainers.config.config_file import CONFIG_FILE, stored_settings
    from trainers.config.schema import from_mapping

    stored = read_settings(folder.path / CONFIG_FILE)
    defaults = stored_settings(from_mapping({"env": stored["env"]}))
    changes = {"env": stored["env"], **_changed(stored, defaults)}
    if "model" in changes and Path(changes["model"]).exists():
        changes["model"] = Path(changes["model"]).resolve().name
    return yaml.safe_dump(changes, sort_keys=False)


def _changed(values: dict[str, Any], defaults: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings that differ from their defaults and change what a run computes."""
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if name == RESOLVED or f"{prefix}{name}" in FREE or value == defaults.get(name):
            continue
        if isinstance(value, dict) and isinstance(defaults.get(name), dict):
            value = _changed(value, defaults[name], f"{prefix}{name}.")
        if value != {}:
            changed[name] = value
    return changed
