"""``agentgym index`` and ``agentgym serve search``: a corpus of one's own, searched and served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentgym.cli.arguments import Index, Serve

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.retrieval.corpora.corpus import Corpus
    from agentgym.retrieval.index_builder import Progress


def index(command: Index, console: Console) -> int:
    """Index a corpus and say what to do with it."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from agentgym.retrieval.corpora.corpus import Corpus
    from agentgym.retrieval.index_builder import build_index

    corpus = Corpus(
        command.corpus, skip_broken=command.skip_broken, passage_chars=command.passage_chars
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[passages]:,} passages"),
        TimeElapsedColumn(),
    )
    silent = not console.is_terminal
    with Bar(*columns, console=console, transient=True, disable=silent) as bar:
        shown = bar.add_task("reading", total=1.0, passages=0)

        def progress(state: Progress) -> None:
            bar.update(
                shown, description=state.stage, completed=state.share, passages=state.passages
            )

        passages = build_index(
            corpus,
            command.out,
            index=command.index,
            overwrite=command.overwrite,
            progress=progress,
        )
    text = _summary(command, corpus, passages)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
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
        f"ask about it: agentgym play search --set corpus={command.out} --set "
        f"questions=QUESTIONS.jsonl; serve it: agentgym serve search --corpus {command.out}"
    )
    return "\n".join(lines)


def serve(command: Serve, console: Console) -> int:
    """Answer searches until interrupted."""
    from agentgym.errors import ConfigurationError
    from agentgym.retrieval.index_builder import open_index
    from agentgym.retrieval.remote.server import serve
    from agentgym.support.http_server import is_loopback

    if command.corpus is None:
        raise ConfigurationError(
            "expected the folder of an index, got none; name it with --corpus (agentgym index "
            "makes one)"
        )

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    if not is_loopback(command.host):
        say(
            f"warning: host {command.host} lets every machine that reaches this one search the "
            "index; there is no password"
        )
    retriever = open_index(command.corpus)
    try:
        serve(
            retriever,
            host=command.host,
            port=8000 if command.port is None else command.port,
            topk=command.topk,
            started=lambda url: say(
                f"{command.corpus} is searched at {url}/retrieve; press Ctrl-C to stop"
            ),
        )
    finally:
        retriever.close()
    return 0
