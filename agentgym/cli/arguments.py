"""The subcommands of ``agentgym`` that are no family's, and their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional, Suppress, UseAppendAction

from agentgym.evaluation.suites.settings import EvaluationSettings


@dataclass(frozen=True)
class List:
    """Show the environments: names, splits with sizes, and what is installed."""

    names: Positional[tuple[str, ...]] = ()
    """Only these: names such as webshop or gem:game:Mastermind-v0-easy. A prefix, such as gem:,
    lists what that project offers."""
    json: bool = False
    """Print JSON instead of a table."""


@dataclass(frozen=True)
class Doctor:
    """Say what each environment, engine and sandbox can do here, and how to install the rest."""

    json: bool = False
    """Print JSON instead of a table."""
    play: bool = False
    """Also let the expert of every family play a task, for some seconds."""


@dataclass(frozen=True)
class Play:
    """Play an environment in the terminal."""

    env: Positional[str]
    """Name such as webshop, one of its task sets such as webshop:easy (agentgym list webshop shows
    them), id such as agentgym/WebShop-v0, or MODULE:ID of your own."""
    split: str | None = None
    """Split of the task; train if left out, or where there is none the first."""
    task_index: int | None = None
    """Index of the task in the split; drawn by the seed if left out."""
    seed: int = 0
    """Seed of the episode."""
    horizon: int | None = None
    """Turn budget; the environment's own if left out."""
    hints: bool = False
    """Show the expert's next action as a hint."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    env_kwargs: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""


@dataclass(frozen=True)
class Eval(EvaluationSettings):
    """Evaluate policies on fixed panels of tasks: every named policy on every environment."""

    env: Positional[tuple[str, ...]] = ()
    """Names such as webshop, task sets such as webshop:easy (agentgym list webshop shows them), ids
    such as agentgym/WebShop-v0, or MODULE:ID of your own. With
    several environments or policies the result is one table, a leaderboard."""
    config: Path | None = None
    """YAML or TOML file with lists of environments and policies, each with its own settings under
    the names of these flags. Flags that are typed win over the file."""
    policy: UseAppendAction[tuple[str, ...]] = ()
    """May be repeated; random if left out. One of random, oracle (the expert), chat (a model behind
    an OpenAI-compatible endpoint), the folder of a run of agentgym-train, hf:PATH for a local
    Hugging Face model, MODULE:ATTRIBUTE of your own, or a blind policy, which reads only the list
    of admissible actions: blind- with first, last, shortest, longest, alphabet-first or
    alphabet-last; the same with -new, which types nothing twice; blind-random-new; or, fitted on
    the expert's episodes, blind-constant (the text that ends most training tasks) and blind-verbs
    (a ranking of verbs)."""
    out: Path | None = None
    """Folder for report.json, report.md and episodes.jsonl. Several evaluations have one folder
    each in it, beside leaderboard.json and leaderboard.md. Every episode is written as soon as it
    ends: repeat the command to resume, and finished episodes are not played again. If left out,
    models get a folder under runs/."""
    chart: Path | None = None
    """Draw the report, or the table of several, into this PNG or SVG file."""
    dry_run: bool = False
    """Only show what would be played, where it would be kept, and for a chat model an estimate of
    its tokens and their cost. Nothing is sent."""
    typed: Suppress[tuple[str, ...]] = ()
    """Names of the flags that were typed, which win over those of a file."""


@dataclass(frozen=True)
class Protocols:
    """List the protocols of papers for agentgym eval --protocol, or print the file of one."""

    name: Positional[str | None] = None
    """Print the file of this one, to read or to copy; list all if left out."""


@dataclass(frozen=True)
class Compare:
    """Compare evaluations or trainings on the same tasks, with 95 % intervals."""

    paths: Positional[tuple[Path, ...]]
    """Folders of trainings, of their --seeds, or patterns for the runs of each in quotes, as in
    agentgym compare 'runs/a-seed*' 'runs/b-seed*'. Or folders that agentgym eval --out made, of one
    or of several evaluations, folders of such folders, or report.json files. With two, the
    difference is the first minus the second. With more evaluations, each is compared with the first
    one that played the same tasks."""
    chart: Path | None = None
    """Draw all of them into this PNG or SVG file."""
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
    """MODULE:ID of the environment that was recorded, if it or its reward hooks are your own."""
    max_episodes: int | None = None
    """Only the first episodes of the file; all of them if left out."""
    workers: int = 1
    """Processes that play at the same time. The output is the same, in the order of the file."""
    json: bool = False
    """Print JSON instead of sentences."""
    rescore: bool = False
    """Compute new rewards with --reward-hooks and --env-kwargs, without a model, and show their
    means before and after. The environment is played again only if the new reward needs it."""
    reward_hooks: tuple[str, ...] = ()
    """Rescore: all reward hooks of the new reward, as in agentgym train --reward-hooks: potential
    turn_cost=0.01 potential:gamma=0.95,weight=0.5. If left out, only the family's own rewards."""
    env_kwargs: tuple[str, ...] = ()
    """Rescore: arguments of the environment to change, each as name=value, such as reward=sparse.
    They may change what turns pay, never what happens in them."""
    out: Path | None = None
    """Rescore: write the new records to this JSONL file, which must not exist yet."""


@dataclass(frozen=True)
class Export:
    """Write recorded episodes as a table, a data set or conversations; or tasks for Harbor."""

    file: Positional[Path]
    """JSONL file written by agentgym eval --out, agentgym-train or the Recorder wrapper, the
    folder of an evaluation, what this command wrote, or a file of AgentTraj. With --to harbor no
    file but an environment of SWE, such as swe."""
    out: Positional[Path]
    """File, or for datasets and atif folder, to write; it must not exist yet. With --to harbor a
    folder, in which tasks that are there already stay."""
    to: Literal[
        "parquet", "jsonl", "csv", "datasets", "sft", "atif", "agenttraj", "records", "harbor"
    ]
    """parquet, jsonl: one row an episode, with the same columns for every family. csv: these rows
    without the turns, for spreadsheets. datasets: a folder for datasets.load_dataset, with a
    parquet file for each split. sft: conversations. atif: a folder of trajectories in the format of
    Harbor. agenttraj: a file of trajectories in the format of AgentGym. records: episodes as they
    were, of what another form holds, or fewer of them. harbor: bundled and built tasks of SWE, each
    as a folder that Harbor plays."""
    only_successes: bool = False
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
    """Sft: leave out turns with an invalid action. Rows of episodes drop them with their answers;
    rows of turns have no row for them, but show them in later prompts."""
    prompt: str | None = None
    """Sft: what the model reads: default, bare, the prompt of a protocol such as verl-agent, or of
    a file of your own in their form; default if left out. Agenttraj: the instructions are its."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it is one of your own."""
    split: str | None = None
    """Harbor: only tasks of this split."""
    num_tasks: int | None = None
    """Harbor: this many tasks of each split, drawn; all of them if left out."""
    seed: int = 0
    """Harbor: seed of the draw."""
    env_kwargs: tuple[str, ...] = ()
    """Harbor: arguments of the environment, each as name=value, such as data=FOLDER."""
    image: str = ""
    """Harbor: image that the tasks are based on, with Python 3.10, git and pytest 8 or later; if
    left out, the Python of this process from the Docker Hub, with git and pytest installed."""
    json: bool = False
    """Print JSON instead of sentences."""


@dataclass(frozen=True)
class View:
    """Write recorded episodes, or two runs side by side, as one HTML page to look through."""

    paths: Positional[tuple[Path, ...]]
    """A JSONL file of episodes, a file or folder of ATIF or AgentTraj, the folder of a run of
    agentgym-train, or a folder that holds an episodes.jsonl, as agentgym eval --out makes, also of
    several evaluations; a second one is shown beside it, task by task."""
    out: Path | None = None
    """The page; if left out, view.html in the folder that is shown, or beside the file with its
    name and .html."""
    open: bool = False
    """Open the page in the browser."""
    max_episodes: int | None = None
    """Most episodes of each file; all of them if left out."""


@dataclass(frozen=True)
class ServeSandbox:
    """Serve sandboxes to environments on other machines."""

    host: str = "127.0.0.1"
    """Address to listen on; any other than this machine's own is open to other machines."""
    port: int = 8001
    """Port to listen on; 0 takes a free one."""
    sandbox: Literal["auto", "namespace", "docker"] = "auto"
    """Back end of the sandboxes; auto takes the first that can run here."""
    max_sandboxes: int = 32
    """How many there may be at a time."""
    idle_timeout: float = 60.0
    """Seconds without a word of its client after which a sandbox is closed."""
    max_memory: float = 8.0
    """Most GiB of memory that a client may ask for, for one sandbox."""
    max_processes: int = 1024
    """Most processes."""
    max_disk: float = 4.0
    """Most GiB of files."""
    max_files: int = 200_000
    """Most files."""
    max_seconds: float = 3600.0
    """Longest time that a command may take."""
    visible: tuple[Path, ...] = ()
    """Folders, besides the cache, that clients may show inside sandboxes; may be repeated."""


@dataclass(frozen=True)
class ServeEnv:
    """What is asked of every server of environments."""

    env: Positional[str]
    """Name such as webshop or webshop:easy, id, MODULE:ID of your own, or the name of another
    project's, such as gem:game:Mastermind-v0-easy."""
    host: str = "127.0.0.1"
    """Address to listen on; any other than this machine's own is open to other machines."""
    port: int = 0
    """Port to listen on; 0 takes a free one."""
    token: bool = True
    """Ask clients for a token. --no-token, for clients that send none, works at this machine's
    addresses only."""
    max_envs: int = 256
    """How many environments there may be at a time, one for each client."""
    idle_timeout: float = 600.0
    """Seconds after which an environment is closed that nobody asks for."""
    env_kwargs: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""


@dataclass(frozen=True)
class ServeHttp(ServeEnv):
    """Serve an environment to programs in any language, by the calls of AgentGym."""

    port: int = 8002
    """Port to listen on; 0 takes a free one."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""


@dataclass(frozen=True)
class ServeMcp(ServeEnv):
    """Serve an environment to agents that speak MCP: its actions are tools."""

    port: int = 8003
    """Port to listen on; 0 takes a free one."""
    http: bool = False
    """Answer over HTTP; if left out, on standard input and output, for the agent that starts it."""


@dataclass(frozen=True)
class ServeOpenEnv(ServeEnv):
    """Serve an environment as OpenEnv does, to the trainers that play those."""

    port: int = 8000
    """Port to listen on; 0 takes a free one."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    folder: Path | None = None
    """Serve nothing: write this folder, which openenv validate, build and push take."""


@dataclass(frozen=True)
class LoadImage:
    """Unpack a container image of a file, for sandboxes of namespaces; needs no daemon, no root."""

    source: Positional[Path]
    """An archive of docker save, or an OCI layout as folder or tar."""
    name: Positional[str] = ""
    """What it is called; its name in the file if left out."""


@dataclass(frozen=True)
class PullImages:
    """Bring container images from their registries, for sandboxes of namespaces."""

    names: Positional[tuple[str, ...]]
    """The images. What was brought stays: repeat the command to go on after a failure."""
    mirror: str = ""
    """Registry, perhaps with a path, from which images of the Docker Hub come instead."""


@dataclass(frozen=True)
class ListImages:
    """Show the container images that sandboxes of namespaces can run."""


@dataclass(frozen=True)
class PruneImages:
    """Remove container images that were unpacked here; those that sandboxes use stay."""

    names: Positional[tuple[str, ...]] = ()
    """The images."""
    budget: str | None = None
    """Size, such as 50GB: the longest unused go until the rest fits. 0GB removes all."""


@dataclass(frozen=True)
class Conform:
    """Check that an environment is the same through each of its interfaces, and for equal seeds."""

    env: Positional[str]
    """Name such as webshop or webshop:easy, id, MODULE:ID of your own, or PREFIX:NAME of another
    project's, such as openenv:http://127.0.0.1:8000."""
    split: str = "test"
    """Split of the tasks."""
    num_tasks: int = 12
    """Number of tasks: a third each for the expert, random actions and hostile text."""
    seed: int = 0
    """Seed of the panel and of the random actions."""
    horizon: int | None = None
    """Turn budget; the environment's own if left out."""
    interfaces: tuple[str, ...] = ()
    """Only these of again, other-order, interleaved, process, hash-seed, http, openenv and mcp."""
    env_kwargs: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""
    json: bool = False
    """Print JSON instead of a table."""


@dataclass(frozen=True)
class Validate:
    """Check tasks: the expert solves each, doing nothing solves none, and no blind policy many."""

    env: Positional[str]
    """Name such as swe or webshop:easy, id such as agentgym/SWE-v0, or MODULE:ID of your own."""
    split: tuple[str, ...] = ()
    """Splits to check; all of them if left out."""
    num_tasks: int | None = None
    """Tasks to check of each split, drawn by the seed; all of them if left out."""
    blind_tasks: int = 50
    """Most tasks of each split that each blind policy plays (agentgym eval --help lists them); 0
    leaves them out."""
    blind_limit: float = 0.25
    """Share of a split that a blind policy may solve. The check fails if one solves more and the
    95 % interval of its share lies above this."""
    seed: int = 0
    """Seed of the choice."""
    concurrency: int = 1
    """Episodes played at the same time."""
    failing: Path | None = None
    """Write the ids of the tasks that fail to this file, one a line."""
    env_kwargs: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""


@dataclass(frozen=True)
class Synth:
    """Check a specification of entities, tools and goals, and say what its environment is like."""

    spec: Positional[str]
    """YAML file, or the name of a bundled one, such as warehouse."""
    num_tasks: int = 50
    """Tasks of each split that are drawn and solved."""
    seed: int = 0
    """Another set of tasks, as the environment's argument generator_seed."""


COMMANDS: Mapping[str, type] = {
    "list": List,
    "play": Play,
    "eval": Eval,
    "protocols": Protocols,
    "compare": Compare,
    "replay": Replay,
    "export": Export,
    "view": View,
    "doctor": Doctor,
    "serve http": ServeHttp,
    "serve mcp": ServeMcp,
    "serve openenv": ServeOpenEnv,
    "serve sandbox": ServeSandbox,
    "images load": LoadImage,
    "images pull": PullImages,
    "images list": ListImages,
    "images prune": PruneImages,
    "validate": Validate,
    "conform": Conform,
    "synth": Synth,
}
"""The subcommands that are no family's, by what is typed for them."""
ABOUT = "Gymnasium environments of text tasks for language-model agents."
ABOUT_FIRST: Mapping[str, str] = {
    "serve": "Serve environments, searches or sandboxes to programs, or WebShop to a person.",
    "images": "Container images for sandboxes of namespaces, which need no daemon.",
}
"""What the first word of several of them stands for."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "start": ("doctor", "list", "play"),
    "evaluate": ("eval", "compare", "view", "protocols"),
    "train": ("train", "presets", "merge"),
    "recorded episodes": ("replay", "export"),
    "own tasks and environments": ("validate", "conform", "synth", "index", "swe"),
    "servers and images": ("serve", "images"),
}
"""The commands in the order of the help, by the titles of their groups."""
HELP_GROUPS: Mapping[type, Mapping[str, tuple[str, ...]]] = {
    Eval: {
        "what plays": ("--policy", "--model", "--base-url", "--agent", "--temperature"),
        "on which tasks": (
            "--env-kwargs", "--split", "--num-tasks", "--seed", "--horizon", "--protocol",
        ),
        "how": ("--samples", "--concurrency", "--backend", "--reward-hooks", "--config"),
        "results": ("--out", "--chart", "--dry-run"),
    },
}  # fmt: skip
"""Flags in the short help of commands that have many, by the titles of their groups."""
