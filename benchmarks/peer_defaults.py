"""Read the defaults of other projects that can end an episode early, and what an episode needs.

The wheel of each project is fetched from the package index at the version that ``.ci/peers`` or
``pyproject.toml`` installs, and its default is read from the source, without running it. Beside
them: for each family the turns of an episode, and the tokens of the longest of some solved ones.

Usage: ``python -m benchmarks.peer_defaults [--tasks 8] [--model smollm2]``
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.interop.dialogue import Dialogue
from agentgym.interop.trl import TrlTasks
from agentgym.registration import FAMILIES
from agentgym.registration.making import make
from benchmarks.provenance import to_json


class Setting(NamedTuple):
    """Where a default is written."""

    name: str
    """As the project's users write it."""
    file: str
    """File in its wheel."""
    place: str
    """A key of a YAML file, a name of a module, ``CLASS.FIELD`` or ``CLASS.METHOD.ARGUMENT``."""


SKYRL = "skyrl/train/config/config.py"
VERL = "verl/trainer/config/data/legacy_data.yaml"
OPENENV = "openenv/core/env_server/types.py"
INSPECT = "inspect_ai/_eval/task/task.py"
SETTINGS = {
    "trl==1.16.0": [
        Setting("max_completion_length", "trl/trainer/grpo_config.py",
                "GRPOConfig.max_completion_length"),
    ],
    "skyrl==0.4.0": [
        Setting("trainer.max_prompt_length", SKYRL, "TrainerConfig.max_prompt_length"),
        Setting("generator.max_turns", SKYRL, "GeneratorConfig.max_turns"),
        Setting("generator.max_input_length", SKYRL, "GeneratorConfig.max_input_length"),
        Setting("generator.sampling_params.max_generate_length", SKYRL,
                "SamplingParams.max_generate_length"),
    ],
    "verl==0.9.1": [
        Setting("data.max_prompt_length", VERL, "max_prompt_length"),
        Setting("data.max_response_length", VERL, "max_response_length"),
    ],
    "verifiers==0.4.0": [
        Setting("max_turns", "verifiers/v1/configs/agent.py", "AgentConfig.max_turns"),
        Setting("max_total_tokens", "verifiers/v1/configs/agent.py",
                "AgentConfig.max_total_tokens"),
        Setting("timeout.rollout", "verifiers/v1/configs/agent.py", "TimeoutConfig.rollout"),
    ],
    "inspect-ai==0.3.285": [
        Setting("message_limit", INSPECT, "Task.__init__.message_limit"),
        Setting("token_limit", INSPECT, "Task.__init__.token_limit"),
        Setting("time_limit", INSPECT, "Task.__init__.time_limit"),
        Setting("max_tokens", "inspect_ai/_util/constants.py", "DEFAULT_MAX_TOKENS"),
    ],
    "harbor==0.26.0": [
        Setting("agent.timeout_sec", "harbor/models/task/config.py", "AgentConfig.timeout_sec"),
        Setting("verifier.timeout_sec", "harbor/models/task/config.py",
                "VerifierConfig.timeout_sec"),
    ],
    "openenv==0.10.0": [
        Setting("max_concurrent_envs", OPENENV, "ConcurrencyConfig.max_concurrent_envs"),
        Setting("session_timeout", OPENENV, "ConcurrencyConfig.session_timeout"),
        Setting("message_timeout_s", "openenv/core/env_client.py",
                "EnvClient.__init__.message_timeout_s"),
    ],
}  # fmt: skip
"""Requirement -> its settings that can end an episode."""


def read_default(text: str, place: str) -> object:
    """Return a default that a source text states.

    Args:
        text: Python, or YAML where ``place`` is no name in it.
        place: See :class:`Setting`.

    Raises:
        LookupError: It is not there, or no literal.
    """
    *parents, last = place.split(".")
    if match := re.search(rf"^{last}: (\S+)$", text, re.MULTILINE):
        return int(match[1]) if match[1].isdigit() else match[1]
    body: list[ast.stmt] = ast.parse(text).body
    for parent in parents:
        node = next(node for node in body if getattr(node, "name", None) == parent)
        if isinstance(node, ast.FunctionDef):
            return ast.literal_eval(dict(_arguments(node))[last])
        body = node.body  # type: ignore[attr-defined]  # of a class
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        if any(isinstance(target, ast.Name) and target.id == last for target in targets):
            return ast.literal_eval(_stated(statement.value))  # type: ignore[attr-defined]
    raise LookupError(f"expected {place} in the source")


def _arguments(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the arguments of a function that have a default."""
    arguments, defaults = function.args.args, function.args.defaults
    for argument, default in zip(reversed(arguments), reversed(defaults), strict=False):
        yield argument.arg, default
    for argument, keyword in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if keyword is not None:
            yield argument.arg, keyword


def _stated(value: ast.expr) -> ast.expr:
    """Return the default of a field, which may be in a call of ``field`` or ``Field``."""
    if not isinstance(value, ast.Call):
        return value
    keywords = {keyword.arg: keyword.value for keyword in value.keywords}
    return keywords["default"] if "default" in keywords else value.args[0]


def defaults(folder: Path) -> Iterator[dict[str, Any]]:
    """Fetch the wheels into a folder; yield the default of each setting."""
    for requirement, settings in SETTINGS.items():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
        pip += ["--ignore-requires-python", "--target", str(folder), requirement]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        project, _, version = requirement.partition("==")
        for setting in settings:
            text = (folder / setting.file).read_text(encoding="utf-8")
            default = read_default(text, setting.place)
            row = {"project": project, "version": version, "setting": setting.name}
            yield {**row, "default": default, "file": setting.file}


def episode_tokens(name: str, task_count: int, tokenizer: Any) -> dict[str, Any]:
    """Let a family's solver play; return what the longest of its episodes takes.

    Args:
        name: The family.
        task_count: Tasks of the test split that are played.
        tokenizer: Counts, with its chat template.

    Returns:
        ``turns`` that an episode may have, tokens of the first messages (``prompt``) and of all
        (``episode``), and ``trl``: what ``TrlTasks.completion_tokens`` counts.
    """
    with closing(Dialogue(name, kwargs={})) as dialogue, closing(make(name)) as env:
        task_ids = dialogue.draw("test", task_count, 0)
        played = [_played(dialogue, env.unwrapped, task_id, tokenizer) for task_id in task_ids]
        turns = dialogue.horizon
    tasks = TrlTasks(name, split="test", num_tasks=task_count)
    prompt, episode = (max(counts) for counts in zip(*played, strict=True))
    trl = tasks.completion_tokens(tokenizer, task_count)
    return {"family": name, "turns": turns, "prompt": prompt, "episode": episode, "trl": trl}


def _played(dialogue: Dialogue, twin: Any, task_id: str, tokenizer: Any) -> tuple[int, int]:
    """Return the tokens of an episode's first messages, and of all that a model would read.

    The solver looks at the twin, an environment that takes the same actions.
    """

    def count() -> int:
        text = tokenizer.apply_chat_template(
            dialogue.messages(), tokenize=False, add_generation_prompt=True
        )
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    dialogue.reset(task_id)
    twin.reset(options={"task_id": task_id})
    first, done = count(), False
    while not done:
        action = str(twin.oracle_action())
        twin.step(action)
        done = dialogue.step(action).done
    return first, count()


def main() -> None:
    """Print the defaults and the needs of the families as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=8, help="solved episodes of each family")
    parser.add_argument("--model", default="smollm2", help="whose tokenizer counts")
    options = parser.parse_args()
    import trl
    from transformers import AutoTokenizer

    from trainers.config.model_files.source import model_source

    tokenizer = AutoTokenizer.from_pretrained(model_source(options.model))
    templates = Path(trl.__file__).parent / "chat_templates"
    # Its own writes no calls. Both are ChatML.
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        rows = list(defaults(Path(folder)))
    needs = [episode_tokens(entry.name, options.tasks, tokenizer) for entry in FAMILIES]
    facts = {"model": options.model, "tasks": options.tasks}
    print(to_json({**facts, "defaults": rows, "episodes": needs}))


if __name__ == "__main__":
    main()
