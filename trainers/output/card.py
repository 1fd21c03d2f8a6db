"""The card of a trained model: what it is, how it came about and how it is used."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

from trainers.config.resolve import ResolvedRun
from trainers.models.policy import TINY, task_prompt


def write_card(path: Path, run: ResolvedRun) -> None:
    """Write ``README.md`` into the folder of a trained model.

    It goes before whatever a library writes there about a model that it knows nothing of.

    Args:
        path: The folder.
        run: The run.
    """
    adapters = (path / "adapter_config.json").exists()
    (path / "README.md").write_text(_card(run, adapters), encoding="utf-8")


def _card(run: ResolvedRun, adapters: bool) -> str:
    """Return the card's text."""
    config = run.config
    # Where a folder lies on this machine tells the reader of a card nothing.
    base = Path(config.model).name if Path(config.model).exists() else config.model
    if config.model == TINY:
        origin = "a small language model trained from scratch for this environment"
    elif adapters:
        origin = f"LoRA adapters for the language model `{base}`"
    else:
        origin = f"a fine-tuned version of the language model `{base}`"
    loader = "peft.AutoPeftModelForCausalLM" if adapters else "transformers.AutoModelForCausalLM"
    system = ""
    if config.model != TINY:
        env = run.make_env()
        prompt = indent(task_prompt(env), "    ")
        system = f"\nThe conversation begins with this system message:\n\n{prompt}\n"
        env.close()
    arguments = ", ".join(f"{name}={value!r}" for name, value in sorted(run.env_kwargs.items()))
    stages = ", ".join(map(str, run.rounds))
    return f"""# {run.family}: a policy trained by agentgym-train

This is {origin}.
It acts in the text environment `{run.env_id}` ({arguments}), one action a turn.

- Training: multi-turn reinforcement learning with the preset `{run.preset.name}`, at most
  {run.config.steps} steps, {stages} turns an episode stage by stage, seed {config.seed}.
- Results: `summary.json` and `report.html` of the run, two folders up; every setting is in its
  `config.yaml`.
- Use: load it with `{loader}` and the tokenizer with
  `transformers.AutoTokenizer`. The first observation is the first user message, every answer is one
  action, and each further observation is a user message.
{system}"""
