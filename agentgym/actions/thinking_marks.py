"""The thinking markers of each model family.

A server with the right reasoning parser (``--reasoning-parser NAME`` in vLLM and SGLang) separates
thinking from the answer. Other servers return both in one text, with the model's own markers. The
markers are taken from the parsers of vLLM (``vllm/reasoning``) and SGLang
(``sglang/srt/parser/reasoning_parser.py``), or from the model's chat template.
"""

from __future__ import annotations

from typing import NamedTuple

TAG_NAMES = (
    "think", "thinking", "thought", "reasoning", "seed:think", "mm:think", "longcat_think",
    "ifm|think", "ifm|think_fast", "ifm|think_faster",
)  # fmt: skip
"""Names of tags around thinking, such as ``<think>`` and ``</think>``: DeepSeek R1, V3 and V4,
Qwen3, GLM-4.5, Kimi K2, Granite 3.3, Hunyuan (also with a suffix, ``<think:opensource>``), ERNIE
4.5, MiniMax M1 and M2, Step 3, OLMo 3, Nemotron, MiMo, InternS1, Phi-4, Pangu, Holo2, TeleChat,
IQuest and GigaChat (``think``); EXAONE Deep and Gemini's compatible endpoint (``thought``); models
that are prompted for it (``thinking``, ``reasoning``); Seed-OSS, MiniMax M3, LongCat and K2 Horizon
with a prefix."""


class Marks(NamedTuple):
    """Markers of one family, as regular expressions without nested quantifiers.

    Nested quantifiers could backtrack for exponential time on hostile text.
    """

    family: str
    """The models, and the names of their parsers."""
    source: str
    """Where the markers are documented."""
    opening: str
    """Marker that begins thinking."""
    closing: str
    """Marker that ends thinking."""
    answer: str = ""
    """Markers around the answer, which are removed; empty: none."""
    begins_answer: str = ""
    """Marker at the start of the answer: all text before it counts as thinking, marked or not."""
    lone: bool = True
    """Whether a closing marker without an opening one ends thinking: the chat template may have put
    the opening one into the prompt. False for markers that also end other messages."""


_HARMONY = r"(?:<\|start\|>assistant[ \t]{0,8})?<\|channel\|>[ \t]{0,8}"

FAMILIES = (
    Marks(
        "gpt-oss (openai_gptoss, gpt-oss)",
        "OpenAI harmony; vllm/reasoning/gptoss_reasoning_parser.py; sglang harmony_parser.py",
        # Text in the commentary channel is a preamble, unless it is addressed to a tool (``to=``).
        _HARMONY + r"(?:analysis|commentary)(?![^<]{0,120}to=)[^<]{0,120}<\|message\|>",
        r"<\|end\|>",
        r"<\|return\|>|<\|start\|>assistant\b",
        # A lookahead, so that the header of a call stays: it names the called function.
        _HARMONY + r"final[^<]{0,120}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
        r"|(?=" + _HARMONY + r"(?:commentary|analysis)[^<]{0,120}to=)",
        lone=False,
    ),
    Marks(
        "Command A (cohere_command3, cohere_command4)",
        "vllm/reasoning/cohere_command_reasoning_parser.py; sglang CohereCommand4Detector",
        r"<\|START_THINKING\|>",
        r"<\|END_THINKING\|>",
        r"<\|(?:START|END)_(?:TEXT|RESPONSE)\|>",
    ),
    Marks(
        "Gemma 4 (gemma4)",
        "vllm/reasoning/gemma4_reasoning_parser.py; sglang Gemma4Detector",
        r"<\|channel>(?:thought\n?)?",
        r"<channel\|>",
    ),
    Marks(
        "Apertus (apertus2509)",
        "sglang Apertus2509Detector",
        r"<\|inner_prefix\|>",
        r"<\|inner_suffix\|>",
    ),
    Marks(
        "Kimi K3 (kimi_k3)",
        "sglang KimiK3Detector; vllm/reasoning/kimi_k3_reasoning_parser.py",
        r"<\|open\|>think<\|sep\|>",
        r"<\|close\|>think<\|sep\|>",
        r"<\|(?:open|close)\|>(?:response|message)<\|sep\|>|<\|end_of_msg\|>",
    ),
    Marks(
        "Solar Open 2 (solar_open2)",
        "vllm/reasoning/solar_open2_reasoning_parser.py",
        r"<\|think:start\|>",
        r"<\|think:end\|>",
    ),
    Marks(
        "PLaMo 3 (plamo3)",
        "vllm/reasoning/plamo3_reasoning_parser.py",
        r"<\|plamo:begin_think:plamo\|>",
        r"<\|plamo:end_think:plamo\|>",
        r"<\|plamo:tag\|>",
    ),
    Marks(
        "Inkling (inkling)",
        "sglang InklingDetector; vllm/reasoning/inkling_reasoning_parser.py",
        r"(?:<\|message_model\|>)?<\|content_thinking\|>",
        r"<\|end_message\|>",
        r"(?:<\|message_model\|>)?<\|content_text\|>|<\|content_model_end_sampling\|>",
        lone=False,
    ),
    Marks(
        "Sky-T1 and OpenThinker",
        "the models' system prompt",
        r"<\|begin_of_thought\|>",
        r"<\|end_of_thought\|>",
        r"<\|(?:begin|end)_of_solution\|>",
    ),
    Marks(
        "Magistral, Ministral and Mistral Small (mistral)",
        "vllm/reasoning/mistral_reasoning_parser.py; sglang MistralDetector",
        # Not preceded by a word character: click[THINK] is an action with an argument.
        r"(?<!\w)\[THINK\]",
        r"\[/THINK\]",
    ),
    Marks(
        "Kimi-VL and Kimi Thinking (kimi)",
        "sglang KimiDetector",
        "◁think▷",
        "◁/think▷",
    ),
    Marks(
        "Pangu Embedded (pangu)",
        "vllm/reasoning/pangu_reasoning_parser.py",
        r"\[unused16\]",
        r"\[unused17\]",
    ),
    Marks(
        "Granite 3.2 (granite)",
        "vllm/reasoning/granite_reasoning_parser.py",
        r"\bHere(?:'s| is) my thought process:",
        r"\bHere(?:'s| is) my response:",
        lone=False,
    ),
    Marks(
        "gpt-oss, where the server has left the special tokens out",
        "OpenAI harmony, without the texts of its special tokens",
        r"\Aanalysis(?=[A-Z])",
        r"assistantfinal",
    ),
    Marks(
        "Muse Glimmer (muse_glimmer)",
        "vllm/reasoning/muse_glimmer_utils.py",
        r"(?:<\|start\|>assistant)?[ \t]{0,8}to=self<\|message\|>",
        r"<\|eom\|>",
        r"(?:<\|start\|>assistant)?[ \t]{0,8}to=user<\|message\|>|<\|eot\|>",
        lone=False,
    ),
    Marks(
        "HyperCLOVA X Seed Think",
        "vllm/reasoning/hyperclovax_seed_think_14b_reasoning_parser.py",
        r"\A/think\n",
        r"<\|im_end\|>\s{0,8}<\|im_start\|>assistant\b",
        lone=False,
    ),
)
"""All families with markers other than the tags in `TAG_NAMES`."""

TEMPLATE_MARKS = (
    ("<think>", "</think>"),
    ("<|channel>thought", "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<think:opensource>", "</think:opensource>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("◁think▷", "◁/think▷"),
    ("[unused16]", "[unused17]"),
)
"""Pairs of markers to look for in the source of a chat template; the first pair found is used."""

ANSWER_TAGS = ("answer", "response")
"""Tags around the answer, after thinking: Hunyuan A13B (``answer``), Granite 3.3 and ERNIE 4.5
(``response``)."""
