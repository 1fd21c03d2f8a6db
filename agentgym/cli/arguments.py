"""The subcommands of ``agentgym`` and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Union

from tyro.conf import OmitArgPrefixes, Positional, Suppress, UseAppendAction, subcommand

LISTS = ("--set", "--policy-set", "--task", "--visible", "--hooks", "--extra")
"""Flags that take a list and may be repeated."""
SWITCHED_OFF = {"--no-scale": "--scale=False"}
"""Of switches of ``agentgym eval`` that decide for themselves if they are left out, the short way
to say no."""


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
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    set: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""


@dataclass(frozen=True)
class Eval:
    """Evaluate policies on fixed panels of tasks: each that is named on each environment."""

    env: Positional[tuple[str, ...]] = ()
    """Short names or ids, such as webshop or agentgym/WebShop-v0, or MODULE:ID of your own. With
    several environments or policies the result is one table, a leaderboard."""
    file: Path | None = None
    """YAML file with lists of environments and policies, each with settings of its own, by the
    names of these flags; a flag that is given beside it wins."""
    policy: UseAppendAction[tuple[str, ...]] = ()
    """May be repeated; random if left out. random, oracle (the expert), chat (a model behind an
    OpenAI-compatible endpoint), the folder of a run of agentgym-train, hf:PATH for a local Hugging
    Face model, MODULE:ATTRIBUTE of your own, or a blind policy, which reads nothing but the list of
    admissible actions: blind- with first, last, shortest, longest, alphabet-first or alphabet-last,
    the same with -new, which types nothing twice, or blind-random-new; and, fitted on the expert's
    episodes, blind-constant, the text that ends most training tasks, and blind-verbs, a ranking of
    verbs."""
    policy_set: tuple[str, ...] = ()
    """Options of a policy that is loaded by name, each as name=value, such as temperature=0; may be
    repeated. They stand in reports: let the policy read keys from the environment instead. Values
    whose names look like secrets, such as api_key, are hidden there."""
    protocol: str | None = None
    """Evaluate as a paper does: verl-agent, agentgym, official, or a file of your own (agentgym
    protocols shows them). It says which tasks are played, for how many turns, how prompts are laid
    out and what is printed; what other flags say counts more, and the report names it."""
    prompt: str | None = None
    """What a model reads: default, bare (observations alone), the prompt of a protocol such as
    verl-agent or agentgym, or of a file of your own in their form. The environment is made with its
    grammar. If left out: the protocol's, or the one that a run was trained under, or default."""
    split: str | None = None
    """Split to evaluate on; test, or the protocol's, if left out."""
    n: int | None = None
    """Number of tasks, cut to the split's size; 100, or all of the protocol's, if left out."""
    seed: int = 0
    """Seed of the panel."""
    task: tuple[str, ...] = ()
    """Id of a task to play instead of a panel; may be repeated. With a protocol also an item of
    it, such as webshop_12, or a JSON file of items."""
    samples: int = 1
    """Episodes of each task: above 1 the report has pass@k and pass^k."""
    horizon: int | None = None
    """Turn budget; the environment's own if left out."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    out: Path | None = None
    """Folder for report.json, report.md and episodes.jsonl; of several evaluations each has one in
    it, beside leaderboard.json and leaderboard.md. Every episode is written as it ends: the same
    command goes on where it was cut off, and does not play again what is finished. A model has a
    folder under runs/ if this is left out."""
    chart: Path | None = None
    """PNG or SVG file into which the report, or the table of several, is drawn."""
    dry_run: bool = False
    """Only show what would be played, where it would be kept, and for a chat model an estimate of
    its tokens and their cost. Nothing is sent."""
    retry_failed: bool = False
    """Play the broken episodes of a finished evaluation again."""
    failed: Literal["leave-out", "count"] = "leave-out"
    """What becomes of broken episodes, in which the environment, the connection or the endpoint
    failed: they are left out of the means, beside which success over all episodes then stands as a
    lower bound; or they count as unsolved. Exit code 3 if more than 5 % are broken and left out."""
    scale: bool | None = None
    """Also play the random policy and the expert, for the score from 0 to 100; done for models if
    left out. --no-scale is short for --scale False."""
    model: str = ""
    """Chat: name of the model."""
    base_url: str | None = None
    """Chat: URL of the endpoint up to /v1. If left out, OPENAI_BASE_URL, or else OpenAI itself
    (api.openai.com) with the key in OPENAI_API_KEY."""
    api_key_env: str = "OPENAI_API_KEY"
    """Chat: environment variable that holds the key; the key itself is never an argument."""
    window: int | None = None
    """Chat: turns of history sent besides the first observation; all, or as the prompt says, if
    left out."""
    max_tokens: int = 4096
    """Chat: longest answer in tokens, thinking included."""
    max_tokens_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """Chat: name under which it is sent; auto sends the first until the endpoint refuses it."""
    temperature: float | None = None
    """Chat: sampling temperature."""
    top_p: float | None = None
    """Chat: share of the probability that is sampled from."""
    sampling_seed: int | None = None
    """Chat: seed of the sampling, for endpoints that have one."""
    stream: bool = False
    """Chat: receive answers piece by piece, which some endpoints demand."""
    invalid_reasons: bool = False
    """Chat: tell the model why its last action was invalid, where the observation does not."""
    send_reasoning: bool = False
    """Chat: send thinking that came apart from an answer back with it, as some models need between
    tool calls."""
    extra: tuple[str, ...] = ()
    """Chat: further fields of the request, each as name=value (JSON values), such as top_k=20; may
    be repeated."""
    instructions: str = ""
    """Chat: text that begins the system message."""
    timeout: float = 120.0
    """Chat: seconds to wait for an answer."""
    retries: int = 4
    """Chat: retries of failed requests, with growing waits."""
    requests_per_minute: float | None = None
    """Chat: most requests a minute, of all episodes together."""
    price: tuple[float, float] | tuple[float, float, float] | None = None
    """Prices in US dollars per million tokens read, tokens written and, if other, tokens read from
    a cache."""
    limit_tokens: int | None = None
    """Most tokens of an episode, read and written; then it ends as it stands."""
    limit_cost: float | None = None
    """Most US dollars of an episode; then it ends as it stands."""
    limit_total_tokens: int | None = None
    """Most tokens of all episodes together; then no further one begins (exit code 3), and the same
    command with a higher limit goes on."""
    limit_total_cost: float | None = None
    """Most US dollars of all episodes together, likewise."""
    concurrency: int | None = None
    """Episodes played at the same time. If left out: 8 for models and for threads, one per
    CPU for processes and actors, else 1. The results are the same."""
    backend: Literal["sync", "thread", "process", "ray"] = "sync"
    """Where environments run: in the threads of their episodes, or each in a thread, a process (for
    those that are heavy or may crash) or a Ray actor of its own."""
    step_timeout: float | None = None
    """Seconds that one step of an environment may take on all but sync; then its episode
    counts as failed."""
    set: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""
    typed: Suppress[tuple[str, ...]] = ()
    """The arguments as they were typed, which are held against those of a file."""


@dataclass(frozen=True)
class Protocols:
    """Show how papers evaluate: the protocols for agentgym eval --protocol, or the file of one."""

    name: Positional[str | None] = None
    """Print the file of this one, to read or to copy; a list of all if left out."""


@dataclass(frozen=True)
class Compare:
    """Compare evaluations: two on the same tasks, with 95 % intervals, or many in one table."""

    paths: Positional[tuple[Path, ...]]
    """Folders that agentgym eval --out made, of one or of several evaluations, folders of such
    folders, or report.json files. Of two the difference is the first minus the second; in a table
    of more each is held against the one that is named first for its tasks."""
    chart: Path | None = None
    """PNG or SVG file into which all of them are drawn."""
    format: Literal["table", "markdown", "latex", "csv", "json"] = "table"
    """How the result is written. latex and csv are the table of a paper: policies in rows,
    environments in columns, and their average."""


@dataclass(frozen=True)
class Replay:
    """Play recorded episodes again and check that nothing has changed, or rescore them.

    Exit code 1 if an episode has changed, 2 if none can be played again.
    """

    file: Positional[Path]
    """JSONL file written by agentgym eval --out, agentgym-train or the Recorder wrapper, or the
    folder of an evaluation."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it is one of your own."""
    limit: int | None = None
    """Only the first episodes of the file; all of them if left out."""
    jobs: int = 1
    """Processes that play at the same time. The output is the same, in the order of the file."""
    json: bool = False
    """Print JSON instead of sentences."""
    rescore: bool = False
    """Compute rewards anew, without a model, under --hooks and --set, and show their means before
    and after. The environment is played again only where the new reward needs it."""
    hooks: tuple[str, ...] = ()
    """Rescore: all reward hooks of the new reward, as in agentgym-train --rl.hooks: potential
    turn_cost=0.01 potential:gamma=0.95,weight=0.5; what the family itself pays if left out."""
    set: tuple[str, ...] = ()
    """Rescore: arguments of the environment in the place of recorded ones, each as name=value, such
    as reward=sparse. They may change what turns pay, never what happens in them."""
    output: Path | None = None
    """Rescore: write the new records to this JSONL file, which must not exist yet."""


@dataclass(frozen=True)
class Export:
    """Write recorded episodes as a table, a data set of the hub, or conversations to learn from."""

    file: Positional[Path]
    """JSONL file written by agentgym eval --out, agentgym-train or the Recorder wrapper, or the
    folder of an evaluation."""
    output: Positional[Path]
    """File, or for datasets folder, to write; it must not exist yet."""
    to: Literal["parquet", "jsonl", "csv", "datasets", "sft"]
    """parquet, jsonl: one row an episode, with the same columns for every family. csv: these rows
    without the turns, for spreadsheets. datasets: a folder for datasets.load_dataset, with a
    parquet file for each split. sft: conversations."""
    only_success: bool = False
    """Leave out episodes that were not solved."""
    min_score: float | None = None
    """Leave out episodes with a lower final score, from 0 to 1."""
    text: Literal["raw", "action"] = "raw"
    """Sft: what the assistant says: the model's whole text with its thinking, or the action that
    was understood, in the environment's grammar."""
    rows: Literal["episode", "turn"] = "episode"
    """Sft: messages of a whole episode, for SFTConfig(assistant_only_loss=True); or prompt and
    completion of each turn, for chat templates that mark no assistant messages."""
    valid_actions_only: bool = False
    """Sft: do not learn turns whose action was invalid. Rows of episodes drop them with their
    answers; rows of turns have none for them, and show them in later prompts."""
    prompt: str | None = None
    """Sft: what the model reads: default, bare, the prompt of a protocol such as verl-agent, or of
    a file of your own in their form; default if left out."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it is one of your own."""
    json: bool = False
    """Print JSON instead of sentences."""


@dataclass(frozen=True)
class View:
    """Write recorded episodes, or two runs side by side, as one HTML page to look through."""

    paths: Positional[tuple[Path, ...]]
    """A JSONL file of episodes, the folder of a run of agentgym-train, or a folder that holds an
    episodes.jsonl, as agentgym eval --out makes, also of several evaluations; a second one is shown
    beside it, task by task."""
    output: Path | None = None
    """The page; if left out, view.html in the folder that is shown, or beside the file with its
    name and .html."""
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
    """Serve searches or sandboxes to programs, or WebShop to a person in the browser."""

    what: Positional[str]
    """search (in the protocols of Search-R1 and RAGEN), sandbox, or webshop, a page in which a
    person shops."""
    index: Path | None = None
    """Search: folder that agentgym index made."""
    host: str = "127.0.0.1"
    """Address to listen at; others than this machine's own are open to other machines, and refused
    for webshop."""
    port: int | None = None
    """Port to listen at; if left out, 8000 for search, 8001 for sandbox and 8010 for webshop; 0
    takes a free one."""
    topk: int = 3
    """Search: documents per query where a request does not say how many."""
    backend: Literal["auto", "namespace", "docker"] = "auto"
    """Sandbox: what sandboxes are made with; auto takes the first that can run here."""
    most: int = 32
    """Sandbox: how many there may be at a time."""
    lease: float = 60.0
    """Sandbox: seconds after which one is closed whose client has fallen silent."""
    max_memory: float = 8.0
    """Sandbox: most GiB of memory that a client may ask for, for one sandbox."""
    max_processes: int = 1024
    """Sandbox: most processes."""
    max_disk: float = 4.0
    """Sandbox: most GiB of files."""
    max_files: int = 200_000
    """Sandbox: most files."""
    max_seconds: float = 3600.0
    """Sandbox: longest time that a command may take."""
    visible: tuple[Path, ...] = ()
    """Sandbox: folders that clients may show inside, besides the cache; may be repeated."""
    split: str = "train"
    """Webshop: split of the first task."""
    seed: int = 0
    """Webshop: seed of the episodes, which draws the first task."""
    record: Path | None = None
    """Webshop: append every finished episode to this JSONL file."""
    open: bool = False
    """Webshop: open the page in the browser."""
    set: tuple[str, ...] = ()
    """Webshop: arguments of the environment, each as name=value (JSON values); may be repeated."""


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


COMMANDS = (
    List, Play, Eval, Protocols, Compare, Replay, Export, View, Doctor, Index, Serve, Validate,
    *SWE_COMMANDS,
)  # fmt: skip
Command = Union[  # noqa: UP007 (tyro reads the annotations at run time)
    Annotated[List, subcommand("list")],
    Annotated[Play, subcommand("play")],
    Annotated[Eval, subcommand("eval")],
    Annotated[Protocols, subcommand("protocols")],
    Annotated[Compare, subcommand("compare")],
    Annotated[Replay, subcommand("replay")],
    Annotated[Export, subcommand("export")],
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
