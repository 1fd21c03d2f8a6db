"""The subcommands of ``agentgym`` and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Union

from tyro.conf import OmitArgPrefixes, Positional, subcommand

LISTS = ("--set", "--visible")
"""Flags that take a list and may be repeated."""


@dataclass(frozen=True)
class List:
    """Show the environments: names, splits with sizes, and what is installed."""

    json: bool = False
    """Print JSON instead of a table."""


@dataclass(frozen=True)
class Doctor:
    """Check the installation; print the command that installs what is missing."""

    json: bool = False
    """Print JSON instead of a table."""


@dataclass(frozen=True)
class Play:
    """Play an environment in the terminal."""

    env: Positional[str]
    """Short name or id, such as webshop or agentgym/WebShop-v0, or MODULE:ID of your own."""
    split: str = "train"
    """Split of the task."""
    index: int | None = None
    """Index of the task in the split; drawn by the seed if left out."""
    seed: int = 0
    """Seed of the episode."""
    horizon: int | None = None
    """Turn budget; the environment's own if left out."""
    oracle: bool = False
    """Show the expert's next action as a hint."""
    grammar: Literal["native", "xml", "react", "tool_call"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    set: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""


@dataclass(frozen=True)
class Eval:
    """Evaluate a policy on a fixed panel of tasks."""

    env: Positional[str]
    """Short name or id, such as webshop or agentgym/WebShop-v0, or MODULE:ID of your own."""
    policy: Literal[
        "random", "oracle", "chat",
        "blind-first", "blind-last", "blind-shortest", "blind-longest",
        "blind-alphabet-first", "blind-alphabet-last",
        "blind-first-new", "blind-last-new", "blind-shortest-new", "blind-longest-new",
        "blind-alphabet-first-new", "blind-alphabet-last-new", "blind-random-new",
        "blind-constant", "blind-verbs",
    ] = "random"  # fmt: skip
    """The policy; chat is a model behind an OpenAI-compatible endpoint. Blind ones read nothing but
    the list of admissible actions: -new types nothing twice; constant, the text that ends most
    training tasks, and verbs, a ranking of verbs, are fitted on the expert's episodes."""
    split: str = "test"
    """Split to evaluate on."""
    n: int = 100
    """Number of tasks, cut to the split's size."""
    seed: int = 0
    """Seed of the panel."""
    horizon: int | None = None
    """Turn budget; the environment's own if left out."""
    grammar: Literal["native", "xml", "react", "tool_call"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    model: str = ""
    """Chat: name of the model."""
    base_url: str | None = None
    """Chat: URL of the endpoint up to /v1. The key is read from OPENAI_API_KEY."""
    window: int = 16
    """Chat: turns of history sent."""
    max_tokens: int = 512
    """Chat: longest answer in tokens."""
    temperature: float | None = None
    """Chat: sampling temperature."""
    top_p: float | None = None
    """Chat: share of the probability that is sampled from."""
    backend: Literal["sync", "thread", "process", "ray"] = "sync"
    """Where environments run: one after the other here, or each in a thread (for a chat model, or
    environments that wait), a process (for those that are heavy or may crash) or a Ray actor of
    its own."""
    workers: int | None = None
    """Episodes played at the same time by threads (default 8), processes or actors (one per
    CPU); the random policy, whose draws follow each other, plays one. The results are the same."""
    step_timeout: float | None = None
    """Seconds that one step of an environment may take on all but sync; then its episode
    counts as failed."""
    set: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""
    output: Path | None = None
    """Write the report with every episode to this JSON file."""
    record: Path | None = None
    """Append every episode to this JSONL file, for agentgym replay."""


@dataclass(frozen=True)
class Replay:
    """Play recorded episodes again and check that nothing has changed."""

    file: Positional[Path]
    """JSONL file written by agentgym eval --record, agentgym-train or the Recorder wrapper."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it is one of your own."""


@dataclass(frozen=True)
class View:
    """Write recorded episodes, or two runs side by side, as one HTML page to look through."""

    paths: Positional[tuple[Path, ...]]
    """A JSONL file of episodes, the folder of a run of agentgym-train, or a folder that holds an
    episodes.jsonl; a second one is shown beside it, task by task."""
    output: Path | None = None
    """The page; beside the input, with its name and .html, if left out."""
    open: bool = False
    """Open the page in the browser."""
    limit: int | None = None
    """Most episodes of each file; all of them if left out."""


@dataclass(frozen=True)
class Index:
    """Index a corpus of your own for the environment search."""

    corpus: Positional[Path]
    """A file or folder of text, Markdown or JSON lines (id with contents, or with title and text),
    also gzipped."""
    output: Path
    """Folder of the index; it appears when the index is complete."""
    engine: Literal["bm25", "tantivy"] = "bm25"
    """What searches: bm25 holds up to two million passages; tantivy any number."""
    skip_broken: bool = False
    """Leave out and count lines that cannot be used, instead of stopping at the first."""
    passage_chars: int = 600
    """Most characters of the passages that text and Markdown files are cut into."""
    overwrite: bool = False
    """Replace the index that is there."""


@dataclass(frozen=True)
class Serve:
    """Serve over HTTP: searches, in the protocols of Search-R1 and RAGEN, or sandboxes."""

    what: Positional[Literal["search", "sandbox"]]
    """What to serve: search or sandbox."""
    index: Path | None = None
    """Search: folder that agentgym index made."""
    host: str = "127.0.0.1"
    """Address to listen at; others than this machine's own are open to other machines."""
    port: int | None = None
    """Port to listen at, 8000 for search and 8001 for sandbox if left out; 0 takes a free one."""
    topk: int = 3
    """Search: documents per query where a request does not say how many."""
    backend: Literal["auto", "namespace", "docker"] = "auto"
    """Sandbox: what sandboxes are made with; auto takes the first that can run here."""
    most: int = 32
    """Sandbox: how many there may be at a time."""
    lease: float = 60.0
    """Sandbox: seconds after which one is closed whose client has fallen silent."""
    visible: tuple[Path, ...] = ()
    """Sandbox: folders that clients may show inside, besides the cache; may be repeated."""


@dataclass(frozen=True)
class Validate:
    """Check tasks: the expert solves each, doing nothing solves none, and no blind policy many."""

    env: Positional[str]
    """Short name or id, such as swe or agentgym/SWE-v0, or MODULE:ID of your own."""
    split: tuple[str, ...] = ()
    """Splits to check; all of them if left out."""
    n: int | None = None
    """Tasks to check of each split, drawn by the seed; all of them if left out."""
    blind_n: int = 50
    """Most tasks of each split that each blind policy plays (agentgym eval --help lists them); 0
    leaves them out."""
    blind_limit: float = 0.25
    """Share of a split that a blind policy may solve. The check fails if one solves more and the
    95 % interval of its share lies above this."""
    seed: int = 0
    """Seed of the choice."""
    jobs: int = 1
    """Episodes played at the same time."""
    failing: Path | None = None
    """Write the ids of the tasks that fail to this file, one a line."""
    set: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""


@dataclass(frozen=True)
class SweBuild:
    """Make SWE tasks from Python libraries: faults put into their source, or pairs of releases."""

    library: Positional[tuple[str, ...]]
    """What to make tasks from: a requirement such as toolz==1.2.0, whose source distribution pip
    downloads, the file of one, a folder, or installed:NAME. For --kind versions, two or more
    releases of one library from old to new. The word bundled makes the bundled tasks anew."""
    output: Path
    """Folder of the tasks; a run that was cut off goes on where it stopped."""
    kind: Literal["mutation", "versions"] = "mutation"
    """mutation: faults that tests of the library find; versions: the tests of a release on the
    source of the one before it."""
    limit: int = 50
    """Most tasks of each library (mutation)."""
    seed: int = 0
    """Seed of the choice of faults and of the wording."""
    backend: str = "auto"
    """Sandbox in which the tests run: namespace, docker or remote; auto takes the first that can
    run here."""
    timeout: float = 120.0
    """Most seconds of one run of the tests."""


@dataclass(frozen=True)
class SweList:
    """List SWE tasks: id, repository, failing and passing tests, and the title of the issue."""

    source: Positional[str] = "bundled"
    """bundled, a folder that agentgym swe build made, or rows of a published set."""
    split: str | None = None
    """Only this split."""
    limit: int = 50
    """Most tasks to list of each split."""


@dataclass(frozen=True)
class SweImage:
    """Print the container image of an instance of a published set."""

    id: Positional[str]
    """Id of the instance, such as django__django-11099."""
    source: Path | None = None
    """File or folder of rows, name of a set, or its id on the hub."""
    data_set: str | None = None
    """The set that the rows are of, such as swe-gym; recognised by their fields if left out.
    Without --source the image is named by the rule of the set."""
    image_mirror: str = ""
    """Registry and namespace from which the images come instead of their own."""
    skip_broken: bool = False
    """Leave out and count rows that cannot be used, instead of stopping at the first."""


@dataclass(frozen=True)
class SwePrefetch:
    """Pull the container images of a published set before they are needed."""

    source: Path
    """File or folder of rows, name of a set, or its id on the hub."""
    split: str | None = None
    """Split of the instances; all of them if left out."""
    n: int | None = None
    """Most images, in the order of the instances; all of them if left out."""
    budget: str | None = None
    """Size, such as 50GB; no image is pulled any more once ours take it."""
    data_set: str | None = None
    """The set that the rows are of, such as swe-gym; recognised by their fields if left out."""
    image_mirror: str = ""
    """Registry and namespace from which the images come instead of their own."""
    skip_broken: bool = False
    """Leave out and count rows that cannot be used, instead of stopping at the first."""


@dataclass(frozen=True)
class SweCache:
    """Show the container images that agentgym has pulled or made, and remove some."""

    budget: str | None = None
    """Size, such as 50GB; the images of ours that were not used for longest are removed until the
    rest fits. Others' images are never touched."""


SWE_COMMANDS = (SweBuild, SweList, SweImage, SwePrefetch, SweCache)
SweCommand = Union[  # noqa: UP007 (tyro reads the annotations at run time)
    Annotated[SweBuild, subcommand("build")],
    Annotated[SweList, subcommand("list")],
    Annotated[SweImage, subcommand("image")],
    Annotated[SwePrefetch, subcommand("prefetch")],
    Annotated[SweCache, subcommand("cache")],
]


@dataclass(frozen=True)
class Swe:
    """Make and hold SWE tasks: agentgym swe build --help."""

    command: OmitArgPrefixes[SweCommand]
    """What to do."""


COMMANDS = (List, Play, Eval, Replay, View, Doctor, Index, Serve, Validate, *SWE_COMMANDS)
Command = Union[  # noqa: UP007 (tyro reads the annotations at run time)
    Annotated[List, subcommand("list")],
    Annotated[Play, subcommand("play")],
    Annotated[Eval, subcommand("eval")],
    Annotated[Replay, subcommand("replay")],
    Annotated[View, subcommand("view")],
    Annotated[Doctor, subcommand("doctor")],
    Annotated[Index, subcommand("index")],
    Annotated[Serve, subcommand("serve")],
    Annotated[Validate, subcommand("validate")],
    Annotated[Swe, subcommand("swe")],
]


@dataclass(frozen=True)
class Arguments:
    """Gymnasium environments of text tasks for language-model agents."""

    command: OmitArgPrefixes[Command]
    """What to do."""
