"""Rows of prompts are read by verl, SkyRL and TRL themselves, and theirs are read here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym import make
from agentgym.episodes import export
from agentgym.interop.prompt_rows import prompt_rows, unplayed_episodes

QUESTION = "Weng earns $12 an hour. She worked 50 minutes. How much did she earn?"
GSM8K = {
    "data_source": "openai/gsm8k",
    "prompt": [
        {
            "role": "user",
            "content": QUESTION
            + ' Let\'s think step by step and output the final answer after "####".',
        }
    ],
    "ability": "math",
    "reward_model": {"style": "rule", "ground_truth": "10"},
    "extra_info": {
        "split": "train",
        "index": 1,
        "answer": "12/60 = <<12/60=0.2>>0.2 a minute.\n50 x 0.2 = 10.\n#### 10",
        "question": QUESTION,
    },
}
"""A row of the form that verl's and SkyRL's recipes for GSM8K write."""


def written(folder: Path, env: str = "mathpython") -> str:
    path = folder / "tasks.parquet"
    export(unplayed_episodes(env, num_tasks=4), path, "prompts", env=env)
    return str(path)


def tokenizer() -> Any:
    """Return a tokenizer of bytes with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    return PreTrainedTokenizerFast(tokenizer_object=raw, chat_template=template)


@pytest.mark.parametrize("env", ["mathpython", "search", "webshop"])
def test_verl_reads_our_rows(tmp_path: Path, env: str) -> None:
    pytest.importorskip("verl", reason="verl is in .ci/peers")
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    settings = {"cache_dir": str(tmp_path), "max_prompt_length": 8000}
    dataset = RLHFDataset(written(tmp_path, env), tokenizer(), OmegaConf.create(settings))
    rows = prompt_rows(env, num_tasks=4)
    assert len(dataset) == len(rows)
    batch = collate_fn([dataset[index] for index in range(len(dataset))])
    assert [*batch["raw_prompt"]] == [row["prompt"] for row in rows]
    assert [*batch["index"]] == [row["extra_info"]["index"] for row in rows]
    for name in ("data_source", "reward_model", "extra_info", "agentgym"):
        assert [*batch[name]] == [row[name] for row in rows]


def test_verl_scores_our_answers_to_its_rows_and_its_answers_to_ours(tmp_path: Path) -> None:
    pytest.importorskip("verl", reason="verl is in .ci/peers")
    from verl.utils.reward_score import default_compute_score

    for row in (GSM8K, *prompt_rows("mathpython", num_tasks=2)):
        task = task_of(row, tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet")
        truth = row["reward_model"]["ground_truth"]
        assert task.goal == row["extra_info"]["question"]
        answer = task.content["answer"]
        for correct, score in ((answer, 1.0), ("-1", 0.0)):
            assert default_compute_score("openai/gsm8k", f"#### {correct}", truth) == score


def task_of(row: dict[str, Any], path: Path, **changes: Any) -> Any:
    """Return the task that MathPython reads of a row."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.Table.from_pylist([{**row, **changes}]), path)
    split = row["extra_info"]["split"]
    with make("mathpython", data=str(path)) as env:
        return env.unwrapped.tasks.task(split, 0)


def test_skyrl_reads_our_rows(tmp_path: Path) -> None:
    pytest.importorskip("skyrl.train.dataset", reason="skyrl is in .ci/peers")
    from skyrl.train.dataset import PromptDataset

    dataset = PromptDataset(written(tmp_path), tokenizer(), 8000, num_workers=1)
    rows = prompt_rows("mathpython", num_tasks=4)
    for item, row in zip(dataset, rows, strict=True):
        prompt, env_class, extras, _ = item
        assert (prompt, env_class) == (row.pop("prompt"), row.pop("env_class"))
        assert extras == row


def test_skyrl_gym_plays_what_both_read(tmp_path: Path) -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is in .ci/peers")
    rule = {"method": "rule", "ground_truth": "10"}
    their_row = {**{k: v for k, v in GSM8K.items() if k != "reward_model"}, "reward_spec": rule}
    for number, row in enumerate([their_row, *prompt_rows("mathpython", num_tasks=2)]):
        task = task_of(row, tmp_path / f"{number}.parquet")
        assert task.goal == row["extra_info"]["question"]
        for answer, reward in ((task.content["answer"], 1.0), ("-1", 0.0)):
            env = skyrl_gym.make("gsm8k", env_config={}, extras=row)
            assert env.step(f"#### {answer}")["reward"] == reward


@pytest.mark.slow
def test_trl_trains_on_our_rows(tmp_path: Path) -> None:
    """Its trainer hands a reward function the columns, and asks what the row asks."""
    trl = pytest.importorskip("trl")
    from datasets import load_dataset
    from trl.data_utils import is_conversational

    from tests.trainers.rollouts.shipped_templates import tokenizer as chat_tokenizer
    from tests.trainers.tiny_policy import SIZE
    from trainers.models.tiny import build_model

    text_tokenizer = chat_tokenizer("qwen3")
    build_model(text_tokenizer, SIZE).save_pretrained(tmp_path / "model")
    seen_rows: list[tuple[Any, Any, Any]] = []

    def reward(prompts: Any, completions: Any, solution: Any, agentgym: Any, **_: Any) -> Any:
        seen_rows.extend(zip(prompts, solution, agentgym, strict=True))
        return [float(len(completion[0]["content"])) for completion in completions]

    data = load_dataset("parquet", data_files=written(tmp_path), cache_dir=str(tmp_path / "c"))
    assert is_conversational(data["train"][0])
    args = trl.GRPOConfig(
        str(tmp_path / "out"), num_generations=2, per_device_train_batch_size=2, use_cpu=True,
        bf16=False, report_to=[], max_steps=1, max_completion_length=4,
    )  # fmt: skip
    trl.GRPOTrainer(
        str(tmp_path / "model"), args=args, processing_class=text_tokenizer,
        train_dataset=data["train"], reward_funcs=reward,
    ).train()  # fmt: skip
    rows = {row["agentgym"]: row for row in prompt_rows("mathpython", num_tasks=4)}
    assert seen_rows
    for prompt, solution, reference in seen_rows:
        assert (prompt, solution) == (rows[reference]["prompt"], rows[reference]["solution"])


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": QUESTION, "completion": "It is 50 * 0.2.\n#### 10"},
        {"prompt": QUESTION, "completion": "So $\\boxed{10}$."},
        {"prompt": [{"role": "user", "content": QUESTION}], "solution": "$\\boxed{10}$"},
        {
            "prompt": [{"role": "system", "content": "Be brief."},
                       {"role": "user", "content": QUESTION}],
            "completion": [{"role": "assistant", "content": "#### 10"}],
        },
        {"prompt": [{"role": "user", "content": f"Solve it. Question: {QUESTION}"}], "answer": 10},
    ],
)  # fmt: skip
def test_rows_of_trl_are_problems(tmp_path: Path, row: dict[str, Any]) -> None:
    trl = pytest.importorskip("trl.data_utils")
    assert trl.is_conversational(row) == isinstance(row["prompt"], list)
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(row))
    with make("mathpython", data=str(path)) as env:
        task = env.unwrapped.tasks.task("train", 0)
    assert (task.goal, task.content["answer"]) == (QUESTION, "10")
