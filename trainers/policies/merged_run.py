"""``agentgym merge``: merge the policies of several runs into a folder that plays like a run's.

Each policy contributes its full weights, adapters added to their base, in float32. The folder holds
``config.yaml`` (of the first run, with the environments of all), ``merge.json`` (who was merged,
and how) and ``checkpoints/trained``: any ``--policy`` of ``agentgym eval`` may be the folder, and
any ``--model`` of ``agentgym train`` that checkpoint.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from agentgym.support.caching import publish, write_atomically
from agentgym.support.flag_marks import Append, Positional
from agentgym.support.folder_lock import holds_other_files
from trainers.config.config_file import CONFIG_FILE, RESOLVED, read_settings
from trainers.config.file_trust import check_settings
from trainers.config.model_files.adapter_folder import base_of, has_adapters
from trainers.config.schema import TINY
from trainers.models.loaded_policy import loading
from trainers.models.merging import Merge, MergeMethod
from trainers.output.run_checkpoints import FINISHED
from trainers.output.run_folder import COMPLETE, MERGED
from trainers.policies.runs import checkpoint_of, environments_of
from trainers.policies.weights import weights_sha256

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

__all__ = ["MergeSettings", "merge_runs"]

TRAINED = Path("checkpoints") / "trained"


@dataclass(frozen=True)
class MergeSettings:
    """Merge policies that began with the same weights into one, which plays like a run's."""

    runs: Positional[tuple[Path, ...]]
    """Folders of runs, or of checkpoints in them: two or more, or one whose adapters are added to
    their base."""
    method: MergeMethod
    """linear: weighted mean. ties: the largest changes of each run, with conflicts resolved by the
    sign of the sum. ram: changes of a single run in full, shared changes as their mean; ram+ also
    scales up the former."""
    out: Path
    """Folder to write: agentgym eval --policy takes it, and agentgym train --model its
    checkpoints/trained."""
    weights: tuple[float, ...] = ()
    """Weight of each run, with linear and ties; equal if left out."""
    density: float = 0.2
    """Share of each run's changes that ties keeps."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it. Repeat the flag for
    each."""
    base: str = ""
    """Their common initial model: a folder or hub id. If left out: their warm start, if it is the
    same, or their --model."""


def merge_runs(settings: MergeSettings) -> Path:
    """Merge the policies of runs, and return the folder of the new one.

    Raises:
        ConfigurationError: There are too few, one is no run, they have different bases, shapes or
            tokenizers, or the folder is not empty.
    """
    import torch

    merge = _checked(settings)
    checkpoints = [checkpoint_of(run) for run in settings.runs]
    base = settings.base or _base(settings.runs)
    model = _load_whole(base)
    start = _weights(model)
    deltas = []
    for checkpoint in checkpoints:
        _check_reader(checkpoints[0], checkpoint)
        its = _weights(_load_whole(checkpoint))
        _check_shapes(start, its, base, checkpoint)
        deltas.append({name: its[name].float() - part.float() for name, part in start.items()})
    with torch.no_grad():
        for name, change in merge(deltas).items():
            start[name].copy_(start[name].float() + change)
    _write(settings, merge, model, base, checkpoints)
    return settings.out


def _checked(settings: MergeSettings) -> Merge:
    """Check the settings and the folder, and return the merge."""
    count = len(settings.runs)
    if count < 2 and not (count and has_adapters(checkpoint_of(settings.runs[0]))):
        raise ConfigurationError(
            f"expected two runs or more to merge, or one with adapters, got {count}"
        )
    weights = settings.weights or (1.0 / count if settings.method == "linear" else 1.0,) * count
    if settings.weights and settings.method.startswith("ram"):
        raise ConfigurationError("expected --weights with linear or ties, got them with ram")
    if len(weights) != count or not all(0.0 <= weight < 1e6 for weight in weights):
        raise ConfigurationError(
            f"expected --weights of at least 0, one for each of the {count} runs, got "
            f"{' '.join(f'{weight:g}' for weight in weights)}"
        )
    if settings.method == "linear":
        if not (total := sum(weights)):
            raise ConfigurationError("expected a weight above 0, got none")
        weights = tuple(weight / total for weight in weights)
    if settings.out.exists() and (not settings.out.is_dir() or holds_other_files(settings.out)):
        raise ConfigurationError(f"expected --out to be a new folder, got {settings.out}")
    return Merge(settings.method, weights, settings.density)


def _base(runs: Sequence[Path]) -> str:
    """Return the common base of the runs: one warm start, or one pretrained model."""
    folders = [environments_of(run).path.parent for run in runs]
    # Runs of the same settings make their own warm starts, which are equal to the last bit.
    starts = [folder / "checkpoints" / FINISHED for folder in folders]
    if all(start.is_dir() for start in starts) and len({*map(weights_sha256, starts)}) == 1:
        return str(starts[0])
    models = [_model_of(run) for run in runs]
    if len(set(models)) == 1 and models[0] != TINY:
        return models[0]
    raise ConfigurationError(
        "expected runs that began with the same weights, because merging combines changes of the "
        f"same weights, got {', '.join(models)} with different warm starts: name their common "
        "model with --base, or train the second with --model RUN/checkpoints/warm-start"
    )


def _model_of(run: Path) -> str:
    """Return the model with which a run began.

    Raises:
        NotTrusted: It is a folder that only the run names.
    """
    settings = environments_of(run)
    model = str(settings.get("model"))
    check_settings({"model": model}, {}, settings.path)
    return model


def _load_whole(folder: str | Path) -> PreTrainedModel:
    """Load a policy with all its weights; adapters are merged into their base."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    with loading(folder):
        if not has_adapters(Path(folder)):
            return AutoModelForCausalLM.from_pretrained(str(folder), dtype="auto")
        # In single precision: merging into rounded weights would round the change away.
        under = _load_whole(base_of(Path(folder))).float()
        adapted: Any = PeftModel.from_pretrained(under, str(folder))
        merged: PreTrainedModel = adapted.merge_and_unload(safe_merge=True)
        return merged


def _weights(model: PreTrainedModel) -> dict[str, Tensor]:
    """Return the weights by name; tensors that share memory once."""
    return {name: part.data for name, part in model.named_parameters()}


def _check_shapes(
    start: Mapping[str, Tensor], its: Mapping[str, Tensor], base: str, checkpoint: Path
) -> None:
    """Check that a policy has the same tensors and shapes as the base."""
    base_shapes, policy_shapes = (
        {name: tuple(part.shape) for name, part in w.items()} for w in (start, its)
    )
    if base_shapes != policy_shapes:
        name = next(
            n
            for n in {**base_shapes, **policy_shapes}
            if base_shapes.get(n) != policy_shapes.get(n)
        )
        raise ConfigurationError(
            f"expected policies with the weights of {base}, got {checkpoint}, whose {name} is "
            f"{policy_shapes.get(name, 'missing')} and not {base_shapes.get(name, 'there')}"
        )


def _check_reader(first: Path, second: Path) -> None:
    """Check that policies share a tokenizer; otherwise one id would be two words."""
    texts = [(folder / "tokenizer.json").read_bytes() for folder in (first, second)]
    if texts[0] != texts[1]:
        raise ConfigurationError(
            f"expected policies with the same tokenizer, got those of {first} and {second}, which "
            "differ: train one from the other's warm start"
        )


def _write(
    settings: MergeSettings,
    merge: Merge,
    model: PreTrainedModel,
    base: str,
    checkpoints: Sequence[Path],
) -> None:
    """Write the folder, settings last, so that an unfinished folder is not a run."""
    from transformers import AutoTokenizer
    from yaml import safe_dump

    out = settings.out
    half = out / TRAINED.parent / ".trained-new"
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    model.save_pretrained(half)
    AutoTokenizer.from_pretrained(str(checkpoints[0])).save_pretrained(half)
    (half / COMPLETE).touch()
    publish(half, out / TRAINED)
    about = {
        "method": merge.method,
        "weights": None if merge.method.startswith("ram") else list(merge.weights),
        "density": merge.density if merge.method == "ties" else None,
        "base": base,
        "policies": [
            {"path": str(path), "weights_sha256": weights_sha256(path)} for path in checkpoints
        ],
        "weights_sha256": weights_sha256(out / TRAINED),
    }
    write_atomically(out / MERGED, json.dumps(about, indent=1).encode())
    text = safe_dump(_settings(settings.runs), sort_keys=False, allow_unicode=True)
    write_atomically(out / CONFIG_FILE, text.encode())


def _settings(runs: Sequence[Path]) -> dict[str, Any]:
    """Return the settings of the first run, with the environments of all, and without adapters."""
    envs: dict[str, Any] = {}
    for run in runs:
        for env in environments_of(run).envs:
            name = env.name or env.env_id.rpartition("/")[2]
            while envs.get(name, replace(env, name=name)) != replace(env, name=name):
                name += "-also"  # another environment has the name
            envs[name] = replace(env, name=name)
    first = read_settings(environments_of(runs[0]).path)
    resolved = {**first[RESOLVED], "envs": {}}
    for name, env in envs.items():
        resolved["envs"][name] = {
            "env_id": env.env_id, "kwargs": dict(env.kwargs), "full_horizon": env.horizon,
            "prompt": env.prompt, "layout": dict(env.layout),
        }  # fmt: skip
    memory = {**(first.get("memory") or {}), "quantize": "none"}
    resolved["memory"] = {**(resolved.get("memory") or {}), "quantize": "none"}
    return {**first, "memory": memory, RESOLVED: resolved}
