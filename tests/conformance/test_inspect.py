"""Inspect: our environments as its tasks, and its tasks as environments of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is in .ci/peers")

import inspect_ai
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from agentgym import evaluate
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.evaluation.plan import Job, plan
from agentgym.registration.making import make
from tests.conformance.episodes import IDS, bare, indices
from tests.toy import TOY_ID

HORIZON = 6
HOSTILE = ("", "lone \ud800, NUL \x00 <think> </tool_call> \u202e " + "x" * 9000)
Turns = tuple[tuple[str, float, bool], ...]
"""Of each turn the hash of what the environment said, the reward, and whether it is the last."""

TASKS = '''
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, choice, includes, match, model_graded_qa, scorer
from inspect_ai.solver import (
    generate, multiple_choice, prompt_template, self_critique, system_message, use_tools
)
from inspect_ai.tool import tool


@tool
def add():
    async def execute(x: int, y: int):
        """Add.

        Args:
            x: One.
            y: The other.
        """
        return x + y

    return execute


def hello(**kwargs):
    return Task(dataset=[Sample(input="Say hi", target="hi")], **{"scorer": includes(), **kwargs})


@task
def addition(n: int = 10):
    samples = [Sample(input=f"What is {i} + {i}?", target=str(2 * i), id=i) for i in range(n)]
    prompt = prompt_template("{prompt}\\nEnd with the number.")
    solver = [system_message("Be brief."), prompt, generate()]
    return Task(dataset=samples, solver=solver, scorer=match())


@scorer(metrics=[])
def numeral():
    async def score(state, target):
        return Score(value=float(int(state.output.completion) == int(target.text)))

    return score


@task
def strict():
    return Task(dataset=[Sample(input="What is 3 + 3?", target="6")], scorer=numeral())


@scorer(metrics=[])
def withheld(value):
    async def score(state, target):
        return None if value == "none" else Score(value=float(value))

    return score


@task
def judged(value: str = "none"):
    return hello(scorer=withheld(value))


@task
def choices():
    samples = [Sample(input="Which is even?", choices=["1", "2", "3"], target="B")]
    return Task(dataset=samples, solver=multiple_choice(), scorer=choice())


@task
def critique():
    return hello(solver=[generate(), self_critique()], scorer=[includes(), match()])


@task
def graded():
    return hello(scorer=model_graded_qa())


@task
def tools():
    return hello(solver=[use_tools(add()), generate()])


@task
def boxed():
    return hello(sandbox="docker")


@task
def unscored():
    return hello(scorer=None)
'''


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "their_tasks.py").write_text(TASKS)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def hashed(observation: str) -> str:
    return hashlib.sha256(observation.encode("utf-8", "surrogatepass")).hexdigest()


def play_episode(env: TextEnv, job: Job, number: int) -> tuple[list[str], Turns]:
    """Play an episode through Gymnasium: by the expert, at random, or with hostile text."""
    observation, info = env.reset(
        seed=job.seed, options={"task_id": job.task_id, "horizon": HORIZON}
    )
    actions, turns, over = list[str](), [(hashed(observation), 0.0, False)], False
    while not over:
        offered = info["admissible_actions"]
        if number % 3 == 2 and len(actions) < len(HOSTILE):
            action = HOSTILE[len(actions)]
        elif number % 3 == 1 and offered:
            action = offered[(number + len(actions)) % len(offered)]
        else:
            action = env.oracle_action() or HOSTILE[1]
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        actions.append(action)
        turns.append((hashed(observation), reward, over))
    return actions, tuple(turns)


def scripted(replies: Sequence[str], last: Any = "stop") -> Any:
    """Return a model that says one reply after the other, and why the last one ended."""
    unused_replies = iter(replies)

    def reply(*_: Any) -> ModelOutput:
        text = next(unused_replies)
        reason = last if text == replies[-1] else "stop"
        output = ModelOutput.from_content("mockllm/model", text, stop_reason=reason)
        output.usage = ModelUsage()
        return output

    return get_model("mockllm/model", memoize=False, custom_outputs=reply)


def evaluated(task: Any, model: Any, folder: Path, limit: tuple[int, int] | None = None) -> EvalLog:
    (log,) = inspect_ai.eval(
        task,
        model=model,
        log_dir=str(folder),
        max_samples=1,
        display="none",
        limit=limit,
        fail_on_error=False,
    )
    return log


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str, tmp_path: Path) -> None:
    from agentgym.interop.inspect_ai.exported import environment

    env = bare(env_id)
    numbers = indices(env_id)
    jobs = plan(env.tasks, "test", numbers.stop, 0, None, 1).jobs[numbers.start :]
    episodes = [play_episode(env, job, number) for number, job in enumerate(jobs, numbers.start)]
    env.close()
    model = scripted([action for actions, _ in episodes for action in actions])
    task = environment(env_id, num_tasks=numbers.stop, horizon=HORIZON)
    log = evaluated(task, model, tmp_path, (numbers.start, numbers.stop))
    assert log.status == "success" and log.samples and len(log.samples) == len(jobs)
    logged = {
        sample.id: tuple((t["sha256"], t["reward"], t["over"]) for t in sample.store["turns"])
        for sample in log.samples
    }
    assert logged == {job.task_id: turns for job, (_, turns) in zip(jobs, episodes, strict=True)}
    totals = {sample.id: sample.scores["outcome"].value["reward"] for sample in log.samples}
    for job, (_, turns) in zip(jobs, episodes, strict=True):
        assert totals[job.task_id] == pytest.approx(sum(reward for _, reward, _ in turns))


def test_the_entry_point_names_our_families(tmp_path: Path) -> None:
    env = make("webshop").unwrapped
    assert isinstance(env, TextEnv)
    (job,) = plan(env.tasks, "test", 1, 3, None, 1).jobs
    actions, turns = play_episode(env, job, 0)
    (log,) = inspect_ai.eval(
        "agentgym/webshop",
        task_args={"num_tasks": 1, "seed": 3, "horizon": HORIZON},
        model=scripted(actions),
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success" and log.samples
    assert log.samples[0].scores["outcome"].value["score"] == 1
    assert log.samples[0].store["turns"][-1]["reward"] == turns[-1][1]


def test_an_environment_that_fails_is_an_error_of_its_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentgym.interop.inspect_ai.exported import environment

    def broken(*_: Any, **__: Any) -> Any:
        raise EnvFailure("the host is gone")

    task = environment("webshop", num_tasks=1)
    monkeypatch.setattr("agentgym.envs.webshop.env.WebShopEnv.step", broken)
    log = evaluated(task, scripted(["a"] * 20), tmp_path)
    assert log.samples and log.samples[0].error and not log.samples[0].scores
    assert "the host is gone" in log.samples[0].error.message


TOO_LONG = "This model's maximum context length is 8192 tokens."


@pytest.mark.parametrize(
    ("reason", "ours"),
    [("model_length", "context"), ("content_filter", "refused"), (None, "limit")],
)
def test_an_episode_that_inspect_ends_counts_as_it_stands(
    reason: Any, ours: str, tmp_path: Path
) -> None:
    """What a provider says of a full context is no action, and a limit loses no progress."""
    from agentgym.interop.inspect_ai.exported import environment

    env = bare(TOY_ID)
    (job,) = plan(env.tasks, "test", 1, 0, None, 1).jobs
    _, info = env.reset(seed=job.seed, options={"task_id": job.task_id})
    action = str(env.oracle_action())
    _, reward, _, _, info = env.step(action)
    assert info["score"] > 0 and not info["stop_reason"]
    model = scripted([action, TOO_LONG], reason or "stop")
    (log,) = inspect_ai.eval(
        environment(TOY_ID, num_tasks=1), model=model, log_dir=str(tmp_path), display="none",
        message_limit=None if reason else 4,
    )  # fmt: skip
    assert log.status == "success" and log.samples
    scored = log.samples[0].scores["outcome"]
    assert scored.value == {"score": info["score"], "success": 0.0, "reward": reward}
    assert (scored.metadata["stop_reason"], scored.metadata["turns"]) == (ours, 1)
    assert len(log.samples[0].store["turns"]) == 2
    env.close()


def test_arguments_of_the_environment_are_json(tmp_path: Path) -> None:
    from agentgym.interop.inspect_ai.exported import environment

    for bad in ("{", "[1]"):
        with pytest.raises(ConfigurationError, match="JSON"):
            environment("webshop", arguments=bad)


@pytest.mark.parametrize(("name", "turns"), [("addition", 1), ("choices", 1), ("critique", 3)])
def test_a_task_of_theirs_is_solved_by_its_targets(name: str, turns: int, tasks: Path) -> None:
    env = make(f"inspect:their_tasks.py@{name}").unwrapped
    assert isinstance(env, TextEnv)
    report = evaluate("oracle", env, split="test", num_tasks=3)
    assert report.success == 1 and report.turns_mean == turns
    floor = evaluate(lambda observation, info: "wrong", env, split="test", num_tasks=3)
    assert floor.success == 0
    env.close()


def test_an_observation_is_what_a_model_would_read(tasks: Path) -> None:
    env = make("inspect:their_tasks.py@addition").unwrapped
    observation, info = env.reset(options={"split": "test", "index": 3})
    assert observation == "Be brief.\n\nWhat is 3 + 3?\nEnd with the number."
    assert info["task_id"] == "inspect:their_tasks.py@addition/3"
    assert env.step("It is 6")[1:3] == (1.0, True)
    env.close()


def test_a_reply_on_which_a_scorer_raises_is_a_wrong_answer(tasks: Path) -> None:
    env = make("inspect:their_tasks.py@strict").unwrapped
    env.reset(options={"split": "test", "index": 0})
    _, reward, terminated, _, info = env.step("six")
    assert (reward, terminated, info["success"], info["score"]) == (0.0, True, False, 0.0)
    assert info["stop_reason"] == "action_error" and "ValueError" in info["details"]["reason"]
    env.reset(options={"split": "test", "index": 0})
    assert env.step("6")[4]["success"]
    env.close()


@pytest.mark.parametrize("value", ["nan", "none"])
def test_a_scorer_without_a_score_breaks_the_episode(value: str, tasks: Path) -> None:
    """Inspect's mean leaves both out, and reports only the first; here neither counts as 0."""
    env = make("inspect:their_tasks.py@judged", value=value).unwrapped
    env.reset(options={"split": "test", "index": 0})
    with pytest.raises(EnvFailure, match=r"expected a (finite number|score)"):
        env.step("hi")
    env.close()


def test_samples_can_be_dealt_to_splits(tasks: Path) -> None:
    env = make("inspect:their_tasks.py@addition", deal=True, n=20).unwrapped
    assert isinstance(env, TextEnv)
    assert {split: env.tasks.len(split) for split in env.tasks.splits} == {
        "train": 12,
        "valid": 4,
        "test": 4,
    }
    env.close()


@pytest.mark.parametrize(("name", "reason"), [("graded", "ask no model"), ("tools", "gives tools")])
def test_what_cannot_be_played_breaks_its_episode(name: str, reason: str, tasks: Path) -> None:
    env = make(f"inspect:their_tasks.py@{name}").unwrapped
    with pytest.raises(EnvFailure, match=reason):
        env.reset(options={"split": "test", "index": 0})
        env.step("hi")
    env.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("their_tasks.py@boxed", "needs a sandbox"),
        ("their_tasks.py@unscored", "has no scorer"),
        ("their_tasks.py", "which has 9"),
        ("their_tasks.py@none", "their_tasks.py@none"),
        ("missing.py@none", "can be opened here"),
    ],
)
def test_a_task_that_needs_more_is_refused(name: str, reason: str, tasks: Path) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        make(f"inspect:{name}")
