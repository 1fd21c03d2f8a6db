"""The warm start, first phase of a run: imitate the expert until the target success is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import VALID
from trainers.config.schema import TINY
from trainers.methods.table import methods
from trainers.models.copy_pretraining import CopySettings, pretrain_copying
from trainers.models.loaded_policy import LoadedPolicy, build_tiny, load_policy
from trainers.models.sft import Sft
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.roles import WARM_START
from trainers.output.run_checkpoints import FINISHED
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.whole_checkpoint import check_policy
from trainers.phases.demonstrators import Demonstrator, demonstrated_rows, show_watching
from trainers.phases.held_out import HeldOutPlayer
from trainers.phases.imitation_rounds import ROUND, UNFINISHED, ImitationRounds
from trainers.phases.learning_clock import note_cut
from trainers.phases.rollout_setup import panel_tasks
from trainers.phases.sft_loop import SftCheckpoints, make_sft, sft_settings
from trainers.phases.spending import imitation_is_spent, note_demonstrations
from trainers.rollouts.engines.policy_weights import base_model, policy_weights
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.expert_demonstrations import Demonstration
from trainers.rollouts.trajectory import Row, by_family

if TYPE_CHECKING:
    from trainers.models.sft_pretrained import PretrainedSft

PREFIX = "sft"
VOCABULARY_EPISODES = 2000
"""Episodes that define the vocabulary of a tiny policy: demonstrations and, if these are fewer,
random play of other training tasks; fewer in slow environments."""


def warm_start(run: ResolvedRun, folder: RunFolder, display: Display) -> LoadedPolicy:
    """Return the policy that reinforcement learning starts from; resumes after a kill.

    The result is saved in ``checkpoints/warm-start`` and loaded from there, so that a resumed run
    continues with the same policy. The main process alone trains a tiny policy; all processes train
    a pretrained one, on their shares of every batch.
    """
    config, finished = run.config, folder.checkpoints / FINISHED
    if config.model != TINY and not config.sft.max_steps:
        # Nothing to store: a copy of a pretrained model may be large.
        return _learn(run, folder, display)
    if not processes.on_main((finished / COMPLETE).exists):
        if config.model == TINY:
            processes.on_main(lambda: _learn(run, folder, display).save(finished))
        else:
            save_whole(_learn(run, folder, display), finished)
        processes.on_main((finished / COMPLETE).touch)
    processes.on_main(lambda: check_policy(finished, "the warm start"))
    for prefix in (PREFIX, ROUND, UNFINISHED):
        processes.on_main(SftCheckpoints(folder, prefix).drop)
    return load_policy(run, finished)


def _learn(run: ResolvedRun, folder: RunFolder, display: Display) -> LoadedPolicy:
    """Let a fresh or pretrained policy imitate the experts."""
    words = VOCABULARY_EPISODES if run.config.model == TINY else 0
    with ExitStack() as stack:
        players = {env.name: Demonstrator(run, env, words) for env in run.envs}
        for player in players.values():
            stack.callback(player.close)
        show_watching(display, players.values())
        policy = _fresh(
            run,
            (episode for player in players.values() for episode in player.vocabulary_episodes()),
        )
        for player in players.values():
            player.check_opening(policy)
        if not run.imitates:
            return policy
        together = run.config.model != TINY  # Otherwise only the main process is here.

        def watched() -> Sequence[Row]:
            rows = demonstrated_rows(run, policy, players)
            note_demonstrations(folder, (player.spent for player in players.values()))
            return rows

        rows = processes.on_main(watched) if together else watched()
        rounds = ImitationRounds(
            run, folder, display, save_whole if together else LoadedPolicy.save
        )
        if not run.config.sft.rounds:
            _imitate(run, folder, display, policy, rows, together)
            return policy
        if rounds.begun:
            return rounds.run(None, rows)
        _imitate(run, folder, display, policy, rows, together)
        return rounds.run(policy, rows)


def save_whole(policy: LoadedPolicy, path: Path) -> None:
    """Write a policy, possibly sharded over processes, with adapters merged."""
    if not processes.sharded():
        processes.on_main(lambda: policy.save(path))
        return
    tensors = {}
    for name, tensor in policy_weights(policy.model):  # All processes gather shards, one writes.
        if processes.is_main():
            tensors[name] = tensor.cpu().clone()
    base, tokenizer = base_model(policy.model), policy.chat.tokenizer
    processes.on_main(lambda: base.save_pretrained(path, state_dict=tensors))
    processes.on_main(lambda: tokenizer.save_pretrained(path))


def _fresh(run: ResolvedRun, first: Iterable[Demonstration]) -> LoadedPolicy:
    """Build the tiny policy, or load the pretrained one.

    A tiny policy's vocabulary is the one that a method requires, or the words of the first
    episodes.
    """
    if run.config.model != TINY:
        return load_policy(run, run.config.model)
    texts = (text for episode in first for text in episode.texts)
    used = [method for method in methods() if method.tokenizer and method.is_used(run)]
    tokenizers = (resolve_name(method.tokenizer)(run) for method in used)
    required = next((tokenizer for tokenizer in tokenizers if tokenizer is not None), None)
    return build_tiny(run, texts, required)


def _imitate(
    run: ResolvedRun,
    folder: RunFolder,
    display: Display,
    policy: LoadedPolicy,
    rows: Sequence[Row],
    together: bool,
) -> None:
    """Run the supervised phase from the latest checkpoint to the gate."""
    settings = sft_settings(run, run.config.sft.max_steps, run.config.sft.eval_every)
    sft = make_sft(run, folder, policy, rows, settings)
    checkpoints = SftCheckpoints(folder, PREFIX, run.config.sft.save_minutes, together=together)
    checkpoint = checkpoints.latest
    if checkpoint is not None:
        sft.load(checkpoint)
    elif run.config.model == TINY:
        _pretrain_copying(run, policy, display)
    folder.rewind(Phase.WARM_START, sft.step)
    display.phase(WARM_START, sft.settings.steps, sft.step)
    gate = ValidationGate(run, folder, policy, together=together, on_tokens=display.count)
    log = _WarmStartLog(run, folder, display, sft, gate, checkpoints)
    try:
        result = sft.run(log.validate, log.progress, log.after_step)
    finally:
        gate.close()
    policy.model = sft.merged()
    outcomes = {
        name: {
            "steps": result.steps,
            "gated": gate.passed(name),
            "success": success,
        }
        for name, success in gate.successes.items()
    }
    for name, part in outcomes.items():
        reached = "reached" if part["gated"] else "not reached"
        env_note = f" in {name}" * run.several
        display.note(
            f"{WARM_START}: {result.steps} steps, validation success {part['success']:.3f}"
            f"{env_note} (target {run.env(name).target_success} {reached})"
        )
    folder.note(sft=outcomes if run.several else outcomes[run.envs[0].name])


class ValidationGate:
    """End the warm start once the sampled policy solves enough validation tasks.

    With several environments it must do so in each one that is imitated. It plays on the run's
    engine. Under ``--minutes`` the warm start takes at most half of the time; ``--budget`` sets
    another share, also of its tokens. With ``together`` every process plays its share of the tasks.

    Attributes:
        engine: What generates.
        successes: Success of the last validation in each environment; empty before the first.
    """

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        policy: LoadedPolicy,
        *,
        together: bool = False,
        on_tokens: Callable[[int], None] = lambda tokens: None,
    ) -> None:
        self._run, self._folder = run, folder
        self._gates = {env.name: env.target_success for env in run.envs if env.demonstrator}
        limit = run.config.sft.eval_tasks
        panels = {name: run.env(name).panel(VALID, limit) for name in self._gates}
        self._tasks = panel_tasks(panels, run)
        self._together = together
        count = len(self._tasks)
        slots = len(processes.share(count)) if together else count
        self._player = HeldOutPlayer(run, policy, slots, together=together, on_tokens=on_tokens)
        self.engine = self._player.engine
        self.successes: dict[str, float] = {}

    def __call__(self, step: int) -> bool:
        """Validate after ``step`` steps; True ends the warm start."""
        trajectories = self._player.play(self._tasks, step, version=step)
        for name, part in by_family(trajectories).items():
            figures = rollout_metrics(part)
            self.successes[name] = success = figures["rollout/success"]
            of = {"family": name} if self._run.several else {}
            score = figures["rollout/score"]
            self._folder.log(phase=Phase.WARM_START, step=step, success=success, score=score, **of)
        # Decided by one process's clock: if processes disagreed, some would wait forever.
        late = self._folder.seconds() > self._run.seconds * self._run.budget.share_of_time
        spent = imitation_is_spent(self._run, self._folder, tokens_alone=True)
        if self._together:
            late, spent = processes.broadcast((late, spent))
        passed = all(map(self.passed, self._gates))
        if late and not passed and step < self._run.config.sft.max_steps:
            note_cut(self._folder, Phase.WARM_START, step)
        return passed or late or spent

    @property
    def success(self) -> float | None:
        """Mean of the successes; None before the first validation."""
        if not self.successes:
            return None
        return sum(self.successes.values()) / len(self.successes)

    def passed(self, name: str) -> bool:
        """Return whether the policy solved enough tasks of an environment."""
        return self.successes[name] >= self._gates[name]

    def close(self) -> None:
        """Close the engine and the environments."""
        self._player.close()


class _WarmStartLog:
    """Record, show and save the warm start as it proceeds."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        sft: Sft | PretrainedSft,
        gate: ValidationGate,
        checkpoints: SftCheckpoints,
    ) -> None:
        self._config, self._folder, self._display = run.config.sft, folder, display
        self._sft, self._gate, self._checkpoints = sft, gate, checkpoints
        self._loss: float | None = None
        self._speed: float | None = None

    def progress(self, step: int, figures: Mapping[str, float]) -> None:
        """Record the losses, every few steps."""
        self._folder.log(phase=Phase.WARM_START, step=step, **figures)
        self._measure(figures)
        self._show(step)

    def validate(self, step: int) -> bool:
        """Ask the gate."""
        reached = self._gate(step)
        self._show(step)
        return reached

    def after_step(self, step: int) -> None:
        """Show and save at intervals; after a gate only if the warm start continues."""
        if self._display.due and (figures := self._sft.figures()):
            self._measure(figures)
            self._show(step)
        self._checkpoints.save_if_due(self._sft, step % self._config.save_every == 0)

    def _measure(self, figures: Mapping[str, float]) -> None:
        """Store the measurements to show."""
        self._loss, self._speed = figures["loss"], figures["tokens_per_second"]

    def _show(self, step: int) -> None:
        """Show the latest measurements."""
        self._display.update(
            step, success=self._gate.success, loss=self._loss, tokens_s=self._speed
        )


def _pretrain_copying(run: ResolvedRun, policy: LoadedPolicy, display: Display) -> None:
    """Let a fresh model form induction heads before it sees demonstrations."""
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
