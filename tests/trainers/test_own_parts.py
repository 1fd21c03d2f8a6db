"""What a person brings as ``MODULE:NAME`` acts in a run, comes back with it, or is refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.envs.swe.boxed import needs_box
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.algorithms.sampling import ValueSampler
from trainers.cli import main
from trainers.config.resolve import resolve

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 20, "eval__every": 0, "eval__num_tasks": 4,
    "eval__baselines": "none", "rl__log_groups": 99, "horizon": "3",
}  # fmt: skip
SOURCE = '''
from dataclasses import dataclass, replace
from agentgym.sandbox.namespace.box import NamespaceSandbox
from trainers.algorithms.presets import PRESETS
from trainers.rollouts.engines.hf import HFEngine

PRESET = replace(PRESETS["turn-loo"], shapers=(lambda batch: 0.0 * batch.reward,), filters=())

@dataclass
class Bonus:
    """Pays for red."""
    weight: float = 1.0
    name: str = "red"

    def __call__(self, context):
        return float("red" in context.action)

    def reset(self):
        pass

def brevity(completions, task_id, **columns):
    return [0.5 if "red" in completion[-1]["content"] else 0.25 for completion in completions]

class Fresh:
    """The tasks that nobody has played, in the order of their numbers."""
    def __init__(self, n_tasks, seed):
        self.n_tasks = n_tasks

    def __call__(self, step, stats=None):
        return (task for task in range(self.n_tasks) if not stats.count[task])

class Zigzag:
    rounds = (2, 4)

    def __call__(self, step):
        return 4 if step % 2 else 2

    def stage(self, step):
        return step - 1

ZIGZAG = Zigzag()

class Engine(HFEngine):
    """Draws other tokens."""
    def submit(self, requests, sampling):
        super().submit([replace(each, seed=each.seed + 1) for each in requests], sampling)

class Box(NamespaceSandbox):
    """Says of every command that it took too long."""
    def exec(self, command, **options):
        return replace(super().exec(command, **options), timed_out=True)

NOTHING = 5
'''


@pytest.fixture
def module_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module ``mine`` in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    yield path
    sys.modules.pop("mine", None)


def trained(out: Path, *flags: str, start: Path | None = None, **changes: Any) -> Path:
    """Train two steps through the command, perhaps from the warm start of another run."""
    command = toy_runs.arguments(out, *flags, **{**QUICK, **changes})
    assert main(toy_runs.begun_from(start, command)) == 0
    return out


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with nothing of one's own."""
    return trained(tmp_path_factory.mktemp("plain") / "run")


def same_weights(out: Path, other: Path) -> bool:
    return toy_runs.equal(*map(toy_runs.trained_weights, (out, other)))


def episodes(out: Path) -> list[dict[str, Any]]:
    """The training episodes that a run wrote."""
    return [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]


def tasks_by_step(out: Path) -> dict[int, set[str]]:
    """The tasks of each step."""
    tasks: dict[int, set[str]] = {}
    for episode in episodes(out):
        tasks.setdefault(episode["options"]["training_step"], set()).add(episode["task_id"])
    return tasks


def read_error(capsys: pytest.CaptureFixture[str]) -> str:
    return toy_runs.last_line(capsys.readouterr().err)


# -- they act --------------------------------------------------------------------------------------


def test_a_preset_of_ones_own_trains_and_keeps_its_name(module_path, plain_run, tmp_path, capsys):
    out = trained(tmp_path / "run", start=plain_run, preset="mine:PRESET")
    assert not same_weights(out, plain_run)
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert config["preset"] == "mine:PRESET" and config["resolved"]["preset_parts"]["filters"] == []
    assert config["resolved"]["preset_parts"]["shapers"] == ["mine:<lambda>"]
    assert set(config["resolved"]["source_sha256"]) == {"mine:PRESET"}
    assert toy_runs.summary(out)["preset"] == "mine:PRESET"
    for page in ("report.html", "checkpoints/trained/README.md"):
        assert "mine:PRESET" in (out / page).read_text(), page
    assert main(["--resume", f"--out={out}", "--steps=3"]) == 0
    assert toy_runs.summary(out)["steps"] == 3


def test_a_run_goes_on_with_the_source_that_it_began_with(module_path, plain_run, tmp_path, capsys):
    out = trained(tmp_path / "run", start=plain_run, preset="mine:PRESET")
    module_path.write_text(SOURCE.replace("NOTHING = 5", "NOTHING = 6"))
    del sys.modules["mine"]
    assert main(["--resume", f"--out={out}", "--steps=3"]) == 2
    assert "resolved.source_sha256.mine:PRESET was" in read_error(capsys)
    module_path.unlink()
    del sys.modules["mine"]
    assert main(["--resume", f"--out={out}", "--steps=3"]) == 2
    assert (
        "expected --preset MODULE:NAME with a module that can be imported, got 'mine'"
        in read_error(capsys)
    )


@pytest.mark.slow
def test_a_hook_of_ones_own_pays_and_its_records_replay(module_path, plain_run, tmp_path, capsys):
    from agentgym.cli import main as agentgym

    hooks = ["--reward-hooks", "mine:Bonus=0.5", "turn_cost=0.01"]
    flags = [*hooks, "--backend=process", "--workers=1"]
    out = trained(tmp_path / "run", *flags, start=plain_run)
    assert not same_weights(out, plain_run)
    turns = [turn for episode in episodes(out) for turn in episode["turns"]]
    assert {turn["reward_terms"]["red"] for turn in turns} == {0.0, 0.5}
    assert episodes(out)[0]["reward_hooks"][-2]["class"] == "mine:Bonus"
    replay = ["replay", str(out / "episodes.jsonl"), "--json"]
    assert agentgym(replay) == 0 and json.loads(capsys.readouterr().out)["changed"] == 0
    del sys.modules["mine"]
    assert agentgym(replay) == 2
    assert "expected the module 'mine' to be imported" in capsys.readouterr().err
    assert agentgym([*replay, f"--env=mine:{TOY_ID}"]) == 0


@pytest.mark.slow
def test_a_reward_function_of_trl_trains(module_path, plain_run, tmp_path, capsys):
    out = trained(tmp_path / "run", "--reward", "mine:brevity:weight=2", start=plain_run)
    assert not same_weights(out, plain_run)
    last = [episode["turns"][-1]["reward_terms"]["brevity"] for episode in episodes(out)]
    assert {*last} <= {0.0, 0.5, 1.0} and len({*last}) > 1
    assert yaml.safe_load((out / "config.yaml").read_text())["reward_hooks"] == [
        "mine:brevity:weight=2"
    ]
    assert main(toy_runs.arguments(tmp_path / "no", "--reward=mine:Zigzag", **QUICK)) == 2
    assert "f(completions, **columns) of TRL, compute_score(data_source" in read_error(capsys)


def test_a_sampler_of_ones_own_sees_what_was_played(module_path, plain_run, tmp_path):
    out = trained(tmp_path / "run", "--no-fit-horizon", "--rl.sampler=mine:Fresh", start=plain_run)
    run = resolve(toy_runs.config(tmp_path / "other", **QUICK))
    tasks = run.envs[0].make_env().tasks
    order = [tasks.task("train", number).id for number in range(8)]
    assert tasks_by_step(out) == {1: {*order[:4]}, 2: {*order[4:]}}


@pytest.mark.slow
def test_a_schedule_of_ones_own_decides_on_the_turns(module_path, plain_run, tmp_path):
    out = trained(tmp_path / "run", horizon="mine:ZIGZAG")
    assert [record["horizon"] for record in toy_runs.by_phase(out)["rl"]] == [4, 2]
    assert not same_weights(out, plain_run)
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert config["horizon"] == "mine:ZIGZAG" and config["resolved"]["rounds"] == [2, 4]
    assert "2, 4, as mine:ZIGZAG says" in (out / "report.html").read_text()


def test_an_engine_of_ones_own_plays(module_path, plain_run, tmp_path):
    out = trained(tmp_path / "run", engine="mine:Engine")
    assert tasks_by_step(out) == tasks_by_step(plain_run)
    assert not same_weights(out, plain_run)


@pytest.mark.slow
@needs_box
def test_a_sandbox_of_ones_own_runs_the_commands(module_path, tmp_path):
    out = tmp_path / "run"
    settings = {
        **QUICK, "env": "swe", "horizon": "6", "env_kwargs": "sandbox=mine:Box", "minutes": 0,
        "sft__demonstrations": 2, "sft__max_steps": 1, "sft__eval_tasks": 1, "rl__groups": 1,
        "rl__num_generations": 2, "eval__num_tasks": 1, "rl__episode_tokens": 300,
        "tiny__context": 1024,
    }  # fmt: skip
    assert main(toy_runs.arguments(out, **settings)) == 0
    assert {episode["env_kwargs"]["sandbox"] for episode in episodes(out)} == {"mine:Box"}
    (line,) = (out / "eval_episodes" / "oracle.jsonl").read_text().splitlines()
    episode = json.loads(line)
    assert episode["details"]["grading"].startswith("the tests took longer than")


def test_the_parts_on_the_page_are_taken(module_path, tmp_path, capsys):
    page = (toy_runs.ROOT / "trainers" / "README.md").read_text()
    match = re.search(r"```python\n(# mine.py.*?)```\n```bash\n(.*?)```", page, re.DOTALL)
    assert match is not None
    source, command = match.groups()
    module_path.write_text(source)
    _, flags = command.replace("\\\n", " ").split("--env webshop")
    assert main([*flags.split(), f"--env={TOY_ID}", f"--out={tmp_path / 'run'}", "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "with 'mine:PRESET'" in output and "horizon 4, 9, as mine:LADDER says" in output
    assert "short_answers" in output and "mine:Fewest" in output


# -- the supplied samplers -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interleaved", "value", "informative"])
def test_a_sampler_by_name_chooses_other_tasks(name, plain_run, tmp_path):
    out = trained(tmp_path / "run", f"--rl.sampler={name}", start=plain_run)
    assert tasks_by_step(out) != tasks_by_step(plain_run)
    assert not same_weights(out, plain_run)


@pytest.mark.slow
def test_a_sampler_goes_by_the_returns_of_the_run_and_resumes_with_them(tmp_path, monkeypatch):
    """Killed behind the checkpoint of step 2; also what step 5 draws is what it would have been."""
    settings = {**QUICK, "steps": 5, "rl__save_every": 2, "rl__sampler": "value"}
    reference = trained(tmp_path / "whole", **settings)
    env = resolve(toy_runs.config(tmp_path / "other", **settings)).envs[0]
    blind = env.make_training_tasks(0, ValueSampler)
    drawn = {step: {task["task_id"] for task in blind(step, 4, 3)} for step in range(1, 6)}
    tasks = tasks_by_step(reference)
    assert tasks[1] == drawn[1] and all(tasks[step] != drawn[step] for step in (3, 4, 5))

    folder = tmp_path / "run"
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 3, patch)):
        trained(folder, **settings)
    trained(folder, "--resume", **settings)
    assert same_weights(folder, reference)
    assert (folder / "episodes.jsonl").read_bytes() == (reference / "episodes.jsonl").read_bytes()


# -- what is refused, also by --dry-run ------------------------------------------------------------


@pytest.mark.parametrize("dry", [("--dry-run",), ()])
@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (
            "--preset=gone:X",
            "expected --preset MODULE:NAME with a module that can be imported, got",
        ),
        ("--preset=mine:PRSET", "mine has no 'PRSET' (did you mean 'PRESET'?)"),
        ("--preset=mine:NOTHING", "with a trainers.algorithms.preset.Preset, got 'mine:NOTHING'"),
        ("--preset=mine:", "expected --preset MODULE:NAME, got 'mine:'"),
        ("--reward-hooks=mine:Fresh=1", "with the class of a reward hook: a dataclass with name"),
        (
            "--reward-hooks=mine:Bonus:gain=1",
            "expected the fields of mine:Bonus (weight), each once",
        ),
        ("--rl.sampler=nobody", "expected --rl.sampler to be 'uniform', 'interleaved', 'value' or"),
        ("--rl.sampler=nobody", "or MODULE:NAME of your own, got nobody"),
        ("--rl.sampler=mine:Zigzag", "a class or function of (n_tasks, seed) that makes a task"),
        ("--horizon=mine:Zigzag", "expected --horizon MODULE:NAME with a schedule of turns"),
        ("--engine=mine:Zigzag", "with a generation engine: a class with for_run(model, settings)"),
        ("--engine=hg", "or MODULE:NAME of your own, got hg"),
    ],
)
def test_own_parts_of_the_wrong_kind_are_refused(module_path, tmp_path, capsys, flag, words, dry):
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, flag, *dry, **QUICK)) == 2
    assert words in read_error(capsys)
    assert not out.exists()


def test_stages_and_a_schedule_of_ones_own_are_two_things(module_path, tmp_path, capsys):
    arguments = toy_runs.arguments(
        tmp_path / "run", **{**QUICK, "horizon": "mine:ZIGZAG", "horizon_every": 3}
    )
    assert main(arguments) == 2
    assert "expected --horizon-every only with stages such as 5,8,10" in read_error(capsys)
