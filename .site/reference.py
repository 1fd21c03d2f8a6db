"""The pages of the reference, generated from the code: flags, presets, info keys and rewards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from agentgym.cli.parsing import listed_names, subcommands
from agentgym.core.info import KEYS
from agentgym.policies import PUBLIC_INFO
from agentgym.rewards.table import HOOKS
from agentgym.support.help_page import FlagHelp, flag_rows, with_names
from agentgym.support.helptext import field_texts
from benchmarks.tables.formats import markdown
from benchmarks.tables.methods import methods_table
from trainers.config.command import train_flags


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
        about = _paragraphs(arguments.__doc__)
        parts.append(f"## `agentgym {name}`\n{about}\n\n{_flag_table(flag_rows(arguments))}")
    return "\n\n".join(parts)


def training_flags_page() -> str:
    """Return the settings of a training: flags, and keys of a file of settings."""
    parts = [
        "# Flags of `agentgym train`\nA flag `--rl.gamma` is the key `gamma` under `rl` in a file "
        "of settings. `--dry-run` shows the values of a run and where each comes from."
    ]
    for section, rows in groupby(train_flags(), key=lambda row: row.section):
        name, _, about = section.partition(": ")
        title = f"## `--{name}.*`\n{about}\n\n" if section else ""
        parts.append(f"{title}{_flag_table(rows)}")
    return "\n\n".join(parts)


def presets_page() -> str:
    """Return every preset with its paper, its parts, and its run on a toy task."""
    about = (
        "# Presets\nEach preset is made of parts. Without any one of them a run has other "
        "gradients or episodes, as the named test shows. The last column is of three seeds on a "
        "toy task: success, and the difference to `turn-loo` with a 95 % interval over seeds."
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
        parts.append(f"## `{name}`\n{_paragraphs(hook.__doc__)}\n\n{markdown(rows)}")
    return "\n\n".join(parts)


def _flag_table(flags: Iterable[FlagHelp]) -> str:
    """Return a table of flags; empty if there are none."""
    rows = [
        [
            f"`{flag.name} {flag.value}`".replace(" `", "`"),
            flag.default,
            with_names(flag.text, listed_names()),
        ]
        for flag in flags
    ]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return markdown([["flag", "default", "what it does"], *escaped]) if rows else ""


def _default(field: dataclasses.Field[Any]) -> str:
    """Return a default as it is typed; empty if there is none."""
    value = field.default
    if value is dataclasses.MISSING or value is None or value == "":
        return ""
    if callable(value):
        return f"`{getattr(value, '__name__', type(value).__name__)}`"
    return f"`{value}`"


def _paragraphs(text: str | None) -> str:
    """Return a docstring, a line a paragraph, without the section on arguments."""
    parts = (text or "").strip().split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts if "Args:" not in part[:12])
