"""The syntax of tool calls in each model family, for calls that a server returns as text.

A server with the right parser (``--tool-call-parser NAME`` in vLLM and SGLang) returns calls
separately. Without it they arrive in the text. The grammar ``tool_call`` parses the forms whose
arguments are one JSON value behind a marker; for the others, a report names the server's parser.
The markers are taken from ``vllm/tool_parsers`` and ``sglang/srt/function_call``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

TOOL_CALL_END = re.compile(r"\s{0,64}</tool_call>", re.IGNORECASE)
"""Closing tag of a call in `agentgym`'s own form."""
_NAME = r"(?:functions\.)?([A-Za-z][\w-]{0,63})"


class CallForm(NamedTuple):
    """The syntax of a tool call in one model family."""

    models: str
    """Names of the models."""
    parser: str
    """Name of the server's parser."""
    mark: str
    """Regular expression that recognises the form."""
    read: str = ""
    """Regular expression of the text before the JSON. If the JSON does not contain the action's
    name, the only group captures it. Empty: this form is recognised, but not parsed."""


_BAR = "\N{FULLWIDTH VERTICAL LINE}"
_DEEPSEEK = f"<{_BAR}tool▁call▁begin{_BAR}>"
_SEPARATOR = f"<{_BAR}tool▁sep{_BAR}>"
FORMS = (
    CallForm("gpt-oss", "openai", r"\bto=functions\.",
             r"<\|channel\|>[ \t]{0,8}(?:commentary|analysis)[ \t]{0,8}to=" + _NAME
             + r"[^<{]{0,40}(?:<\|constrain\|>[^<{]{0,20})?<\|message\|>"),
    CallForm("Kimi K2", "kimi_k2", r"<\|tool_call_begin\|>",
             r"<\|tool_call_begin\|>\s{0,8}" + _NAME
             + r":\d{1,4}\s{0,8}<\|tool_call_argument_begin\|>"),
    CallForm("DeepSeek V3 and R1", "deepseek_v3", f"{_DEEPSEEK}function{_SEPARATOR}",
             _DEEPSEEK + "function" + _SEPARATOR + _NAME + r"\s{0,8}```json\s"),
    CallForm("DeepSeek V3.1", "deepseek_v31", _DEEPSEEK,
             _DEEPSEEK + _NAME + _SEPARATOR),
    CallForm("DeepSeek V3.2", "deepseek_v32", f"<{_BAR}DSML{_BAR}"),
    CallForm("Mistral", "mistral", r"\[TOOL_CALLS\]",
             r"\[TOOL_CALLS\]\s{0,8}(?:" + _NAME
             + r"(?:\[CALL_ID\]\w{1,32})?(?:\[ARGS\])?)?(?=\s{0,8}[\[{])"),
    CallForm("Llama 3", "llama3_json", r"<\|python_tag\|>", r"<\|python_tag\|>(?=\s{0,8}{)"),
    CallForm("Granite", "granite", r"<\|tool_call\|>", r"<\|tool_call\|>"),
    CallForm("Hunyuan and Jamba", "hunyuan_a13b", r"<tool_calls>",
             r"<tool_calls>(?=\s{0,8}\[)"),
    CallForm("LongCat", "longcat", r"<longcat_tool_call>", r"<longcat_tool_call>"),
    CallForm("InternLM", "internlm", r"<\|action_start\|>",
             r"<\|action_start\|>\s{0,8}<\|plugin\|>"),
    CallForm("Phi-4-mini", "phi4_mini_json", r"\bfunctools\[", r"\bfunctools(?=\[)"),
    CallForm("Qwen3-Coder", "qwen3_coder", r"<function=\w"),
    CallForm("GLM-4.5", "glm45", r"<arg_key>"),
    CallForm("MiniMax M2", "minimax_m2", r"<minimax:tool_call>"),
    CallForm("Seed-OSS", "seed_oss", r"<seed:tool_call>"),
    CallForm("Step 3", "step3", r"<steptml:invoke"),
    CallForm("Gemma 4", "gemma4", r"<\|tool_call>"),
    CallForm("FunctionGemma", "functiongemma", r"<start_function_call>"),
    CallForm("Command A", "cohere_command3", r"<\|START_ACTION\|>"),
    CallForm("Apertus", "apertus", r"<\|tools_prefix\|>"),
    CallForm("LFM2", "lfm2", r"<\|tool_call_start\|>"),
    CallForm("OLMo 3", "olmo3", r"<function_calls>"),
    CallForm("Solar Open 2", "solar_open2", r"<\|tool_call:start\|>"),
    CallForm("Kimi K3", "kimi_k3", r"<\|open\|>tools?<\|sep\|>"),
    CallForm("Llama 4", "llama4_pythonic", r"<\|python_start\|>"),
    CallForm("models with calls as a Python list", "pythonic", r"\A\s{0,64}\[[A-Za-z]\w{0,63}\("),
    CallForm("models with calls as JSON in a fence", "hermes", r"```(?:json|tool_call)\s",
             r"```(?:json|tool_call)\s(?=\s{0,8}[\[{])"),
)  # fmt: skip
"""All forms except `agentgym`'s own, which Hermes and Qwen share: JSON in ``<tool_call>``."""

_OPENING = re.compile("|".join(f"(?:{form.read})" for form in FORMS if form.read))


def find_json(text: str) -> tuple[str, int] | None:
    """Find the first call in a model family's form.

    Returns:
        The action's name, or "" if the JSON contains it, and the offset of the JSON; None if there
        is no such call.
    """
    opening = _OPENING.search(text)
    if opening is None:
        return None
    return next((name for name in opening.groups() if name), ""), opening.end()


def unwrap_call(payload: Any) -> Any:
    """Return the first call in decoded JSON, without a list or ``"function"`` object around it."""
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if isinstance(payload, dict) and isinstance(payload.get("function"), dict):
        payload = payload["function"]
    return payload


def plain_name(name: str) -> str:
    """Return an action's name without ``functions.``, which gpt-oss and Kimi put before it."""
    return name.removeprefix("functions.")


def find_form(text: str) -> CallForm | None:
    """Return the first of `FORMS` that a text contains, or None."""
    return next((form for form in FORMS if re.search(form.mark, text)), None)
