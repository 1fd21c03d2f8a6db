"""The pages of the site, gathered from where they are written.

Pages keep their places, so that the links between them hold. The page of a family gets a picture of
an episode and its spaces. The reference is generated: flags, presets, info keys and rewards
(``reference.py``), and an entry for every public name.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pictures
import reference

import agentgym
from agentgym.registration import EnvFamily, families

ROOT = Path(__file__).resolve().parent.parent
PAGES = Path(__file__).resolve().parent / "pages"
"""Where the pages are gathered, anew at each build."""
SUFFIXES = (".md", ".ipynb", ".png", ".svg")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
"""A link as pages write it: its words, and where it leads."""
FOLDERS = (".agents", ".site", "agentgym", "benchmarks", "notebooks", "trainers")
"""Folders with pages, besides the root."""
HIDDEN = frozenset(("pages", "runs", "templates.d"))
"""Folders in them whose pages are not ours, or not for readers."""
HOW_TO = ".site/how-to/README"
"""The index of the how-to pages, in whose order they are listed."""
CONCEPTS = (".site/concepts",)
GUIDES = (
    "agentgym/README", "trainers/README", "agentgym/interop/exports", "agentgym/interop/imports",
    "agentgym/sandbox/README", "agentgym/authoring/synth/README",
    "agentgym/envs/swe/grading/README",
)  # fmt: skip
ABOUT = (
    "CONTRIBUTING", ".site/versions", ".site/release", "AGENTS", ".site/style", "SECURITY",
    "CHANGELOG",
)  # fmt: skip
REFERENCE: dict[str, tuple[str, ...]] = {
    "Environments": (
        "agentgym", "agentgym.core", "agentgym.core.hooks", "agentgym.actions", "agentgym.vector",
        "agentgym.rewards", "agentgym.registration", "agentgym.errors",
        *(family.entry_point.partition(":")[0] for family in families()),
    ),
    "Policies and evaluation": (
        "agentgym.policies", "agentgym.policies.asynchronous",
        "agentgym.evaluation", "agentgym.evaluation.entries", "agentgym.certification",
        "agentgym.agents", "agentgym.episodes", "agentgym.conversation", "agentgym.viewer",
    ),
    "Sandboxes and retrieval": ("agentgym.sandbox", "agentgym.retrieval"),
    "Other projects": (
        "agentgym.interop.trl", "agentgym.interop.skyrl", "agentgym.interop.verl_agent",
        "agentgym.interop.prompt_rows", "agentgym.interop.field_panels",
        "agentgym.interop.verifiers.exported", "agentgym.interop.inspect_ai.exported",
        "agentgym.interop.harbor.environment", "agentgym.interop.served_envs",
        "agentgym.interop.world",
    ),
    "Training": (
        "trainers.algorithms.preset", "trainers.algorithms.sampling",
        "trainers.algorithms.schedule", "trainers.algorithms.shaping",
        "trainers.methods.gateway.agents",
    ),
}  # fmt: skip
"""Modules whose public names are listed, by what a reader looks for."""


def gather() -> None:
    """Write all pages anew."""
    for old in PAGES.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
        elif old.name != ".gitignore":
            old.unlink()
    for path in sources():
        target = PAGES / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for page in sorted(PAGES.rglob("*.md")):
        page.write_text(_take_along(page, page.read_text(encoding="utf-8")), encoding="utf-8")
    for page in sorted(PAGES.rglob("*.ipynb")):
        notebook = json.loads(page.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = _take_along(page, "".join(cell["source"]))
        page.write_text(json.dumps(notebook), encoding="utf-8")
    for family in families():
        _begin_family_page(family)
    for name, text in reference.pages().items():
        target = PAGES / "reference" / f"{name}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(_take_along(target, text), encoding="utf-8")
    _write_reference()
    (PAGES / "index.md").write_text(_index(), encoding="utf-8")


def sources() -> Iterator[Path]:
    """Find pages, notebooks and pictures, in the order of their names."""
    for path in sorted(ROOT.iterdir()):
        below = sorted(path.rglob("*")) if path.name in FOLDERS else [path]
        yield from (file for file in below if file.suffix in SUFFIXES and not _hidden(file))


def _hidden(path: Path) -> bool:
    return not HIDDEN.isdisjoint(path.relative_to(ROOT).parts)


def _take_along(page: Path, text: str) -> str:
    """Copy the files that a page links to, and return its text with links that hold on the site.

    A folder has no page of its own, but by its README. The README of the root is the index.
    """

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2].partition("#")[0]
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = (page.parent / target).resolve()
        if path == PAGES / "README.md":
            return f"[{words}]({match[2].replace('README.md', 'index.md')})"
        source = ROOT / path.relative_to(PAGES)
        if source.is_dir():
            readme = source / "README.md"
            return f"[{words}]({target.rstrip('/')}/README.md)" if readme.is_file() else words
        if source.is_file() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
        return match[0]

    return LINK.sub(link, text)


def _page_of(family: EnvFamily) -> Path:
    """Return where the page of a family lies, if it is one of ours."""
    return Path(family.entry_point.partition(":")[0].replace(".", "/")).parent / "README.md"


def _begin_family_page(family: EnvFamily) -> None:
    """Put a picture and the spaces of an environment below the title of its page."""
    page = PAGES / _page_of(family)
    if not page.is_file():  # Another package's.
        return
    (page.parent / "episode.svg").write_text(pictures.screencast(family.name), encoding="utf-8")
    env = agentgym.make(family.name)
    module, _, name = family.entry_point.partition(":")
    title, text = page.read_text(encoding="utf-8").split("\n", 1)
    card = (
        f"![an episode of the expert](episode.svg)\n\n| | |\n|---|---|\n"
        f"| Make | `gymnasium.make({family.id!r})` |\n"
        f"| Observation space | `{env.observation_space}` |\n"
        f"| Action space | `{env.action_space}` |\n"
        f"| Class | {{py:class}}`{module}.{name}` |\n"
    )
    env.close()
    page.write_text(f"{title}\n{card}\n{text}", encoding="utf-8")


def _write_reference() -> None:
    """Write a page for every module, which names all that it offers."""
    folder = PAGES / "reference"
    folder.mkdir(exist_ok=True)
    for modules in REFERENCE.values():
        for name in modules:
            source = Path(name.replace(".", "/"))
            source = ROOT / (source / "__init__.py" if (ROOT / source).is_dir() else f"{source}.py")
            # What a module names in __all__ may come from the files below it.
            options = "   :imported-members:\n" * ("__all__" in source.read_text(encoding="utf-8"))
            options += "   :no-index:\n" * (name == "agentgym")  # indexed at their own modules
            text = (
                f"# `{name}`\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n"
                f"{options}```\n"
            )
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    generated = "\n".join(reference.pages())
    parts = [
        "# Reference\nGenerated from the code: flags, presets, keys of `info`, rewards, and every "
        "public name with its arguments, shapes and errors.",
        f"```{{toctree}}\n:maxdepth: 1\n\n{generated}\n```",
    ]
    for title, modules in REFERENCE.items():
        entries = "\n".join(modules)
        parts.append(f"## {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```")
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def contents() -> dict[str, Sequence[str]]:
    """Return the pages that the table of contents lists, by what stands above them."""
    pages = [path.relative_to(ROOT) for path in sources() if path.suffix in (".md", ".ipynb")]

    def below(folder: str) -> list[str]:
        return [_name(page) for page in pages if page.parts[0] == folder]

    index = (ROOT / HOW_TO).with_suffix(".md").read_text(encoding="utf-8")
    linked = dict.fromkeys(re.findall(r"\(([\w-]+)\.md\)", index))
    return {
        "Tutorials": below("notebooks"),
        "How-to": (HOW_TO, *(f".site/how-to/{name}" for name in linked)),
        "Concepts": CONCEPTS,
        "Families": [_name(page) for page in map(_page_of, families()) if page in pages],
        "Reference": (*GUIDES, "reference/index"),
        "Results": sorted(below("benchmarks"), key=lambda name: not name.endswith("s/README")),
        "Project": (*ABOUT, *below(".agents")),
    }


def _name(page: Path) -> str:
    return page.with_suffix("").as_posix()


def _index() -> str:
    """Return the first page: the README, and the table of contents of the site."""
    trees = "\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```"
        for caption, pages in contents().items()
    )
    return f"{(ROOT / 'README.md').read_text(encoding='utf-8')}\n{trees}\n"


def write_llms(site: Path) -> None:
    """Write ``llms.txt`` for readers that are programs: each page, and a sentence about it.

    Args:
        site: The folder of the site, where the sources of its pages lie, too.
    """
    lines = [
        "# agentgym\n",
        f"> {_summary((ROOT / 'README.md').read_text(encoding='utf-8'))[1]}.\n",
    ]
    for page in sorted(PAGES.rglob("*.md")):
        name = _name(page.relative_to(PAGES))
        title, sentence = _summary(page.read_text(encoding="utf-8"))
        lines.append(f"- [{title}](_sources/{name}.md.txt){sentence and f': {sentence}'}")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _summary(text: str) -> tuple[str, str]:
    """Return the title of a page and its first sentence, both empty if it has none."""
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    # A skill says it of itself.
    description = re.search(r"^description: (.+)$", text, re.MULTILINE)
    first = description or re.search(r"^(\w[^\n]*(?:\n(?!```)[^\n]+)*)", text, re.MULTILINE)
    sentence = " ".join(first[1].split()).partition(". ")[0].rstrip(".:") if first else ""
    return (title[1] if title else "", sentence)
