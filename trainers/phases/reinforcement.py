"""The second phase of a run: reinforcement learning with a growing horizon."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, ProgressCallback, TrainerCallback

from agentgym.rewards import InvalidAction, SuccessBonus
from trainers.config.plan import TRAIN, VALID, Plan
from trainers.config.schema import TINY, known
from trainers.grpo.arguments import grpo_arguments
from trainers.grpo.trainer import MultiTurnTrainer, RolloutEvent
from trainers.models.policy import PolicyModel
from trainers.output.curve import write_curve
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.rollout_parts import make_engine, make_envs
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.metrics import rollout_metrics
from trainers.rollouts.task_sampler import TaskFeed
from trainers.rollouts.trajectory import Trajectory, without_terms

CHECKPOINTS = "rl"
"""Folder of TRL's checkpoints."""
TRL_STATE = "trainer_state.json"
CLIPPED = ("clip_ratio/region_mean", "cispo_clip_ratio")
"""TRL's names for the share of tokens whose ratio is clipped: of PPO's loss and of CISPO's."""


class Recorder(TrainerCallback):
    """Writes metrics and episodes of every step, and shows the progress."""

    def __init__(
        self, plan: Plan, folder: RunFolder, display: Display, chat: TurnTokenizer
    ) -> None:
        self._plan, self._folder, self._display = plan, folder, display
        self._turns = 0
        self._tokens = 0
        self._began = time.perf_counter()
        self._record: dict[str, Any] = {}
        self._trainer: MultiTurnTrainer | None = None
        env = plan.make_env()
        count = min(plan.config.eval.valid_tasks, env.tasks.len(VALID))
        panel = env.tasks.panel(VALID, count)
        env.close()
        self._valid_tasks = [{"task_id": task_id} for task_id in panel.ids]
        self._episodes = EpisodeLog(plan, chat, reward_hooks(plan))
        self._held_out = EpisodeLog(plan, chat, panel_sha256=panel.sha256)

    def attach(self, trainer: MultiTurnTrainer) -> None:
        """Make the validation during training possible."""
        self._trainer = trainer

    def resume(self, step: int) -> None:
        """Continue after ``step``: later records are written again."""
        self._folder.rewind(Phase.REINFORCEMENT, step)
        # The untrained policy is validated before the first step.
        self._folder.rewind(Phase.VALIDATION, step or -1)
        self._folder.rewind_episodes(step)
        records = [r for r in self._folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
        self._turns = records[-1]["turns_total"] if records else 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock of the first step."""
        self._began = time.perf_counter()

    def on_rollout(self, event: RolloutEvent) -> None:
        """Take down one step's episodes."""
        metrics = event.metrics
        turns = sum(len(trajectory.turns) for trajectory in event.trajectories)
        self._turns += turns
        self._tokens = sum(trajectory.action_tokens for trajectory in event.trajectories)
        self._record = {
            **{name.split("/", 1)[1]: value for name, value in metrics.items()},
            "phase": Phase.REINFORCEMENT,
            "step": event.step,
            "horizon": event.horizon,
            "stage": self._plan.schedule.stage(event.step),
            "turns_total": self._turns,
        }
        settings = self._plan.config.rl
        logged = event.trajectories[: settings.log_groups * known(settings.group_size)]
        self._episodes.append(self._folder.episodes_path, logged)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any
    ) -> None:
        """Write the step's line, with the optimiser's figures."""
        if not self._record or "loss" not in (logs or {}):
            return
        assert logs is not None
        now = time.perf_counter()
        seconds, self._began = now - self._began, now
        for name in ("loss", "grad_norm", "entropy", "learning_rate"):
            if name in logs:
                self._record[name] = float(logs[name])
        # At a single update per step the ratio is 1, and there is nothing to clip.
        for name in CLIPPED if self._plan.updates > 1 else ():
            if name in logs:
                self._record["clip_fraction"] = float(logs[name])
        self._record["seconds"] = seconds
        self._folder.log(**self._record)
        self._display.update(
            self._record["step"],
            horizon=self._record["horizon"],
            reward=self._record["return"],
            success=self._record["success"],
            tokens_s=self._tokens / max(seconds, 1e-9),
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Validate now and then, and end the training when the turn budget is spent."""
        step, update = divmod(state.global_step, self._plan.updates)
        if update:
            return  # In the middle of a step: its episodes serve for more updates.
        every = self._plan.config.eval.every
        if every and step % every == 0:
            self.validate(step)
        if self.late:
            self._display.note(f"time is up: training ends at step {step}")
        if self.late or self.spent:
            # Saved, so that a run which is killed after this goes on with just these weights.
            control.should_training_stop = control.should_save = True

    @property
    def spent(self) -> bool:
        """Whether the turn budget is used up."""
        budget = self._plan.config.rl.turn_budget
        return bool(budget) and self._turns >= budget

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self._folder.seconds() > self._plan.seconds

    def validate(self, step: int) -> None:
        """Play the validation tasks at the full horizon and record the result."""
        assert self._trainer is not None, "attach a trainer first"
        played = play(self._trainer, self._plan, self._valid_tasks)
        path = self._folder.eval_episodes(Phase.VALIDATION)
        self._held_out.append(path, played, step=step)
        figures = rollout_metrics(played)
        self._folder.log(
            phase=Phase.VALIDATION,
            step=step,
            turns_total=self._turns,
            score=figures["rollout/score"],
            success=figures["rollout/success"],
        )

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Draw the curve and note the time along with every checkpoint."""
        write_curve(self._folder)
        self._folder.note()


def make_trainer(
    plan: Plan, policy: PolicyModel, recorder: Recorder, output: Path
) -> MultiTurnTrainer:
    """Put the trainer of a run together; the caller closes ``runner.envs`` and the engine."""
    settings = plan.config.rl
    arguments = grpo_arguments(
        output,
        plan.preset,
        groups=known(settings.groups),
        group_size=known(settings.group_size),
        steps=plan.steps,
        lr=known(settings.lr),
        limits=policy.limits,
        micro_batch=settings.micro_batch,
        warmup=settings.warmup,
        temperature=settings.temperature,
        max_grad_norm=settings.max_grad_norm,
        save_every=settings.save_every,
        keep_checkpoints=settings.keep_checkpoints,
        seed=plan.config.seed,
        minibatches=known(settings.minibatches),
        iterations=known(settings.iterations),
    )
    slots = known(settings.groups) * known(settings.group_size)
    trainer = MultiTurnTrainer(
        policy.model,
        arguments,
        envs=make_envs(plan, slots, reward_hooks(plan)),
        chat=policy.chat,
        tasks=make_feed(plan).draw,
        horizon=plan.schedule,
        preset=plan.preset,
        limits=policy.limits,
        full_horizon=plan.full_horizon,
        group_size=settings.group_size,
        engine=make_engine(plan, policy, slots),
        opening=policy.opening,
        family=plan.family,
        on_rollout=recorder.on_rollout,
        peft_config=_adapters(plan),
        callbacks=[recorder],
    )
    for callback in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(callback)
    return trainer


def train(trainer: MultiTurnTrainer, recorder: Recorder, plan: Plan, display: Display) -> None:
    """Run or continue the reinforcement learning phase."""
    checkpoint = latest(Path(trainer.args.output_dir))
    # TRL counts updates; it saves at the end of a step only.
    step = int(checkpoint.name.rsplit("-", 1)[1]) // plan.updates if checkpoint else 0
    recorder.resume(step)
    recorder.attach(trainer)
    if plan.config.eval.every and not step:
        recorder.validate(0)
    display.phase("RL", plan.steps, step)
    if step and (recorder.spent or recorder.late):
        # Only the weights of the checkpoint are wanted.
        trainer.args.max_steps = step * plan.updates
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)


def play(
    trainer: MultiTurnTrainer, plan: Plan, tasks: Sequence[Mapping[str, Any]], greedy: bool = False
) -> list[Trajectory]:
    """Play held-out tasks with the present policy, for the environment's own rewards.

    The environments are those of training; what its hooks add is taken off again, so that rewards
    can be compared with those of policies that were not trained.
    """
    hooks = [hook.name for hook in reward_hooks(plan)]
    played = trainer.play(tasks, greedy=greedy, seed=plan.config.seed)
    return [without_terms(trajectory, hooks) for trajectory in played]


def latest(output: Path) -> Path | None:
    """Return the newest complete checkpoint of TRL; its state file is written last."""
    found = [path for path in output.glob("checkpoint-*") if _is_complete(path / TRL_STATE)]
    return max(found, key=lambda path: int(path.name.rsplit("-", 1)[1]), default=None)


def _is_complete(state: Path) -> bool:
    """Return whether a state file is there and whole."""
    try:
        return "global_step" in json.loads(state.read_text())
    except (OSError, ValueError):
        return False


def reward_hooks(plan: Plan) -> list[Any]:
    """Return the turn-level rewards that training adds to the family's own.

    The price of an invalid turn is not among them if a correction of the preset takes it.
    """
    settings = plan.config.rl
    hooks: list[Any] = []
    if settings.success_bonus:
        hooks.append(SuccessBonus(settings.success_bonus))
    if settings.invalid_penalty and plan.preset.invalid_penalty is None:
        hooks.append(InvalidAction(settings.invalid_penalty))
    return hooks


def make_feed(plan: Plan) -> TaskFeed:
    """Return the source of training tasks."""
    env = plan.make_env()
    try:
        return TaskFeed(env.tasks, TRAIN, plan.config.seed, plan.fit)
    finally:
        env.close()


def _episodes(plan: Plan) -> int:
    """Return the number of episodes of a step."""
    return known(plan.config.rl.groups) * known(plan.config.rl.group_size)


def _adapters(plan: Plan) -> Any:
    """Return PEFT's configuration for a pretrained model, or None."""
    settings = plan.config.lora
    if plan.config.model == TINY or settings.r == 0:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
