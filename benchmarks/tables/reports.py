"""The reports and their result files."""

from __future__ import annotations

from collections.abc import Mapping

REPORTS: Mapping[str, tuple[str, ...]] = {
    "training": (
        "webshop_training_gain.json", "alfworld_training_gain.json", "textworld_training_gain.json",
        "search_training_gain.json", "worlds_training_gain.json", "mathpython_training_gain.json",
        "textcraft_training_gain.json", "service_training_gain.json",
        "baselines.json", "demonstrators.json", "lucky_demonstrators.json", "training_gain.json",
        "webshop_hurried_training_gain.json", "webshop_training_gain_5_7_9.json",
        "search_4000_training_gain.json", "search_chains_training_gain.json",
        "service_hasty_training_gain.json",
        "webshop_baselines.json", "webshop_warm_starts.json", "webshop_quick.json",
        "webshop_default_wall.json", "alfworld_trusting.json", "textworld_guessing.json",
        "textworld_twelve_steps.json", "service_pilots.json", "agent_training.json",
        "framework_training.json",
    ),
    "pretrained": (
        "pretrained_gain.json", "pretrained_methods.json", "pretrained_distillation.json",
        "pretrained_pilots.json", "service_pretrained.json", "service_pretrained_gain.json",
        "service_hurried.json",
        "real_model.json", "real_model_long.json", "real_model_turns.json",
        "real_model_threads.json",
        "token_exactness.json",
    ),
    "from_scratch": (
        "from_scratch_told.json", "from_scratch_added.json", "from_scratch_search.json",
        "from_scratch_alfworld.json", "from_scratch.json", "from_scratch_blind.json",
        "from_scratch_priced.json", "from_scratch_search_four_updates.json",
        "from_scratch_seven_turns.json", "from_scratch_lamp.json",
    ),
    "horizons": ("horizon_map.json",),
    "forks": ("fork_variance.json", "fork_credit.json", "fork_noise.json"),
    "methods": (
        "recipes.json", "methods.json", "methods_added.json", "methods_otherwise.json",
        "method_rates.json", "method_rates_added.json", "critic_control.json",
        "implicit_rewards.json",
    ),
    "environment_speed": (
        "throughput.json", "worlds_throughput.json", "core_overhead.json", "peers.json",
        "search_engines.json", "sandbox.json", "image_boxes.json", "swe_throughput.json",
        "chat_evaluation.json", "killed_evaluation.json", "entry_verification.json",
        "long_process.json", "long_process_boxes.json",
    ),
    "training_speed": (
        "trainer_profile.json", "trainer_overhead.json", "rollout_overlap.json",
        "continuous_batching.json", "async_training.json", "long_tails.json",
        "long_tails_again.json", "long_tails_equal_slots.json",
        "long_training.json", "large_model_cpu.json", "large_model_gpu.json",
    ),
    "parity": (
        "textworld_parity.json", "babyai_parity.json", "conformance.json",
        "openenv_validation.json", "harbor_docker.json", "peer_defaults.json",
    ),
    "certificates": ("certificates.json", "survey.json"),
    "reading": ("families.json", "blind_policies.json", "webshop_policies.json"),
    "long_task": ("long_task.json",),
    "swe": (
        "swe_red_team.json", "swe_red_team_image.json", "swe_red_team_before.json",
        "swe_fuzzed_submissions.json", "swe_fuzzed_bundled.json", "swe_fuzzed_releases.json",
        "swe_right_fixes.json", "harbor_red_team.json", "held_out_pythons.json",
        "swe_ladder.json", "swe_searches.json", "swe_training.json",
    ),
}  # fmt: skip
"""Name of a page in ``benchmarks/reports`` -> its result files."""


def report_of(file: str) -> str:
    """Return the name of the report that is about a result file."""
    return next(name for name, files in REPORTS.items() if file in files)
