"""The first phase of a run: imitate the expert until the policy is good enough to explore."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentgym.errors import EnvFailure
from agentgym.policies.base import Policy
from agentgym.policies.oracle import OraclePolicy
from agentgym.policies.random import RandomPolicy
from trainers.config import TINY, SftConfig, known
from trainers.copying import CopySettings, teach_copying
from trainers.folder import COMPLETE, RunFolder
from trainers.gate import Gate
from trainers.plan import TRAIN, GuardedEnv, Plan
from trainers.policy import PolicyModel, build_tiny, load_policy, task_prompt
from trainers.progress import Display
from trainers.rollouts.trajectory import Trajectory, to_rows
from trainers.sft import Sft, SftSettings, demonstrate

FINISHED = "warm-start"
PREFIX = "sft"
VOCABULARY_EPISODES = 2000


def warm_start(plan: Plan, folder: RunFolder, display: Display) -> PolicyModel:
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
            policy = _fresh(plan, env, system)
            if not steps and plan.config.model != TINY:
                return policy  # Nothing to keep: a copy of a pretrained model may be large.
            if steps:
                _imitate(plan, folder, display, policy, env, steps)
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


def spoken_texts(
    env: GuardedEnv, tasks: Iterable[Mapping[str, Any]], player: Policy
) -> Iterator[str]:
    """Yield every text of a player's episodes: observations and actions.

    An episode ends where its environment fails.

    Raises:
        EnvFailure: The environment failed at the start of every one.
    """
    failure, begun = None, False
    for options in tasks:
        try:
            for text in _episode(env, options, player):
                begun = True
                yield text
        except EnvFailure as error:
            failure = error
    if failure is not None and not begun:
        raise EnvFailure(f"expected episodes to learn words from, but all failed; last: {failure}")


def _episode(env: GuardedEnv, options: Mapping[str, Any], player: Policy) -> Iterator[str]:
    """Yield the texts of one episode."""
    observation, info = env.reset(options=dict(options))
    done = False
    yield observation
    while not done:
        action = player.act(observation, info)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        yield action
        yield observation


def demonstrations(
    env: GuardedEnv, tasks: Sequence[Mapping[str, Any]], policy: PolicyModel
) -> list[Trajectory]:
    """Let the expert play; episodes whose environment fails are left out.

    Raises:
        EnvFailure: The environment failed in every one.
    """
    played: list[Trajectory] = []
    first = ""
    for options in tasks:
        try:
            played += demonstrate(env, [options], policy.chat, opening=policy.opening)
        except EnvFailure as error:
            first = first or str(error)
    if not played:
        raise EnvFailure(
            f"expected demonstrations of the expert, but all {len(tasks)} failed; first: {first}"
        )
    return played


def imitation_steps(plan: Plan) -> int:
    """Return the most steps of the warm start; 0: there is none."""
    return known(plan.config.sft.max_steps)


def _fresh(plan: Plan, env: GuardedEnv, system: str | None) -> PolicyModel:
    """Build the tiny policy, or load the pretrained one."""
    if plan.config.model != TINY:
        return load_policy(plan, plan.config.model, system)
    tasks = demonstration_tasks(plan, env)[:VOCABULARY_EPISODES]
    player = OraclePolicy(env) if plan.has_expert else RandomPolicy(plan.config.seed)
    return build_tiny(plan, spoken_texts(env, tasks, player))


def _imitate(
    plan: Plan,
    folder: RunFolder,
    display: Display,
    policy: PolicyModel,
    env: GuardedEnv,
    steps: int,
) -> None:
    """Run the supervised phase from the latest checkpoint to the gate."""
    config = plan.config.sft
    display.phase("watch expert", 1)
    rows = to_rows(demonstrations(env, demonstration_tasks(plan, env), policy))
    display.update(1, demonstrations=len(rows))
    sft = Sft(policy.model, rows, policy.chat.pad_id, _settings(plan, steps))
    checkpoint = folder.latest_checkpoint(PREFIX)
    if checkpoint is not None:
        _load(sft, checkpoint)
    elif plan.config.model == TINY:
        _teach_copying(plan, policy, display)
    folder.rewind(PREFIX, sft.step)
    display.phase("warm start", steps, sft.step)
    gate = Gate(plan, folder, policy)
    watch = _Watch(config, folder, display, sft, gate)
    try:
        result = sft.run(watch.validate, watch.progress)
    finally:
        gate.close()
    reached = "reached" if gate.reached else "not reached"
    display.note(
        f"warm start: {result.steps} steps, validation success {gate.success:.3f} "
        f"(gate {plan.gate_success} {reached})"
    )
    folder.note(
        sft={
            "steps": result.steps,
            "gated": gate.reached,
            "success": gate.success,
            "gate": plan.gate_success,
        }
    )


def _settings(plan: Plan, steps: int) -> SftSettings:
    """Return the settings of the supervised phase."""
    config = plan.config.sft
    return SftSettings(
        steps=steps,
        batch_size=config.batch_size,
        lr=known(config.lr),
        observation_weight=config.observation_weight,
        gate_every=config.gate_every,
        seed=plan.config.seed,
    )


class _Watch:
    """Writes down, shows and saves the warm start as it goes."""

    def __init__(
        self, config: SftConfig, folder: RunFolder, display: Display, sft: Sft, gate: Gate
    ) -> None:
        self._config, self._folder, self._display = config, folder, display
        self._sft, self._gate = sft, gate

    def progress(self, step: int, figures: Mapping[str, float]) -> None:
        """Take down the losses, every few steps."""
        self._folder.log(phase=PREFIX, step=step, **figures)
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


def _teach_copying(plan: Plan, policy: PolicyModel, display: Display) -> None:
    """Give a fresh model its induction heads before it sees demonstrations."""
    steps = plan.config.sft.copy_steps
    settings = CopySettings(steps=steps, seed=plan.config.seed)
    special = len(policy.chat.tokenizer.all_special_ids)
    display.phase("copying", steps)
    teach_copying(
        policy.model,
        settings,
        first_id=special,
        progress=lambda step, loss: display.update(step, loss=loss),
    )


def _save(sft: Sft, folder: RunFolder, step: int) -> None:
    """Write a checkpoint of the warm start and drop older ones."""
    import torch

    path = folder.checkpoints / f"{PREFIX}-{step}"
    path.mkdir(exist_ok=True)
    state = {"sft": sft.state_dict(), "model": sft.model.state_dict()}
    torch.save(state, path / "state.pt")
    (path / COMPLETE).touch()
    for other in folder.checkpoints.glob(f"{PREFIX}-*"):
        if other != path:
            shutil.rmtree(other)


def _load(sft: Sft, path: Path) -> None:
    """Continue from a checkpoint of the warm start."""
    import torch

    state = torch.load(path / "state.pt", weights_only=True)
    sft.model.load_state_dict(state["model"])
    sft.load_state_dict(state["sft"])
