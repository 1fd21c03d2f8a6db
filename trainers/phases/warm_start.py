"""The first phase of a run: imitate the expert until the policy is good enough to explore."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.policies.basic import OraclePolicy, RandomPolicy
from trainers import processes
from trainers.config.environments import TRAIN, VALID, ResolvedEnv
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.grpo.precision import precision_arguments
from trainers.models.copy_pretraining import CopySettings, pretrain_copying
from trainers.models.policy import LoadedPolicy, adapters, build_tiny, load_policy
from trainers.models.sft import Sft, SftSettings
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.rollout_setup import make_runner, panel_tasks
from trainers.phases.safe_env import make_safe_env
from trainers.rollouts.demonstrations import Demonstration, encode, watch
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.policy_weights import base_model, policy_weights
from trainers.rollouts.trajectory import Row, by_family, rollout_metrics, to_rows

if TYPE_CHECKING:
    from trainers.models.sft_pretrained import PretrainedSft

FINISHED = "warm-start"
PREFIX = "sft"
VOCABULARY_EPISODES = 2000
"""Demonstrations from which a tiny policy has its words."""


def warm_start(run: ResolvedRun, folder: RunFolder, display: Display) -> LoadedPolicy:
    """Return the policy that reinforcement learning starts from; continues where it was killed.

    The result is kept in ``checkpoints/warm-start`` and read from there, so that an interrupted run
    goes on with the same one. A tiny policy is trained by the main process alone; a pretrained one
    by all, on their shares of every batch.
    """
    config, finished = run.config, folder.checkpoints / FINISHED
    if config.model != TINY and not config.sft.max_steps:
        # Nothing to keep: a copy of a pretrained model may be large.
        return _learn(run, folder, display)
    if not processes.on_main((finished / COMPLETE).exists):
        if config.model == TINY:
            processes.on_main(lambda: _learn(run, folder, display).save(finished))
        else:
            _save_whole(_learn(run, folder, display), finished)
        processes.on_main((finished / COMPLETE).touch)
    processes.on_main(lambda: _drop_checkpoints(folder))
    return load_policy(run, finished)


def _learn(run: ResolvedRun, folder: RunFolder, display: Display) -> LoadedPolicy:
    """Let a fresh or pretrained policy imitate the experts."""
    words = VOCABULARY_EPISODES if run.config.model == TINY else 0
    with ExitStack() as stack:
        watched = {env.name: _Watched(run, env, words) for env in run.envs}
        for each in watched.values():
            stack.callback(each.env.close)
        policy = _fresh(run, (episode for each in watched.values() for episode in each.first))
        for each in watched.values():
            each.check_opening(policy)
        if run.config.sft.max_steps:
            shown = {name: each.shown for name, each in watched.items() if each.expert}
            _imitate(run, folder, display, policy, shown)
        return policy


class _Watched:
    """An environment in which its expert is watched, or random actions where there is none.

    Attributes:
        env: The environment.
        expert: Whether it is an expert.
        first: The first episodes.
    """

    def __init__(self, run: ResolvedRun, resolved: ResolvedEnv, count: int) -> None:
        self._run, self._name, self.expert = run, resolved.name, resolved.has_expert
        self.env = make_safe_env(resolved, run.config.rollout)
        self._tasks = demonstration_tasks(run, resolved)
        player = OraclePolicy(self.env) if self.expert else RandomPolicy(run.config.seed)
        self._rest = watch(self.env, self._tasks, player)
        self.first = list(islice(self._rest, count))

    @property
    def shown(self) -> Iterator[Demonstration]:
        """All episodes, each played when it is asked for."""
        return chain(self.first, self._rest)

    def check_opening(self, policy: LoadedPolicy) -> None:
        """Check that the opening of a training task leaves the model room for a turn.

        Later episodes whose opening does not are ended with ``length``, one by one.

        Raises:
            ConfigurationError: It does not.
        """
        if self.first:
            observation, info = self.first[0].observation, dict(self.first[0].info)
        else:
            try:
                observation, info = self.env.reset(options=self._tasks[0])
            except EnvFailure:
                return  # The phases that play report it.
        tokens = len(policy.chat.start(policy.openings[self._name](observation, info)))
        budget = policy.budget
        if budget.context - tokens < budget.floor:
            raise ConfigurationError(
                f"expected the opening of an episode to leave room for a turn of {budget.floor} "
                f"tokens among the {budget.context} that the model reads, but that of "
                f"{info['task_id']} takes {tokens}: use a model with more positions, lower "
                "--rl.turn-tokens, or ask for shorter observations with --env-args"
            )


def _save_whole(policy: LoadedPolicy, path: Path) -> None:
    """Write a policy whose weights may be spread over the processes, adapters merged."""
    if not processes.sharded():
        processes.on_main(lambda: policy.save(path))
        return
    whole = {}
    for name, tensor in policy_weights(policy.model):  # All take part, one keeps them.
        if processes.is_main():
            whole[name] = tensor.cpu().clone()
    base, tokenizer = base_model(policy.model), policy.chat.tokenizer
    processes.on_main(lambda: base.save_pretrained(path, state_dict=whole))
    processes.on_main(lambda: tokenizer.save_pretrained(path))


def _drop_checkpoints(folder: RunFolder) -> None:
    """Remove the checkpoints of a warm start that is done."""
    for checkpoint in folder.checkpoints.glob(f"{PREFIX}-*"):
        shutil.rmtree(checkpoint)


def demonstration_tasks(run: ResolvedRun, env: ResolvedEnv) -> list[dict[str, Any]]:
    """Choose the training tasks whose expert episodes are imitated, each at most once.

    Of several environments each has its share of the demonstrations, by weight.
    """
    made = env.make_env()
    size = made.tasks.len(TRAIN)
    made.close()
    total = sum(each.weight for each in run.envs if each.has_expert == env.has_expert)
    most = math.ceil(run.config.sft.demonstrations * env.weight / total)
    # A stream of its own: the 1 sets it apart from every other use of the run's seed.
    rng = np.random.Generator(np.random.PCG64([run.config.seed, 1]))
    order = rng.permutation(size)[:most]
    return [{"split": TRAIN, "index": int(index)} for index in order]


def _fresh(run: ResolvedRun, first: Iterable[Demonstration]) -> LoadedPolicy:
    """Build the tiny policy with the words of the first episodes, or load the pretrained one."""
    if run.config.model != TINY:
        return load_policy(run, run.config.model)
    return build_tiny(run, (text for episode in first for text in episode.texts))


def _imitate(
    run: ResolvedRun,
    folder: RunFolder,
    display: Display,
    policy: LoadedPolicy,
    shown: Mapping[str, Iterable[Demonstration]],
) -> None:
    """Run the supervised phase from the latest checkpoint to the gate."""
    display.phase("watch expert", 1)
    window = run.config.rollout.window
    together = run.config.model != TINY  # Otherwise no other process is here.

    def watched() -> list[Row]:
        return [
            row
            for name, episodes in shown.items()
            for row in to_rows(list(encode(episodes, policy.chat, policy.openings[name], window)))
        ]

    rows = processes.on_main(watched) if together else watched()
    display.update(1, rows=len(rows))
    sft = _make_sft(run, folder, policy, rows)
    checkpoint = folder.latest_checkpoint(PREFIX)
    if together:
        checkpoint = processes.broadcast(checkpoint)
    if checkpoint is not None:
        sft.load(checkpoint)
    elif run.config.model == TINY:
        _pretrain_copying(run, policy, display)
    folder.rewind(Phase.WARM_START, sft.step)
    display.phase("warm start", sft.settings.steps, sft.step)
    gate = ValidationGate(run, folder, policy, together=together)
    log = _WarmStartLog(run, folder, display, sft, gate)
    try:
        result = sft.run(log.validate, log.progress)
    finally:
        gate.close()
    policy.model = sft.merged()
    found = {
        name: {"steps": result.steps, "gated": gate.passed(name), "success": success}
        for name, success in gate.successes.items()
    }
    for name, part in found.items():
        reached = "reached" if part["gated"] else "not reached"
        where = f" in {name}" * run.several
        display.note(
            f"warm start: {result.steps} steps, validation success {part['success']:.3f}{where} "
            f"(gate {run.env(name).gate_success} {reached})"
        )
    folder.note(sft=found if run.several else found[run.envs[0].name])


def _make_sft(
    run: ResolvedRun, folder: RunFolder, policy: LoadedPolicy, rows: Sequence[Row]
) -> Sft | PretrainedSft:
    """Return what imitates: the tiny model's own loop, or TRL with adapters for another model."""
    config = run.config.sft
    settings = SftSettings(
        steps=config.max_steps,
        batch_size=config.batch_size,
        lr=config.lr,
        observation_weight=config.observation_weight,
        gate_every=config.gate_every,
        seed=run.config.seed,
    )
    if run.config.model == TINY:
        return Sft(policy.model, rows, policy.chat.pad_id, settings)
    from trainers.models.sft_pretrained import PretrainedSft

    tokenizer, output = policy.chat.tokenizer, folder.checkpoints
    memory = run.config.memory
    sft = PretrainedSft(
        policy.model,
        rows,
        tokenizer,
        settings,
        output,
        adapters(run),
        precision_arguments(memory.precision, memory.checkpointing == "on"),
        memory.micro_tokens,
    )
    policy.model = sft.model  # The gate plays with the adapters, too.
    return sft


class ValidationGate:
    """End the warm start once the sampled policy solves enough validation tasks.

    Of several environments it has to in each whose expert is imitated. It plays on the engine that
    was chosen for the run. Half of the run's time is the most that the warm start may take.
    Together, every process plays its share of the tasks.

    Attributes:
        engine: What generates.
        successes: Success of the last validation in each environment.
    """

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, policy: LoadedPolicy, *, together: bool = False
    ) -> None:
        self._run, self._folder, self._model = run, folder, policy.model
        self._gates = {env.name: env.gate_success for env in run.envs if env.has_expert}
        most = run.config.sft.gate_tasks
        panels = {name: run.env(name).panel(VALID, most) for name in self._gates}
        self._tasks = panel_tasks(panels, run)
        self._together = together
        count = len(self._tasks)
        self._mine = processes.share(count) if together else range(count)
        self._runner = make_runner(run, policy, max(1, len(self._mine)))
        self.engine = self._runner.engine
        self.successes = dict.fromkeys(self._gates, 0.0)

    def __call__(self, step: int) -> bool:
        """Validate after ``step`` steps; True ends the warm start."""
        config = self._run.config
        self.engine.sync(policy_weights(self._model), step)
        played = self._runner.run(
            [self._tasks[index] for index in self._mine],
            groups=self._mine,
            first_episode=self._mine.start,
            seed=step,
            sampling=Sampling(temperature=config.rl.temperature, top_p=config.rl.top_p),
        )
        late = self._folder.seconds() > self._run.seconds / 2
        if self._together:
            played = processes.gather(played, f"the end of the gate of step {step}")
            late = processes.broadcast(late)
        for name, part in by_family(played).items():
            figures = rollout_metrics(part)
            self.successes[name] = success = figures["rollout/success"]
            of = {"family": name} if self._run.several else {}
            score = figures["rollout/score"]
            self._folder.log(phase=Phase.WARM_START, step=step, success=success, score=score, **of)
        return all(map(self.passed, self._gates)) or late

    @property
    def success(self) -> float:
        """Mean of the successes."""
        return sum(self.successes.values()) / len(self.successes)

    def passed(self, name: str) -> bool:
        """Return whether the policy solved enough tasks of an environment."""
        return self.successes[name] >= self._gates[name]

    def close(self) -> None:
        """Close the engine and the environments."""
        self.engine.close()
        self._runner.envs.close()


class _WarmStartLog:
    """Write down, show and save the warm start as it goes."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        sft: Sft | PretrainedSft,
        gate: ValidationGate,
    ) -> None:
        self._config, self._folder, self._display = run.config.sft, folder, display
        self._sft, self._gate = sft, gate

    def progress(self, step: int, figures: Mapping[str, float]) -> None:
        """Take down the losses, every few steps."""
        self._folder.log(phase=Phase.WARM_START, step=step, **figures)
        self._display.update(
            step,
            loss=figures["loss"],
            success=self._gate.success,
            tokens_s=figures["tokens_per_second"],
        )
        if step % self._config.gate_every:
            self._save(step)

    def validate(self, step: int) -> bool:
        """Ask the gate; only a warm start that goes on is saved, as no gate is asked twice."""
        reached = self._gate(step)
        if not reached:
            self._save(step)
        return reached

    def _save(self, step: int) -> None:
        """Save at the end of a logged interval, so that a resumed run logs the same means."""
        settings = self._sft.settings
        whole = step % settings.log_every == 0 and step % self._config.save_every == 0
        if whole and step < settings.steps:
            _save(self._sft, self._folder, step)


def _pretrain_copying(run: ResolvedRun, policy: LoadedPolicy, display: Display) -> None:
    """Give a fresh model its induction heads before it sees demonstrations."""
    steps = run.config.sft.copy_steps
    settings = CopySettings(steps=steps, seed=run.config.seed)
    special = len(policy.chat.tokenizer.all_special_ids)
    display.phase("copying", steps)
    pretrain_copying(
        policy.model,
        settings,
        first_id=special,
        progress=lambda step, loss: display.update(step, loss=loss),
    )


def _save(sft: Sft | PretrainedSft, folder: RunFolder, step: int) -> None:
    """Write a checkpoint of the warm start and drop older ones."""
    path = folder.checkpoints / f"{PREFIX}-{step}"
    path.mkdir(exist_ok=True)
    sft.save(path)
    if isinstance(sft, Sft):
        _keep_only(folder, path)
    else:
        processes.on_main(lambda: _keep_only(folder, path))


def _keep_only(folder: RunFolder, path: Path) -> None:
    """Mark a checkpoint as whole and drop older ones."""
    (path / COMPLETE).touch()
    for other in folder.checkpoints.glob(f"{PREFIX}-*"):
        if other != path:
            shutil.rmtree(other)
