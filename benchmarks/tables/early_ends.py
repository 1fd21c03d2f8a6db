"""Tables of what can end an episode early in other projects' loops, and of what episodes need."""

from __future__ import annotations

from benchmarks.tables.formats import Table, about, result

FILE = "peer_defaults.json"
NAMES = {
    "trl": "TRL", "skyrl": "SkyRL", "inspect-ai": "Inspect", "harbor": "Harbor",
    "openenv": "OpenEnv",
}  # fmt: skip
"""How a project calls itself, where its package has another name."""
WORDS = {
    ("trl", "max_completion_length"): (
        "tokens of all calls and results; then the episode ends with the reward so far",
        "`completion_tokens` counts what is needed; a warning",
    ),
    ("skyrl", "trainer.max_prompt_length"): ("tasks with a longer prompt are left out", "set it"),
    ("skyrl", "generator.max_turns"): (
        "1 allows no longer input than the prompt; otherwise ours is the limit of turns",
        "set it above 1",
    ),
    ("skyrl", "generator.max_input_length"): (
        "`max_prompt_length`; an episode whose messages are longer ends with the reward so far",
        "set it; a warning",
    ),
    ("skyrl", "generator.sampling_params.max_generate_length"): (
        "tokens of a response, which is cut", "",
    ),
    ("verl", "data.max_prompt_length"): ("a row with a longer prompt is an error", "set it"),
    ("verl", "data.max_response_length"): ("tokens of a response, which is cut", "set it"),
    ("verifiers", "max_turns"): ("no limit", "below the horizon, the rewards so far count"),
    ("verifiers", "max_total_tokens"): ("no limit", "the rewards so far count"),
    ("verifiers", "timeout.rollout"): ("no limit", "the rewards so far count"),
    ("inspect-ai", "message_limit"): (
        "no limit", "the score so far counts, `stop_reason` is `limit`",
    ),
    ("inspect-ai", "token_limit"): ("no limit", "the same"),
    ("inspect-ai", "time_limit"): ("no limit", "the same"),
    ("inspect-ai", "max_tokens"): (
        "tokens of a response where the provider needs a number (`hf`, `together` and others)", "",
    ),
    ("harbor", "agent.timeout_sec"): ("no limit", "exported folders state one"),
    ("harbor", "verifier.timeout_sec"): ("seconds of the tests", "exported folders state one"),
    ("openenv", "max_concurrent_envs"): (
        "sessions; one more is refused", "our server has 256; an import names the setting",
    ),
    ("openenv", "session_timeout"): ("an unused session stays", "our server has `--idle-timeout`"),
    ("openenv", "message_timeout_s"): (
        "seconds that a client waits for a turn", "raise it for SWE, whose tests may take longer",
    ),
}  # fmt: skip
"""Project and setting -> what its default does to an episode, and what to know here."""


def early_ends_table() -> Table:
    """Return a row for each setting of another project that can end an episode."""
    table = [["project", "setting", "default", "which means", "here"]]
    for row in result(FILE)["defaults"]:
        project, setting, default = row["project"], row["setting"], row["default"]
        name = f"{NAMES.get(project, project)} {row['version']}"
        value = "none" if default is None else f"{default:g}"
        table.append([name, f"`{setting}`", value, *WORDS[project, setting]])
    return table


def episode_needs_table() -> Table:
    """Return a row for each family: turns, and the tokens of the longest solved episode."""
    head = ["family", "turns", "first prompt", "all messages", "TRL's calls and results"]
    return [
        head,
        *(
            [
                row["family"],
                str(row["turns"]),
                *(about(row[name]) for name in ("prompt", "episode", "trl")),
            ]
            for row in result(FILE)["episodes"]
        ),
    ]
