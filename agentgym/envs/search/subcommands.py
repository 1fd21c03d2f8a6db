"""``agentgym index`` and ``agentgym serve search``: a corpus of one's own, searched and served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentgym.registration import Subcommand
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.retrieval.corpora.corpus import Corpus
    from agentgym.retrieval.index_builder import IndexProgress


@dataclass(frozen=True)
class Index:
    """Index your own corpus for the environment search."""

    corpus: Positional[Path]
    """File or folder of text, Markdown or JSON lines (id with contents, or with title and text),
    also gzipped."""
    out: Path
    """Folder of the index. It appears when the index is complete."""
    index: Literal["bm25", "tantivy"] = "bm25"
    """Search engine: bm25 for up to two million passages, tantivy for any number."""
    skip_broken_rows: bool = False
    """Skip and count unusable lines instead of stopping at the first."""
    passage_chars: int = 600
    """Most characters of a passage that text and Markdown files are cut into."""
    overwrite: bool = False
    """Replace an index that is there."""


@dataclass(frozen=True)
class ServeSearch:
    """Serve searches over the protocols of Search-R1 and RAGEN."""

    corpus: Path
    """Folder of an index that agentgym index made."""
    host: str = "127.0.0.1"
    """Address to listen on. Any but this machine's own is open to other machines."""
    port: int = 8000
    """Port to listen on; 0 takes a free one."""
    topk: int = 3
    """Documents per query, if a request does not say how many."""


def index(command: Index, console: Console) -> int:
    """Index a corpus and say what to do with it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from agentgym.retrieval.corpora.corpus import Corpus
    from agentgym.retrieval.index_builder import build_index

    corpus = Corpus(
        command.corpus,
        skip_broken_rows=command.skip_broken_rows,
        passage_chars=command.passage_chars,
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[passages]:,} passages"),
        TimeElapsedColumn(),
    )
    silent = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=silent) as bar:
        progress_task = bar.add_task("reading", total=1.0, passages=0)

        def progress(state: IndexProgress) -> None:
            bar.update(
                progress_task,
                description=state.stage,
                completed=state.share,
                passages=state.passages,
            )

        passages = build_index(
            corpus,
            command.out,
            index=command.index,
            overwrite=command.overwrite,
            progress=progress,
        )
    say(console, _summary(command, corpus, passages))
    return 0


def _summary(command: Index, corpus: Corpus, passages: int) -> str:
    """Say what was made and what to do with it."""
    size = sum(file.stat().st_size for file in command.out.iterdir()) / 1e6
    lines = [
        f"{passages:,} passages of {len(corpus.files):,} file(s) indexed in {command.out} "
        f"(index {command.index}, {size:,.1f} MB)"
    ]
    if corpus.broken:
        lines.append(f"{corpus.broken:,} left out; the first: {corpus.first_problem}")
    lines.append(
        f"ask about it: agentgym play search --env-kwargs corpus={command.out} --env-kwargs "
        f"questions=QUESTIONS.jsonl; serve it: agentgym serve search --corpus {command.out}"
    )
    return "\n".join(lines)


def serve(command: ServeSearch, console: Console) -> int:
    """Answer searches until interrupted."""
    from agentgym.retrieval.index_builder import open_index
    from agentgym.retrieval.remote.server import serve
    from agentgym.support.http_server import is_loopback

    if not is_loopback(command.host):
        say(
            console,
            f"warning: host {command.host} lets every machine that reaches this one search the "
            "index; there is no password",
        )
    retriever = open_index(command.corpus)
    try:
        serve(
            retriever,
            host=command.host,
            port=command.port,
            topk=command.topk,
            started=lambda url: say(
                console, f"{command.corpus} is searched at {url}/retrieve; press Ctrl-C to stop"
            ),
        )
    finally:
        retriever.close()
    return 0


SUBCOMMANDS = (Subcommand("index", Index, index), Subcommand("serve search", ServeSearch, serve))
