"""The general subcommands of ``agentgym``, and their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentgym.cli.leaderboard_arguments import PANEL_COMMANDS
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.support.flag_marks import Append, Positional, Suppress
from agentgym.support.hub_upload import PushArguments


@dataclass(frozen=True)
class List:
    """List the environments: names, tasks per split, and what is installed."""

    names: Positional[tuple[str, ...]] = ()
    """Only these: names such as webshop or gem:game:Mastermind-v0-easy. A prefix such as gem: lists
    what that project offers."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class Doctor:
    """Show what works on this machine, and the command that installs the rest."""

    json: bool = False
    """Print JSON."""
    all: bool = False
    """Show every package, and the command of each extra."""
    play: bool = False
    """Also let the expert of every family play a task, which takes a few seconds."""


@dataclass(frozen=True)
class Play:
    """Play an environment yourself, in the terminal."""

    env: Positional[str]
    """Environment: a name such as webshop, a task set such as webshop:easy, a Gymnasium id, or
    MODULE:ID of your own. agentgym list webshop shows the task sets of a family."""
    split: str | None = None
    """Split of the task. None: train, or the first one if there is no train."""
    task_index: int | None = None
    """Index of the task in the split. None: drawn by --seed."""
    seed: int = 0
    """Seed of the episode."""
    horizon: int | None = None
    """Turn budget of an episode. None: the environment's own."""
    hints: bool = False
    """Show the expert's next action before each turn."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written. None: as the environment does by default, mostly native."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""


@dataclass(frozen=True)
class Eval(EvaluationSettings):
    """Evaluate policies on fixed panels of tasks."""

    env: Positional[tuple[str, ...]] = ()
    """Environments: names such as webshop, task sets such as webshop:easy, Gymnasium ids, or
    MODULE:ID of your own. Several environments or policies make a leaderboard."""
    config: Path | None = None
    """YAML or TOML file of settings under the names of these flags, with lists of environments and
    policies that may each have their own. A flag wins over the file."""
    policy: Append[tuple[str, ...]] = ()
    """Policy: random, oracle, demonstrator, chat, the folder of a training, hf:PATH, or
    MODULE:ATTRIBUTE of your own. The flag may be repeated; without it random plays. oracle is the
    solver that knows the answers, demonstrator the expert chosen by the environment's argument
    expert, chat a model behind an OpenAI-compatible endpoint, hf:PATH a local Hugging Face model.
    Blind policies read only the list of admissible actions: blind- with first, last, shortest,
    longest, alphabet-first or alphabet-last, each also with -new, which repeats no action;
    blind-random-new; and, fitted on the demonstrator's episodes, blind-constant (the text that ends
    most training tasks) and blind-verbs (a ranking of verbs)."""
    out: Path | None = None
    """Folder for report.json, report.md and episodes.jsonl. Several evaluations get one folder
    each, next to leaderboard.json and leaderboard.md. Every episode is written as it ends: repeat
    the command to resume. None: a folder under runs/ for models, otherwise nothing is saved."""
    chart: Path | None = None
    """Draw the report, or the leaderboard, into this PNG or SVG file."""
    dry_run: bool = False
    """Only show what would be played and where it would be saved, with an estimate of tokens and
    cost for a chat model. Nothing is sent."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it, such as
    sandbox=subprocess. Repeat the flag for each. SECURITY.md says what is refused, and why."""
    otel: bool = False
    """Send OpenTelemetry spans of the episodes, with their texts, to OTEL_EXPORTER_OTLP_ENDPOINT (a
    viewer such as Phoenix), by default http://localhost:4318."""
    typed: Suppress[tuple[str, ...]] = ()
    """Names of the flags on the command line, which override those of a file."""


@dataclass(frozen=True)
class Protocols:
    """List the evaluation protocols of papers, or print one."""

    name: Positional[str | None] = None
    """Print the file of this protocol, to read or to copy. None: list all protocols."""


@dataclass(frozen=True)
class Compare:
    """Compare evaluations or trainings on the same tasks, with 95 % intervals."""

    paths: Positional[tuple[Path, ...]]
    """Folders of trainings or of their --seeds, or quoted patterns for the runs of each, as in
    agentgym compare 'runs/a-seed*' 'runs/b-seed*'. Or folders of agentgym eval --out with one or
    several evaluations, folders of such folders, or report.json files. With two, the difference is
    the first minus the second. With more evaluations, each is compared with the first one on the
    same tasks."""
    chart: Path | None = None
    """Draw all of them into this PNG or SVG file."""
    format: Literal["table", "markdown", "latex", "csv", "json"] = "table"
    """Format of the result. latex and csv are tables for papers: policies in rows, environments in
    columns, and their average."""


@dataclass(frozen=True)
class Replay:
    """Play recorded episodes again and check that nothing has changed, or rescore them.

    Exit code 1 if an episode has changed, 2 if none can be played again.
    """

    file: Positional[Path]
    """JSONL file of episodes, written by agentgym eval --out, agentgym train or the Recorder
    wrapper; or the folder of an evaluation."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it or its reward hooks are custom."""
    max_episodes: int | None = None
    """Most episodes to read, from the start of the file. None: all of them."""
    workers: int = 1
    """Processes that play at the same time. The output is the same, in file order."""
    json: bool = False
    """Print JSON."""
    rescore: bool = False
    """Recompute the rewards with --reward-hooks and --env-kwargs, and show their means before and
    after. No model is queried, and episodes are replayed only if the new reward requires it."""
    reward_hooks: tuple[str, ...] = ()
    """With --rescore: all reward hooks of the new reward, as in potential turn_cost=0.01; --reward
    MODULE:FUNCTION is short for this flag. Without any, only the family's reward remains."""
    env_kwargs: tuple[str, ...] = ()
    """With --rescore: arguments of the environment to change, as name=value, such as reward=sparse.
    They may change rewards, but not the course of an episode."""
    out: Path | None = None
    """With --rescore: write the new records to this JSONL file, which must not exist."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it, such as
    sandbox=subprocess. Repeat the flag for each. SECURITY.md says what is refused, and why."""


@dataclass(frozen=True)
class Export:
    """Write recorded episodes as a table or as conversations, or tasks as prompts."""

    source: Positional[str]
    """JSONL file of episodes, written by agentgym eval --out, agentgym train or the Recorder
    wrapper; or the folder of an evaluation, a file that this command wrote, or an AgentTraj file.
    Responses to rows of sft or prompts are played, which makes episodes of them. With --to prompts
    also an environment: a name such as webshop, an id, or MODULE:ID."""
    out: Positional[Path]
    """File to write, or folder for --to datasets and atif; it must not exist."""
    to: Literal[
        "parquet", "jsonl", "csv", "datasets", "sft", "prompts", "atif", "agenttraj", "records"
    ]
    """Output format: a table, conversations, or records of another project. parquet, jsonl: one row
    per episode, with the same columns for every family. csv: these rows without the turns, for
    spreadsheets. datasets: a folder for datasets.load_dataset. sft: conversations to train on.
    prompts: one row per task, as parquet or .jsonl, for verl, SkyRL and TRL. atif: a folder of
    Harbor trajectories. agenttraj: a file of AgentGym trajectories. records: agentgym's episode
    records."""
    only_successes: bool = False
    """Keep only episodes that solved their task."""
    min_score: float | None = None
    """Keep only episodes with at least this final score, from 0 to 1."""
    text: Literal["raw", "action"] = "raw"
    """With --to sft, the text of the assistant: the model's complete text with its thinking (raw),
    or the parsed action in the environment's grammar (action)."""
    rows: Literal["episode", "turn"] = "episode"
    """With --to sft, content of a row: the messages of an episode, for
    SFTConfig(assistant_only_loss=True); or prompt and completion of a turn, for chat templates that
    do not mark assistant messages."""
    valid_actions_only: bool = False
    """With --to sft, leave out turns with an invalid action. Rows of episodes drop these turns and
    the observations after them; rows of turns skip them, but show them in later prompts."""
    prompt: str | None = None
    """With --to sft or prompts, what the model reads: default, bare (observations alone), the
    prompt of a protocol (PROTOCOLS), or a file in their form. None: default. With --to agenttraj,
    its opening is written as instructions."""
    split: str = "train"
    """Split of the tasks of an environment."""
    num_tasks: int | None = None
    """Number of tasks of an environment. None: all of the split."""
    seed: int = 0
    """Seed of the choice of tasks of an environment, and of their episodes."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it is your own."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it, such as
    sandbox=subprocess. Repeat the flag for each. SECURITY.md says what is refused, and why."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class View:
    """Show recorded episodes, or two runs side by side, in the browser."""

    paths: Positional[tuple[Path, ...]]
    """JSONL file of episodes, folder of one or several evaluations, folder of a training, or
    trajectories in ATIF or AgentTraj format. A second one is shown beside the first, task by
    task."""
    out: Path | None = None
    """HTML page to write. None: view.html in the folder, or NAME.html beside the file; with a
    second run -vs-OTHER is added."""
    open: bool = False
    """Open the page in the browser."""
    max_episodes: int | None = None
    """Most episodes to read from each file. None: all of them."""


@dataclass(frozen=True)
class ServeSandbox:
    """Serve sandboxes to environments on other machines."""

    host: str = "127.0.0.1"
    """Address to listen on. Any but this machine's own is open to other machines."""
    port: int = 8001
    """Port to listen on; 0 takes a free one."""
    sandbox: Literal["auto", "namespace", "docker"] = "auto"
    """Back end of the sandboxes; auto takes the first that works on this machine."""
    max_sandboxes: int = 32
    """Most sandboxes at a time."""
    idle_timeout: float = 60.0
    """Seconds without a request after which a sandbox is closed."""
    max_memory: float = 8.0
    """Maximum memory of a sandbox, in GiB."""
    max_processes: int = 1024
    """Maximum number of processes in a sandbox."""
    max_disk: float = 4.0
    """Maximum size of the files in a sandbox, in GiB."""
    max_files: int = 200_000
    """Maximum number of files in a sandbox."""
    max_seconds: float = 3600.0
    """Time limit of a command, in seconds."""
    visible: tuple[Path, ...] = ()
    """Folders, besides the cache, that clients may mount in sandboxes. The flag may be repeated."""


@dataclass(frozen=True)
class ServeEnv:
    """Common arguments of the servers of environments."""

    env: Positional[str]
    """Environment: a name such as webshop, a task set such as webshop:easy, a Gymnasium id, or
    MODULE:ID of your own. Also the name of another project's environment, such as
    gem:game:Mastermind-v0-easy."""
    host: str = "127.0.0.1"
    """Address to listen on. Any but this machine's own is open to other machines."""
    port: int = 0
    """Port to listen on; 0 takes a free one."""
    token: bool = True
    """Ask clients for a token. --no-token serves clients without a token, only on local
    addresses."""
    max_envs: int = 256
    """Most environments at a time; each client has one."""
    idle_timeout: float = 600.0
    """Seconds without a request after which an environment is closed."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""


@dataclass(frozen=True)
class ServeHttp(ServeEnv):
    """Serve an environment to programs in any language, with AgentGym's HTTP API."""

    port: int = 8002
    """Port to listen on; 0 takes a free one."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written. None: as the environment does by default, mostly native."""


@dataclass(frozen=True)
class ServeMcp(ServeEnv):
    """Serve an environment to MCP clients, with its actions as tools."""

    port: int = 8003
    """Port to listen on; 0 takes a free one."""
    http: bool = False
    """Serve over HTTP, instead of on standard input and output to the parent process."""


@dataclass(frozen=True)
class ServeOpenEnv(ServeEnv):
    """Serve an environment over the OpenEnv protocol."""

    port: int = 8000
    """Port to listen on; 0 takes a free one."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written. None: as the environment does by default, mostly native."""


@dataclass(frozen=True)
class PushOpenEnv(PushArguments):
    """Write a folder for OpenEnv, which serves an environment from a container."""

    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written. None: as the environment does by default, mostly native."""


@dataclass(frozen=True)
class PushVerifiers(PushArguments):
    """Write a package with an environment for verifiers and Prime Intellect's hub."""


@dataclass(frozen=True)
class LoadImage:
    """Unpack a container image from a file, without a daemon or root."""

    source: Positional[Path]
    """Archive of docker save, or an OCI layout as a folder or a tar file."""
    name: Positional[str] = ""
    """Name for the image. Without it, its name in the file."""


@dataclass(frozen=True)
class PullImages:
    """Pull container images from their registries."""

    names: Positional[tuple[str, ...]]
    """Images to pull. Repeat the command to resume after a failure: complete parts are kept."""
    mirror: str = ""
    """Registry, optionally with a path, to use instead of the Docker Hub."""


@dataclass(frozen=True)
class ListImages:
    """List the container images that namespace sandboxes can run."""


@dataclass(frozen=True)
class PruneImages:
    """Remove unpacked container images, except those in use."""

    names: Positional[tuple[str, ...]] = ()
    """Images to remove."""
    max_size: str | None = None
    """Size to keep, such as 50GB: the least recently used images are removed until the rest fits.
    0GB removes all."""


@dataclass(frozen=True)
class Certify:
    """Check an environment: what it pays, whether it is the same everywhere, what can be learned.

    Exit code 1 if a check fails.
    """

    env: Positional[str]
    """Environment: a name such as webshop, a task set such as webshop:easy, a Gymnasium id, or
    MODULE:ID of your own. Also the name of another project's environment, such as
    openenv:http://127.0.0.1:8000."""
    checks: tuple[str, ...] = ()
    """Only these checks of CHECKS. Without it, all of them."""
    split: tuple[str, ...] = ()
    """Splits of the tasks. Without it, all of them."""
    num_tasks: int | None = 24
    """Number of tasks, spread evenly over the splits; ``None`` takes all of them."""
    seed: int = 0
    """Seed of the choice of tasks, of the episodes and of random actions."""
    horizon: int | None = None
    """Turn budget of an episode. None: the environment's own."""
    seconds: float = 600.0
    """Seconds that all checks together may take. What does not fit is reported as not run; with
    --out, the same command with more seconds runs the rest."""
    blind_limit: float = 0.25
    """Share of the tasks that a policy which does not do the task may solve. A check fails if the
    share and its 95 % interval are above this."""
    python: tuple[Path, ...] = ()
    """Other Python interpreters with agentgym, which must play the same episodes."""
    reports: tuple[Path, ...] = ()
    """Folders of agentgym eval --out on this environment: policies whose strengths are compared.
    Without them, random actions, the expert and a mixture of both stand in."""
    training: Path | None = None
    """Folder of a training in this environment, whose gain is checked. None: train with --quick."""
    earlier: Path | None = None
    """certificate.json of another machine or an earlier version, to compare with."""
    out: Path | None = None
    """Folder for certificate.json, certificate.md and certificate.html. Every result is written as
    soon as it is known: repeat the command to resume."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class Synth:
    """Check a specification of entities, tools and goals, and describe its tasks."""

    spec: Positional[str]
    """YAML file, or the name of a bundled specification, such as warehouse."""
    num_tasks: int = 50
    """Number of tasks of each split to draw and solve."""
    generator_seed: int = 0
    """Seed of the task set, the argument generator_seed of the environment."""


@dataclass(frozen=True)
class Init:
    """Write a small working environment, package, policy, reward or algorithm, with its test."""

    kind: Positional[Literal["env", "package", "policy", "reward", "algorithm"]]
    """What to write: a module with an environment; a package that, once installed, adds an
    environment to every command by its short name; or a module with a policy, with a turn-level
    reward, or with a training method that has its own credit assignment, as a preset."""
    name: Positional[str]
    """Name of the module, such as my_env: my_env.py holds MyEnv, and test_my_env.py tests it. Of a
    package: the name of its folder, its module and its environment."""
    out: Path = Path()
    """Folder of the files. Default: the working directory. Existing files are not overwritten."""


COMMANDS: Mapping[str, type] = {
    "list": List,
    "init": Init,
    "play": Play,
    "eval": Eval,
    "protocols": Protocols,
    "compare": Compare,
    **PANEL_COMMANDS,
    "replay": Replay,
    "export": Export,
    "view": View,
    "doctor": Doctor,
    "serve http": ServeHttp,
    "serve mcp": ServeMcp,
    "serve openenv": ServeOpenEnv,
    "serve sandbox": ServeSandbox,
    "push openenv": PushOpenEnv,
    "push verifiers": PushVerifiers,
    "images load": LoadImage,
    "images pull": PullImages,
    "images list": ListImages,
    "images prune": PruneImages,
    "certify": Certify,
    "synth": Synth,
}
"""The subcommands outside of the families, by name."""
ABOUT = "Gymnasium environments of text tasks for language-model agents."
ABOUT_FIRST: Mapping[str, str] = {
    "leaderboard": "Verify entries by replay, and seal panels whose tasks are published later.",
    "panels": "Write hashed panels for evaluations of other projects.",
    "serve": "Serve environments, searches or sandboxes to other programs.",
    "push": "Write environments as other projects' hubs take them, and upload them if asked.",
    "images": "Manage container images for sandboxes.",
}
"""Descriptions of the first words of commands with two words."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "start": ("doctor", "list", "play"),
    "evaluate": ("eval", "compare", "leaderboard", "panels", "view", "protocols"),
    "train": ("train", "presets", "merge"),
    "recorded episodes": ("replay", "export"),
    "own tasks and environments": ("init", "certify", "push", "synth", "index", "swe"),
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
