"""The table that classifies each environment, argument and setting that a file may contain.

A name without a row counts as code. The names are plain text and not imported from the packages
that define them, so that this module stays below its readers; ``tests/trust`` compares the names
with the actual arguments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import gymnasium

Nature = Literal["plain", "path", "address", "command", "code", "right"]
DEEDS: Mapping[Nature, str] = {
    "plain": "does nothing by itself",
    "path": "makes it read or write the files there",
    "address": "makes it connect there, with the keys and tokens that this machine has for it",
    "command": "makes it run that command",
    "code": "makes it import and run that code",
    "right": "gives it a right over this machine that only you can give",
}
"""What a value does, by its nature, for messages."""


def _never(value: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table."""

    nature: Nature
    """Nature of the values."""
    harmless: Callable[[Any], bool] = _never
    """Returns True for values that are plain, whatever `nature` says."""
    exceptions: Mapping[str, Nature] = field(default_factory=dict)
    """Values with another nature."""

    def nature_of(self, value: Any) -> Nature:
        """Return the nature of a value."""
        named = self.exceptions.get(value) if isinstance(value, str) else None
        return "plain" if self.is_plain(value) else named or self.nature

    def is_plain(self, value: Any) -> bool:
        """Return whether a value needs no consent; None counts as left out."""
        return self.nature == "plain" or value is None or self.harmless(value)


class SettingGroup(Enum):
    """A setting whose value consists of names or arguments with their own rows."""

    ENVIRONMENTS = "names of environments"
    ENV_ARGUMENTS = "arguments of the environments"
    HOOKS = "reward hooks"
    POLICY_ARGUMENTS = "options of a policy"


@dataclass(frozen=True, slots=True)
class EnvKind:
    """A family, or the environments of another project."""

    reference: Entry = Entry("plain")
    """Row of the reference after the prefix; for a family, of its name."""
    arguments: Mapping[str, Entry] = field(default_factory=dict)
    """Rows of its arguments, besides `BASE`."""


# -- which values of a path, an address, code or a right are plain ---------------------------------


def _among(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


def _is_word(value: Any) -> bool:
    """Return whether a value is a name without ``MODULE:``."""
    return isinstance(value, str) and ":" not in value


def _is_bundled_name(value: Any) -> bool:
    """Return whether a value can only be the name of a protocol or prompt of the package."""
    named = isinstance(value, str) and re.fullmatch(r"[\w-]+", value) is not None
    return named and not os.path.exists(value)


def _is_turns(value: Any) -> bool:
    """Return whether a horizon consists of numbers, so that it names no schedule in a module."""
    return isinstance(value, int) or re.fullmatch(r"[\d,\s-]+", str(value), re.ASCII) is not None


def is_public_model(value: Any) -> bool:
    """Return whether a model is ``tiny`` or an id on the hub, and not a folder on this machine."""
    named = isinstance(value, str) and re.fullmatch(r"[\w.-]+(?:/[\w.-]+)?", value) is not None
    return named and ".." not in value and not os.path.exists(value)


def _is_task_id(value: Any) -> bool:
    return isinstance(value, str) and not value.lower().endswith(".json")


def _is_below_runs(value: Any) -> bool:
    """Return whether a folder is inside ``./runs``, the default place of run folders."""
    runs = os.path.join(os.path.realpath("."), "runs")
    return isinstance(value, str) and os.path.realpath(value).startswith(runs + os.sep)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def ships_with_gymnasium(reference: Any) -> bool:
    """Return whether an id belongs to Gymnasium itself; other ids may import third-party code."""
    spec = gymnasium.registry.get(reference)
    return spec is not None and str(spec.entry_point).startswith("gymnasium.envs.")


# -- rows ------------------------------------------------------------------------------------------

PLAIN, CODE = Entry("plain"), Entry("code")
PATH, ADDRESS, COMMAND, RIGHT = Entry("path"), Entry("address"), Entry("command"), Entry("right")
SANDBOX = Entry("code", _among("auto", "namespace", "docker", "remote"), {"subprocess": "right"})
"""``remote`` goes to the address in AGENTGYM_SANDBOX_URL; ``subprocess`` isolates nothing."""
OWN_PART = Entry("code", _is_word)
"""A bundled part by its name (plain), or a user's part as ``MODULE:NAME`` (code)."""
UNKNOWN = CODE
"""Row of names that the table does not contain."""


def _plain_entries(names: str, prefix: str = "") -> dict[str, Entry]:
    return {f"{prefix}{name}": PLAIN for name in names.split()}


BASE: Mapping[str, Entry] = {
    **_plain_entries("horizon split grammar expose_oracle worker_turns notes tries"),
    **_plain_entries("summary_every render_mode"),
    "reward_hooks": Entry("code", lambda value: not value),
    "tasks": CODE,
}
"""Arguments of every environment."""
MAKE: Mapping[str, Entry] = _plain_entries("max_episode_steps")
"""Arguments of ``gymnasium.make`` that records store."""
_GENERATED = _plain_entries("difficulty generator_seed reward expert")
_IMPORTED = _plain_entries("solved_at states_success") | dict.fromkeys(
    ("world", "specs", "limits", "has_expert"), CODE
)
_SIZED = _plain_entries("sizes") | _IMPORTED

ENVIRONMENTS: Mapping[str, EnvKind] = {
    "alfworld": EnvKind(
        arguments=_GENERATED
        | _plain_entries("task_types receptacles distractors ready hidden order human_goals engine")
        | _plain_entries("reward_scale show_admissible")
        | {"data": Entry("path", _among("ALFWORLD_DATA"))}
    ),
    "babyai": EnvKind(arguments=_GENERATED | _plain_entries("levels")),
    "database": EnvKind(
        arguments=_GENERATED
        | _plain_entries("max_rows max_observation_chars")
        | {"data": PATH, "questions": PATH}
    ),
    "mathpython": EnvKind(
        arguments=_GENERATED
        | _plain_entries("seconds max_observation_chars answer timeout solved_at")
        | {"data": PATH, "sandbox": SANDBOX}
    ),
    "search": EnvKind(
        arguments=_GENERATED
        | _plain_entries("size shared_corpus hops topk max_observation_chars index dialect")
        | _plain_entries("answer_attempts first_search on_error")
        | {
            "corpus": Entry("path", _among("generated")),
            "questions": PATH,
            "retriever_url": ADDRESS,
        }
    ),
    "service": EnvKind(
        arguments=_GENERATED
        | _plain_entries("domain")
        | {"user": Entry("address", _among("scripted")), "user_url": Entry("address", _among(""))}
        | {"data": PATH}
    ),
    "shell": EnvKind(
        arguments=_GENERATED
        | _plain_entries("command_timeout max_observation_chars")
        | {"data": PATH, "image": Entry("address", _among("")), "sandbox": SANDBOX}
    ),
    "swe": EnvKind(
        arguments=_GENERATED
        | _plain_entries(
            "hidden_tests command_timeout max_observation_chars grading_timeout skip_broken_rows"
        )
        | {
            "data": Entry("path", _among("bundled", "bundled-tokens")),
            "sandbox": SANDBOX,
            "allow_unsafe": Entry("right", lambda value: value is False),
            "image_mirror": ADDRESS,
            "pull": Entry("right", _among("missing", "never")),
        }
    ),
    "textcraft": EnvKind(
        arguments=_GENERATED | _plain_entries("depth distractors look_up") | {"data": PATH}
    ),
    "textworld": EnvKind(
        arguments=_GENERATED
        | _plain_entries("challenge games engine brief description inventory show_admissible")
        | _plain_entries(  # parameters of the challenges
            "ambiguous_instructions blend_descriptions blend_instructions cook cut drop"
            " entity_numbering go goal held_out_foods include_adj level nb_objects"
            " nb_parallel_quests only_last_action open quest_breadth quest_depth quest_end"
            " quest_length quest_max_breadth quest_max_depth quest_max_length quest_min_breadth"
            " quest_min_depth quest_min_length recipe recipe_seed rewards seed take test theme"
            " world_size"
        )
        | {"data": PATH}
    ),
    "webshop": EnvKind(
        arguments=_GENERATED
        | _plain_entries("size num_products goal_mode human_goals goals_per_product split_mode")
        | _plain_entries("observation_mode results_per_page highlights show_score")
        | {
            "data": PATH,
            "nouns": Entry("code", lambda value: value == "builtin" or _is_mapping(value)),
            "world": CODE,
        }
    ),
    "gem": EnvKind(arguments=_SIZED),
    "gymnasium": EnvKind(
        Entry("code", ships_with_gymnasium), _SIZED | _plain_entries("action_names")
    ),
    "harbor": EnvKind(
        PATH,
        _IMPORTED
        | _plain_entries("background command_timeout deal")
        | {"sandbox": SANDBOX, "build": Entry("right", lambda value: value is False)},
    ),
    "inspect": EnvKind(CODE, _IMPORTED | _plain_entries("limit deal")),
    "mcp": EnvKind(COMMAND, _SIZED | _plain_entries("goal timeout") | {"reward": CODE}),
    "openenv": EnvKind(ADDRESS, _SIZED | _plain_entries("timeout action_field observation_field")),
    "reasoning-gym": EnvKind(arguments=_SIZED),
    "scienceworld": EnvKind(arguments=_IMPORTED | _plain_entries("simplifications list_actions")),
    "synth": EnvKind(
        Entry("path", _among("accounts", "lab", "warehouse")),
        _plain_entries("turns generator_seed sizes reward") | {"spec": CODE},
    ),
    "textarena": EnvKind(arguments=_SIZED),
    "verifiers": EnvKind(CODE, _IMPORTED | _plain_entries("limit answer_field")),
}
"""Families by short name, and environments of other projects by prefix."""
TOOLS: Mapping[str, Entry] = {
    **_plain_entries("answer timeout solved_at"),
    **dict.fromkeys(("tools", "reward", "expert", "module", "name"), CODE),
}
"""Arguments of environments made of tools (`agentgym.authoring.tools`)."""

HOOKS: Mapping[str, Entry] = {
    **_plain_entries(
        "potential invalid_action turn_cost repeat success_bonus tool_bonus progressive"
    ),
    **_plain_entries("format retrieval_hit gold_evidence search_cost no_search_penalty"),
    **_plain_entries("calls forbidden needless characters"),
    "machine": PATH,
    "judge": ADDRESS,
    "judge_mask": ADDRESS,
}
"""Bundled reward hooks by name; others are ``MODULE:NAME``."""
POLICIES: Mapping[str, Entry] = {"run": PATH, "hf": PATH}
"""Prefixes of policies; others are ``MODULE:ATTRIBUTE``."""
POLICY_NAMES = re.compile(r"random|oracle|demonstrator|chat|blind-[a-z-]+")
"""Bundled policies, which take precedence over a folder of the same name."""
POLICY_ARGUMENTS: Mapping[str, Entry] = {
    **_plain_entries("checkpoint temperature top_p mismatch"),
    **_plain_entries("turn_tokens episode_tokens window history template_args system end_of_turn"),
    "chat_template": Entry("path", _is_bundled_name),
    "agent": CODE,
}
"""Options of policies."""

EVALUATION: Mapping[str, Entry | SettingGroup] = {
    **_plain_entries(
        "split num_tasks seed samples horizon grammar retry_failed failed scale model window"
    ),
    **_plain_entries(
        "max_tokens max_tokens_parameter temperature top_p sampling_seed stream extra"
    ),
    **_plain_entries(
        "invalid_reasons send_reasoning instructions timeout retries requests_per_minute"
    ),
    **_plain_entries(
        "price limit_tokens limit_cost limit_total_tokens limit_total_cost concurrency"
    ),
    **_plain_entries("backend step_timeout shots end_after_invalid"),
    "policy_kwargs": SettingGroup.POLICY_ARGUMENTS,
    "env_kwargs": SettingGroup.ENV_ARGUMENTS,
    "reward_hooks": SettingGroup.HOOKS,
    "agent": CODE,
    "protocol": Entry("path", _is_bundled_name),
    "prompt": Entry("path", _is_bundled_name),
    "task": Entry("path", _is_task_id),
    "base_url": ADDRESS,
    "api_key_env": Entry("right", _among("OPENAI_API_KEY")),
    "out": Entry("path", _is_below_runs),
    "chart": Entry("path", _is_below_runs),
}
"""Settings of an evaluation, in a suite."""

TRAINING: Mapping[str, Entry | SettingGroup] = {
    **_plain_entries(
        "steps horizon_every horizon_gate fit_horizon window temperature top_p backend"
    ),
    **_plain_entries(
        "workers step_timeout threads minutes budget quick template_args seed resume export"
    ),
    **_plain_entries("hub_private name weight target_success shots grammar end_of_turn"),
    "chat_template": Entry("path", _is_bundled_name),
    "env": SettingGroup.ENVIRONMENTS,
    "envs": SettingGroup.ENVIRONMENTS,
    "env_kwargs": SettingGroup.ENV_ARGUMENTS,
    "reward_hooks": SettingGroup.HOOKS,
    "prompt": Entry("path", _is_bundled_name),
    "model": Entry("path", is_public_model),
    "engine": OWN_PART,
    "agent": CODE,
    "agent_command": COMMAND,
    "preset": OWN_PART,
    "preset_file": PATH,
    "horizon": Entry("code", _is_turns),
    "out": Entry("path", _is_below_runs),
    "report_to": Entry("right", _among("none", "tensorboard")),
    "otel": Entry("right", lambda value: value is False),
    "push_to_hub": RIGHT,
    **_plain_entries(
        "demonstrator demonstrations only_successes weights beta batch_size learning_rate"
        " max_steps rounds teacher round_tasks round_steps observation_weight copy_steps"
        " target_success eval_every eval_tasks save_every save_minutes",
        "sft.",
    ),
    "sft.episodes": PATH,
    **_plain_entries(
        "groups num_generations minibatches num_iterations learning_rate warmup_steps turn_tokens"
        " episode_tokens max_grad_norm adam_beta2 success_bonus invalid_penalty price_rate"
        " turn_budget save_every save_minutes keep_checkpoints log_groups log_tokens"
        " gamma beta entropy epsilon epsilon_high aggregation normalize",
        "rl.",
    ),
    "rl.sampler": OWN_PART,
    "rl.filters": OWN_PART,
    **_plain_entries("history end_after_invalid rank_timeout", "rollout."),
    **_plain_entries("r alpha dropout targets", "lora."),
    **_plain_entries(
        "num_tasks greedy horizon every valid_tasks keep baselines baseline_steps", "eval."
    ),
    **_plain_entries("hidden layers heads head_dim intermediate context rope_theta init", "tiny."),
    **_plain_entries(
        "memory tensor_parallel max_length max_sequences sleep lora dtype eager seeded patience",
        "vllm.",
    ),
    **_plain_entries("tensor_parallel max_length max_sequences dtype seeded patience", "sglang."),
    **dict.fromkeys(("vllm.url", "sglang.url"), ADDRESS),
    **dict.fromkeys(("vllm.folder", "sglang.folder"), PATH),
    **_plain_entries(
        "on_alarm ignore usual_steps patience entropy entropy_rise clip_fraction kl kl_behaviour"
        " logp_gap zero_variance trained_fraction repeat invalid reward_spread grad_norm rollbacks"
        " learning_rate_factor reseed",
        "health.",
    ),
    **_plain_entries(
        "precision checkpointing micro_tokens shared_prefixes logits_mib optimizer quantize",
        "memory.",
    ),
}
"""Settings of a training by their dotted names, and settings of an entry of its list ``env``.
Methods add the settings of their sections (``trainers.config.file_trust``)."""
PRESET_PART = OWN_PART
"""Row of a part of a preset file, and of a function in its fields."""
DATA_VARIABLES = frozenset({"ALFWORLD_DATA", "SEARCH_QUESTIONS", "TEXTWORLD_GAMES", "WEBSHOP_DATA"})
"""Environment variables with paths of data sets, which a protocol may read."""
PROTOCOL: Mapping[str, Entry] = {
    "variable": Entry("right", _among(*sorted(DATA_VARIABLES))),
    "names": Entry("path", lambda value: isinstance(value, str) and not re.search(r"[/\\]", value)),
}
"""Entries of a protocol file: an environment variable to read, and the name of a list of tasks in
the same folder."""
