"""The first phase of a run: imitate the expert until the policy is good enough to explore."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from agentgym.policies.basic import OraclePolicy, RandomPolicy
from trainers.config.plan import TRAIN, GuardedEnv, Plan
from trainers.config.schema import TINY, SftConfig, known
from trainers.models.copy_pretraining import CopySettings, pretrain_copying
from trainers.models.policy import LoadedPolicy, adapters, build_tiny, load_policy, task_prompt
from trainers.models.sft import Sft, SftSettings
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.gate import Gate
from trainers.rollouts.demonstrations import Demonstration, encode, watch
from trainers.rollouts.trajectory import Row, to_rows

if TYPE_CHECKING:
    from trainers.models.sft_pretrained import PretrainedSft

FINISHED = "warm-start"
PREFIX = "sft"
VOCABULARY_EPISODES = 2000
"""Demonstrations from which a tiny policy has its words."""


def warm_start(plan: Plan, folder: RunFolder, display: Display) -> LoadedPolicy:
    """Return the policy that reinforcement learning starts from; continues where it was killed.

    Args:
        plan: The run.
        folder: Its folder; the result is kept in ``checkpoints/warm-start``.
        display: Shows the progress.

    Returns:
        The policy as it stands on the disk, so that an interrupted run goes on with the same one.
    """
    finished = folder.checkpoints / FINISHED
    env = GuardedEnv(plan.make_env(expose_oracle=False))
    try:
        system = None if plan.config.model == TINY else task_prompt(env.base)
        steps = imitation_steps(plan)
        if not (finished / COMPLETE).exists():
            player = OraclePolicy(env) if plan.has_expert else RandomPolicy(plan.config.seed)
            shown = watch(env, demonstration_tasks(plan, env), player)
            words = VOCABULARY_EPISODES if plan.config.model == TINY else 0
            first = list(islice(shown, words))
            policy = _fresh(plan, system, first)
            if not steps and plan.config.model != TINY:
                return policy  # Nothing to keep: a copy of a pretrained model may be large.
            if steps:
                _imitate(plan, folder, display, policy, chain(first, shown), steps)
            policy.save(finished)
            (finished / COMPLETE).touch()
    finally:
        env.close()
    for checkpoint in folder.checkpoints.glob(f"{PREFIX}-*"):
        shutil.rmtree(checkpoint)
    return load_policy(plan, finished, system)


def demonstration_tasks(plan: Plan, env: GuardedEnv) -> list[dict[str, Any]]:
    """Choose the training tasks whose expert episodes are imitated, each at most once."""
    size = env.base.tasks.len(TRAIN)
    rng = np.random.Generator(np.random.PCG64([plan.config.seed, 1]))
    order = rng.permutation(size)[: plan.config.sft.demonstrations]
    return [{"split": TRAIN, "index": int(index)} for index in order]


def imitation_steps(plan: Plan) -> int:
    """Return the most steps of the warm start; 0: there is none."""
    return known(plan.config.sft.max_steps)


def _fresh(plan: Plan, system: str | None, first: Iterable[Demonstration]) -> LoadedPolicy:
    """Build the tiny policy with the words of the first episodes, or load the pretrained one."""
    if plan.config.model != TINY:
        return load_policy(plan, plan.config.model, system)
    return build_tiny(plan, (text for episode in first for text in episode.texts))


def _imitate(
    plan: Plan,
    folder: RunFolder,
    display: Display,
    policy: LoadedPolicy,
    shown: Iterable[Demonstration],
    steps: int,
) -> None:
    """Run the supervised phase from the latest checkpoint to the gate."""
    config = plan.config.sft
    display.phase("watch expert", 1)
    rows = to_rows(list(encode(shown, policy.chat, policy.opening)))
    display.update(1, demonstrations=len(rows))
    sft = _make_sft(plan, folder, policy, rows, steps)
    checkpoint = folder.latest_checkpoint(PREFIX)
    if checkpoint is not None:
        sft.load(checkpoint)
    elif plan.config.model == TINY:
        _pretrain_copying(plan, policy, display)
    folder.rewind(Phase.WARM_START, sft.step)
    display.phase("warm start", steps, sft.step)
    gate = Gate(plan, folder, policy)
    watch = _Watch(config, folder, display, sft, gate)
    try:
        result = sft.run(watch.validate, watch.progress)
    finally:
        gate.close()
    policy.model = sft.merged()
    reached = "reached" if gate.reached else "not reached"
    display.note(
        f"warm start: {result.steps} steps, validation success {gate.success:.3f} "
        f"(gate {plan.gate_success} {reached})"
    )
    folder.note(sft={"steps": result.steps, "gated": gate.reached, "success": gate.success})


def _make_sft(
    plan: Plan, folder: RunFolder, policy: LoadedPolicy, rows: Sequence[Row], steps: int
) -> Sft | PretrainedSft:
    """Return what imitates: the tiny model's own loop, or TRL with adapters for another model."""
    config = plan.config.sft
    settings = SftSettings(
        steps=steps,
        batch_size=config.batch_size,
        lr=known(config.lr),
        observation_weight=config.observation_weight,
        gate_every=config.gate_every,
        seed=plan.config.seed,
    )
    if plan.config.model == TINY:
        return Sft(policy.model, rows, policy.chat.pad_id, settings)
    from trainers.models.sft_pretrained import PretrainedSft

    tokenizer, output = policy.chat.tokenizer, folder.checkpoints
    sft = PretrainedSft(policy.model, rows, tokenizer, settings, output, adapters(plan))
    policy.model = sft.model  # The gate plays with the adapters, too.
    return sft


class _Watch:
    """Writes down, shows and saves the warm start as it goes."""

    def __init__(
        self,
        config: SftConfig,
        folder: RunFolder,
        display: Display,
        sft: Sft | PretrainedSft,
        gate: Gate,
    ) -> None:
        self._config, self._folder, self._display = config, folder, display
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


def _pretrain_copying(plan: Plan, policy: LoadedPolicy, display: Display) -> None:
    """Give a fresh model its induction heads before it sees demonstrations."""
    steps = plan.config.sft.copy_steps
    settings = CopySettings(steps=steps, seed=plan.config.seed)
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
    (path / COMPLETE).touch()
    for other in folder.checkpoints.glob(f"{PREFIX}-*"):
        if other != path:
            shutil.rmtree(other)
