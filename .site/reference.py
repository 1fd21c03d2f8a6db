"""The pages of the reference, generated from the code: flags, presets, info keys and rewards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgym.cli.parsing import subcommands
from agentgym.core.info import KEYS
from agentgym.policies import PUBLIC_INFO
from agentgym.rewards.table import HOOKS
from agentgym.support.helptext import field_texts
from benchmarks.tables.formats import markdown
from benchmarks.tables.methods import methods_table
from trainers.config.schema import TrainConfig

TABLE_HEAD = ["flag", "default", "what it does"]


def pages() -> dict[str, str]:
    """Return the text of each generated page by its name."""
    return {
        "flags": flags_page(),
        "training-flags": training_flags_page(),
        "presets": presets_page(),
        "info": info_page(),
        "rewards": rewards_page(),
    }


def flags_page() -> str:
    """Return the flags of every subcommand of ``agentgym``."""
    parts = ["# Flags of `agentgym`\nEvery subcommand, with its arguments and their defaults."]
    for name, arguments in subcommands().items():
        about = _paragraph(arguments.__doc__)
        parts.append(f"## `agentgym {name}`\n{about}\n\n{_flag_table(arguments)}")
    return "\n\n".join(parts)


def training_flags_page() -> str:
    """Return the settings of a training: flags, and keys of a file of settings."""
    head = (
        "# Flags of `agentgym train`\nA flag `--rl.gamma` is the key `gamma` under `rl` in a file "
        "of settings. `--dry-run` shows the values of a run and where each comes from."
    )
    parts = [head, _flag_table(TrainConfig)]
    for field in dataclasses.fields(TrainConfig):
        section = field.default_factory
        if dataclasses.is_dataclass(section):
            prefix = f"{_flag(field.name)}."
            about = _paragraph(section.__doc__)
            parts.append(f"## `--{prefix}*`\n{about}\n\n{_flag_table(section, prefix)}")
    return "\n\n".join(parts)


def presets_page() -> str:
    """Return every preset with its paper, its parts, and its run on a toy task."""
    about = (
        "# Presets\nEach preset is made of parts. Without any one of them a run has other "
        "gradients or episodes, as the named test shows. The last column is of three seeds on "
        "a toy task: success, and the difference to `turn-loo` with a 95 % interval over seeds."
    )
    return f"{about}\n\n{markdown(methods_table())}"


def info_page() -> str:
    """Return every key of ``info``, and whether a policy may read it in an evaluation."""
    about = (
        "# Keys of `info`\n`info` is JSON-safe and has the same keys at every turn. In an "
        "evaluation a policy sees only the keys marked as public."
    )
    rows = [["key", "public", "what it is"]]
    rows += [[f"`{key}`", "yes" if key in PUBLIC_INFO else "", text] for key, text in KEYS.items()]
    return f"{about}\n\n{markdown(rows)}"


def rewards_page() -> str:
    """Return every reward hook with its fields."""
    about = (
        "# Turn-level rewards\nPass them to `--reward-hooks` as `NAME`, `NAME=SIZE` or "
        "`NAME:field=value,field=value`; `MODULE:CLASS` names one that you have written."
    )
    parts = [about]
    for name, hook in HOOKS.items():
        texts = field_texts(hook)
        rows = [["field", "default", "what it is"]]
        for field in dataclasses.fields(hook):
            rows.append([f"`{field.name}`", _default(field), texts.get(field.name, "")])
        parts.append(f"## `{name}`\n{_paragraph(hook.__doc__)}\n\n{markdown(rows)}")
    return "\n\n".join(parts)


def _flag_table(arguments: Any, prefix: str = "") -> str:
    """Return the table of a dataclass of arguments, without the sections it nests."""
    texts = field_texts(arguments)
    rows = [[f"`{flag}`", default, text] for flag, default, text in _rows(arguments, texts, prefix)]
    return markdown([TABLE_HEAD, *rows]) if rows else ""


def _rows(arguments: Any, texts: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str, str]]:
    for field in dataclasses.fields(arguments):
        if dataclasses.is_dataclass(field.default_factory) or "Suppress" in str(field.type):
            continue
        positional = "Positional" in str(field.type)
        flag = field.name.upper() if positional else f"--{prefix}{_flag(field.name)}"
        yield flag, _default(field), texts.get(field.name, "").replace("|", "\\|")


def _flag(name: str) -> str:
    return name.replace("_", "-")


def _default(field: dataclasses.Field[Any]) -> str:
    """Return a default as it is typed; empty if there is none, or it is decided later."""
    value = field.default
    if value is dataclasses.MISSING:
        return ""
    if value is None or value == "" or (isinstance(value, Sequence) and not value):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return f"`{' '.join(map(str, value))}`"
    if callable(value):
        return f"`{getattr(value, '__name__', type(value).__name__)}`"
    return f"`{value}`"


def _paragraph(text: str | None) -> str:
    """Return a docstring as one paragraph per paragraph, without the section on arguments."""
    lines = (text or "").strip().split("\n\n")
    kept = [" ".join(part.split()) for part in lines if not part.strip().startswith("Args:")]
    return "\n\n".join(kept)
