"""Environments for TRL's trainers: tools, tasks and rewards are those of the environment."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gymnasium
import pytest

from agentgym.actions import ActionSpec
from agentgym.errors import ConfigurationError
from agentgym.interop.trl import TrlTasks
from agentgym.registration import FAMILIES
from tests.toy import TOY_ID, ToyEnv

IDS = [*(entry.id for entry in FAMILIES), TOY_ID]


def tools_of(env: Any) -> dict[str, Any]:
    """Find the tools of an environment as TRL's trainer does."""
    from inspect import getmembers, isfunction

    names = [name for name, _ in getmembers(type(env), predicate=isfunction)]
    return {
        name: getattr(env, name)
        for name in names
        if name not in ("reset", "get_reward") and not name.startswith("_")
    }


@pytest.mark.parametrize("env_id", IDS)
def test_an_expert_earns_the_same_through_the_tools(env_id: str) -> None:
    """Its calls are made of the environment's own tool calls, as a model writes them."""
    tasks = TrlTasks(env_id, split="test", num_tasks=2)
    env: Any = tasks.environment_factory()
    tools = tools_of(env)
    local: Any = gymnasium.make(env_id, grammar="tool_call").unwrapped
    for task_id in tasks.task_ids:
        observation, info = local.reset(options={"task_id": task_id})
        assert observation in env.reset(task_id=task_id, prompt="ignored")
        earned, over = 0.0, False
        while not over:
            action = local.oracle_action()
            call = json.loads(re.sub("</?tool_call>", "", action))
            observation, reward, terminated, truncated, info = local.step(action)
            earned, over = earned + reward, terminated or truncated
            answer = tools[call["name"]](**call["arguments"])
            assert answer.startswith(observation)
        assert env.get_reward() == pytest.approx(earned)
        assert "over" in answer and info["success"]
    local.close()


@pytest.mark.parametrize("env_id", IDS)
def test_tools_are_described_as_the_environment_describes_them(env_id: str) -> None:
    schemas = pytest.importorskip("transformers.utils").get_json_schema
    env: Any = TrlTasks(env_id, num_tasks=1).environment_factory()
    local: Any = gymnasium.make(env_id, grammar="tool_call").unwrapped
    _, info = local.reset(seed=0)
    expected = {tool["function"]["name"]: tool["function"] for tool in info["tools"]}
    functions = {name: schemas(tool)["function"] for name, tool in tools_of(env).items()}
    assert set(functions) == set(expected)
    for name, tool in functions.items():
        assert tool["description"] == expected[name]["description"]
        parameters, expected_parameters = tool["parameters"], expected[name]["parameters"]
        assert set(parameters["properties"]) == set(expected_parameters.get("properties", {}))
        assert set(parameters.get("required", ())) == set(expected_parameters.get("required", ()))


def test_a_data_set_names_tasks_and_environments() -> None:
    tasks = TrlTasks(TOY_ID, split="valid", num_tasks=3, seed=1)
    assert tasks.dataset()["task_id"][:] == list(tasks.task_ids)
    assert len(set(tasks.task_ids)) == 3
    assert set(tasks.dataset().column_names) == {"prompt", "task_id"}
    assert tasks.dataset("toy")["environment"][:] == ["toy"] * 3
    assert len(TrlTasks(TOY_ID, split="valid").task_ids) == 160


class Failing(ToyEnv):
    """Fails in its first turn."""

    def _act(self, action: str) -> Any:
        raise RuntimeError("the engine is out of order")


class Reset(ToyEnv):
    """Has an action of a name that TRL reads."""

    action_specs = (ActionSpec("reset", "Begin anew."),)


gymnasium.register("agentgym-test/TrlFailing-v0", entry_point=Failing)
gymnasium.register("agentgym-test/TrlReset-v0", entry_point=Reset)


def test_a_failure_pays_nothing_rather_than_zero() -> None:
    env: Any = (tasks := TrlTasks("agentgym-test/TrlFailing-v0", num_tasks=1)).environment_factory()
    assert env.get_reward() is None
    env.reset(task_id=tasks.task_ids[0])
    assert env.get_reward() == 0.0
    with pytest.raises(Exception, match="out of order"):
        env.press("red")
    assert env.get_reward() is None


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigurationError, match="got reset in"):
        TrlTasks("agentgym-test/TrlReset-v0")
    with pytest.raises(ConfigurationError, match="call reset first"):
        TrlTasks(TOY_ID, num_tasks=1).environment_factory().press("red")  # type: ignore[attr-defined]


def model_with_template(folder: Path) -> Any:
    """Save a tiny model with Qwen3's template and a long context; return its tokenizer."""
    from tests.trainers.rollouts.shipped_templates import tokenizer
    from tests.trainers.tiny_policy import SIZE
    from trainers.models.tiny import build_model

    text_tokenizer = tokenizer("qwen3")
    model = build_model(text_tokenizer, SIZE)
    model.config.max_position_embeddings = 2**16
    model.save_pretrained(folder)
    text_tokenizer.save_pretrained(folder)
    return text_tokenizer


UNBOXED = [entry.name for entry in FAMILIES if not entry.boxed]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNBOXED)
def test_a_solved_episode_fits_into_the_tokens_that_are_counted(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver plays through TRL's own trainer, and earns what it earns elsewhere."""
    trl = pytest.importorskip("trl")
    monkeypatch.setattr("agentgym.interop.early_ends._reported", set())
    text_tokenizer = model_with_template(tmp_path / "model")
    tasks = TrlTasks(name, num_tasks=1, split="test")
    budget = tasks.completion_tokens(text_tokenizer)

    class Solved(trl.GRPOTrainer):  # type: ignore[misc]  # a class of an optional package
        """Writes the solver's calls instead of a model's."""

        def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
            actions = [env._env.unwrapped.oracle_action() or "done" for env in self.environments]
            texts = [f"{action}<|im_end|>" for action in actions[: len(prompt_ids)]]
            return [text_tokenizer(text)["input_ids"] for text in texts], None

    rewards = []
    for tokens in (budget + 16, budget // 2):  # 16: the answer "done" after the end
        args = trl.GRPOConfig(
            str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=2, num_generations=2,
            max_completion_length=tokens, use_cpu=True, bf16=False, report_to=[],
            gradient_checkpointing=False, save_strategy="no",
        )  # fmt: skip
        trainer = Solved(
            str(tmp_path / "model"), args=args, train_dataset=tasks.dataset(),
            processing_class=text_tokenizer, environment_factory=tasks.environment_factory,
        )  # fmt: skip
        trainer.train()
        rewards.append(trainer.state.log_history[0]["reward"])
    several_calls = name not in ("database", "mathpython")  # whose first call ends the episode
    assert rewards[0] == 1.0 and (rewards[1] < 1.0) == several_calls
    assert caplog.text.count("max_completion_length") == several_calls


@pytest.mark.slow
def test_trl_trains_on_two_environments(tmp_path: Path) -> None:
    """A step of TRL's own trainer on tasks of two environments, with their own rewards."""
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    text_tokenizer = model_with_template(tmp_path / "model")
    sources = {
        "toy": TrlTasks(TOY_ID, num_tasks=2),
        "home": TrlTasks("alfworld", num_tasks=2, difficulty="easy"),
    }
    rows = datasets.concatenate_datasets([source.dataset(name) for name, source in sources.items()])
    args = trl.GRPOConfig(
        str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=4, num_generations=2,
        max_completion_length=8, use_cpu=True, bf16=False, report_to=[],
        gradient_checkpointing=False, save_strategy="no",
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        str(tmp_path / "model"), args=args, train_dataset=rows, processing_class=text_tokenizer,
        environment_factory={name: source.environment_factory for name, source in sources.items()},
    )  # fmt: skip
    trainer.train()
    logged = trainer.state.log_history[0]
    assert {name for name in logged if name.startswith("rewards/") and name.endswith("/mean")} == {
        "rewards/toy/mean",
        "rewards/alfworld/mean",
    }
