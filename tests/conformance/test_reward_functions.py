"""Reward functions earn what their own projects compute for the same completions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentgym import make
from agentgym.core.reward_functions import RewardFunction
from agentgym.rewards import parse_hooks

TASKS = 4


def responses(answer: str) -> list[str]:
    """Return responses to a task with this answer, right and wrong, with and without thinking."""
    return [
        f"answer[{answer}]",
        f"<think>\nIt is {answer}.\n</think>\n\nanswer[{answer}]",
        f"<think>\nno end, #### {answer}",
        "answer[-1]",
        f"It is $\\boxed{{{answer}}}$.",
        f"<answer>{answer}</answer>",
        "",
        f"#### {answer}",
    ]


def played(*hooks: Any) -> list[tuple[dict[str, float], str, Any]]:
    """Return the terms, the response and the task of one-turn episodes."""
    episodes = []
    with make("mathpython", horizon=1, reward_hooks=hooks) as env:
        for index in range(TASKS):
            options = {"split": "train", "index": index, "horizon": 1}
            for response in responses(env.unwrapped.tasks.task("train", index).content["answer"]):
                env.reset(options=options)
                terms = env.step(response)[4]["reward_terms"]
                episodes.append((terms, response, env.unwrapped.task))
    return episodes


def length(completions: list[str], **columns: Any) -> list[float]:
    """Reward functions of TRL: one of texts, one of messages, one with columns."""
    return [float(len(completion)) for completion in completions]


def shouting(completions: Any, **columns: Any) -> list[float | None]:
    return [None if "no end" in c[0]["content"] else float(len(c)) for c in completions]


async def correct(prompts: Any, completions: Any, answer: Any, **columns: Any) -> list[float]:
    return [
        float(a in c[0]["content"]) + len(p[0]["content"])
        for p, c, a in zip(prompts, completions, answer, strict=True)
    ]


@pytest.mark.slow
def test_trl(tmp_path: Path) -> None:
    """TRL's own trainer calls the functions, on conversations and on texts."""
    trl = pytest.importorskip("trl")
    torch = pytest.importorskip("torch")
    from datasets import Dataset
    from trl.rewards import think_format_reward

    from tests.trainers.rollouts.shipped_templates import tokenizer
    from tests.trainers.tiny_policy import SIZE
    from trainers.models.tiny import build_model

    text_tokenizer = tokenizer("qwen3")
    build_model(text_tokenizer, SIZE).save_pretrained(tmp_path / "model")
    args = trl.GRPOConfig(
        str(tmp_path / "out"), num_generations=2, per_device_train_batch_size=2, use_cpu=True,
        bf16=False, report_to=[],
    )  # fmt: skip

    def of_trl(functions: list[Any], conversational: bool) -> Any:
        trainer = trl.GRPOTrainer(
            str(tmp_path / "model"), args=args, processing_class=text_tokenizer,
            train_dataset=Dataset.from_list([{"prompt": "p"}]), reward_funcs=functions,
        )  # fmt: skip
        prompts: list[Any] = [task.goal for _, _, task in episodes]
        texts: list[Any] = [response for _, response, _ in episodes]
        if conversational:
            prompts = [[{"role": "user", "content": prompt}] for prompt in prompts]
            texts = [[{"role": "assistant", "content": text}] for text in texts]
        inputs = [
            {**task.content, "prompt": prompt}
            for (_, _, task), prompt in zip(episodes, prompts, strict=True)
        ]
        ids = [[1]] * len(texts)
        return trainer._calculate_rewards(inputs, prompts, texts, ids).nan_to_num(0.0)

    functions = [think_format_reward, shouting, correct, length]
    episodes = played(*functions, RewardFunction(length, name="again", plain=True))
    our_rewards = torch.tensor(
        [[terms[function.__name__] for function in functions] for terms, _, _ in episodes]
    )
    their_rewards = torch.cat([of_trl(functions[:3], True), of_trl(functions[3:], False)], 1)
    assert torch.equal(our_rewards, their_rewards)
    assert all(len(column.unique()) > 1 for column in our_rewards.T)
    assert [terms["again"] for terms, _, _ in episodes] == our_rewards[:, 3].tolist()


def test_verl() -> None:
    """The reward manager of verl calls the functions that it brings for GSM8K and MATH."""
    pytest.importorskip("verl", reason="verl is in .ci/peers")
    import numpy as np
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from verl import DataProto
    from verl.utils.reward_score import default_compute_score
    from verl.workers.reward_manager.naive import NaiveRewardManager

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw)
    name = "verl.utils.reward_score:default_compute_score"
    sources = ("openai/gsm8k", "HuggingFaceH4/MATH-500", "math_dapo")
    hooks = parse_hooks([f"{name}:name=h{i},data_source={s}" for i, s in enumerate(sources)])
    episodes = played(*hooks)
    manager = NaiveRewardManager(tokenizer, 0, default_compute_score)
    seen_rows = []
    for number, source in enumerate(sources):
        for terms, response, task in episodes:
            ids = tokenizer(response or " ")["input_ids"]
            batch = {
                "prompts": torch.tensor([[1]]),
                "responses": torch.tensor([ids]),
                "attention_mask": torch.ones(1, 1 + len(ids), dtype=torch.long),
            }
            rows = {
                "data_source": source,
                "reward_model": {"ground_truth": task.content["answer"]},
                "extra_info": {},
            }
            data = DataProto.from_dict(
                batch, {key: np.array([value], dtype=object) for key, value in rows.items()}
            )
            their_reward = float(manager(data).sum())
            assert terms[f"h{number}"] == their_reward, (source, response)
            seen_rows.append(their_reward)
    assert {0.0, 1.0, -1.0} <= {*seen_rows}


def test_verl_on_a_search() -> None:
    """Search-R1's exact match reads the answers in the form of its own data set."""
    pytest.importorskip("verl", reason="verl is in .ci/peers")
    from verl.utils.reward_score import search_r1_like_qa_em

    with make("search", horizon=3, reward_hooks=[search_r1_like_qa_em.compute_score]) as env:
        for right in (True, False):
            env.reset(seed=1)
            answers = env.unwrapped.task.content["answers"]
            env.step("<search>something</search>")
            answer = answers[0] if right else "nobody"
            *_, info = env.step(f"<think>so</think><answer>{answer}</answer>")
            expected = search_r1_like_qa_em.compute_score(
                f"<answer>{answer}</answer>", {"target": answers}
            )
            assert info["reward_terms"]["compute_score"] == expected == float(right)


def test_verifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task class of verifiers scores a trace of its own; its methods one by one, and all."""
    pytest.importorskip("verifiers.v1.graph", reason="verifiers is in .ci/peers")
    import verifiers.v1 as vf
    from verifiers.v1 import graph, trace, types

    class Data(vf.TaskData):
        answer: str = ""

    class Sums(vf.Task[Data, vf.State, vf.TaskConfig]):
        @vf.reward(weight=0.5)
        async def exact(self, trace: Any) -> float:
            return float(trace.last_reply == f"answer[{self.data.answer}]")

        @vf.reward
        async def parts(self, trace: Any, task: Any) -> dict[str, float]:
            return {"short": 1.0 / (1 + len(trace.last_reply or "")), "asks": len(task.prompt)}

    for kind in (Data, Sums):
        kind.__qualname__ = kind.__name__
        monkeypatch.setattr(f"{__name__}.{kind.__name__}", kind, raising=False)
    Sums.exact.__qualname__, Sums.parts.__qualname__ = "Sums.exact", "Sums.parts"
    episodes = played(*parse_hooks([f"{__name__}:{name}" for name in ("Sums", "Sums.exact")]))
    for terms, response, task in episodes:
        row = Sums(Data(prompt=task.goal, answer=task.content["answer"]))
        nodes = [
            graph.MessageNode(parent=None, message=types.UserMessage(content=task.goal)),
            graph.MessageNode(
                parent=0, message=types.AssistantMessage(content=response), sampled=True
            ),
        ]
        their_trace = trace.Trace(
            task=trace.TraceTask(type="Sums", data=row.data, key=row.key, hash=row.hash),
            agent=trace.AgentInfo(config=vf.AgentConfig()),
            nodes=nodes,
        )
        asyncio.run(row.score(their_trace))
        assert terms["Sums"] == pytest.approx(their_trace.reward, abs=1e-12)
        assert terms["exact"] == their_trace.rewards["exact"].value
    assert len({terms["exact"] for terms, _, _ in episodes}) == 2


def test_rubrics() -> None:
    """A rubric of verifiers before 0.2 calls its functions."""
    vf: Any = pytest.importorskip("verifiers", reason="verifiers 0.1 is in .ci/peers")
    if not hasattr(vf, "Rubric"):
        pytest.skip("this verifiers has no rubrics; verifiers 0.1 is in .ci/peers")

    async def exact(completion: Any, answer: Any) -> float:
        return float(completion[-1]["content"] == f"answer[{answer}]")

    def asks(prompt: Any, completion: Any, info: Any, kind: Any, **kwargs: Any) -> float:
        return len(prompt[0]["content"]) + len(completion) + 0.5 * (info["kind"] == kind)

    rubric = vf.Rubric(funcs=[exact, asks], weights=[1.0, 1.0])
    for terms, response, task in played(exact, asks):
        state = vf.State(input={"prompt": [{"role": "user", "content": task.goal}], **task.content})
        state["completion"] = [{"role": "assistant", "content": response}]
        state["info"] = dict(task.content)
        state["task"], state["trajectory"] = "math", []
        state["timing"] = vf.types.RolloutTiming() if hasattr(vf.types, "RolloutTiming") else None
        for function in (exact, asks):
            their_reward = asyncio.run(rubric._call_individual_reward_func(function, state))
            assert terms[function.__name__] == their_reward
