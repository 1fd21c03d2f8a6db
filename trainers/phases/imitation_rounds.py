"""Rounds of play and imitation between the warm start and reinforcement learning.

In each round the policy plays training tasks. The teacher determines what it then imitates:

- ``self``: the episodes that it solved, with the demonstrations. Every round starts from the warm
  start (AgentEvol, arXiv 2406.04151; with one round rejection sampling, arXiv 2308.01825).
- ``expert``: the expert's action in every visited state, together with the demonstrations and the
  states of all earlier rounds. The policy continues to learn (DAgger, arXiv 1011.0686).

A round stores its episodes as records and its training rows, so that an interrupted run resumes in
the same round.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentgym.core.outcome import StopReason
from agentgym.support.caching import write_atomically
from trainers import processes
from trainers.algorithms.sampling import InterleavedSampler
from trainers.config.resolve import ResolvedRun
from trainers.config.safe_env import make_safe_env
from trainers.config.schema import TINY
from trainers.models.loaded_policy import LoadedPolicy, load_policy
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.held_out import HeldOutPlayer
from trainers.phases.sft_loop import SftCheckpoints, make_sft, sft_settings
from trainers.phases.spending import Spent, imitation_is_spent, note_round
from trainers.rollouts.expert_labels import labelled_rows
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Row, Trajectory, to_rows

__all__ = ["ROUND", "UNFINISHED", "ImitationRounds"]

ROUND = "round"
"""Prefix of the rounds' checkpoints; round 0 is the warm start before them."""
UNFINISHED = "in-round"
"""Prefix of the checkpoints within a round."""
FOLDER = "rounds"
"""Folder of episodes and rows within the run's folder."""


class ImitationRounds:
    """Let a policy play and imitate, round by round; resumes after a kill.

    Args:
        run: The run.
        folder: Its folder.
        display: Shows the progress.
        save: Writes a policy, by all processes that train it.
    """

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        save: Callable[[LoadedPolicy, Path], None],
    ) -> None:
        self._run, self._folder, self._display, self._save = run, folder, display, save
        self._together = run.config.model != TINY  # Otherwise the main process works alone here.
        self._settings = run.config.sft

    @property
    def begun(self) -> bool:
        """Whether the warm start before the rounds is finished."""
        return self._done(0)

    def run(self, policy: LoadedPolicy | None, demonstrations: Sequence[Row]) -> LoadedPolicy:
        """Carry out all rounds that the budget allows, and return the policy of the last.

        Args:
            policy: The warm start; None if it was saved before.
            demonstrations: Those of the warm start.
        """
        if policy is not None:
            self._keep(policy, 0)
        number = 0
        while number < self._settings.rounds and not self._spent():
            number += 1
            if not self._done(number):
                self._keep(self._learn(number, demonstrations), number)
        return load_policy(self._run, self._place(number))

    def _learn(self, number: int, demonstrations: Sequence[Row]) -> LoadedPolicy:
        """Play a round and imitate; return the policy."""
        rows = self._rows_of(number)
        if rows is None:
            rows = self._play(number)
        from_expert = self._settings.teacher == "expert"
        earlier = range(1, number) if from_expert else ()
        learnt = [*demonstrations, *(row for k in earlier for row in self._rows_of(k) or ()), *rows]
        policy = load_policy(self._run, self._place(number - 1 if from_expert else 0))
        steps = self._settings.round_steps
        first = (number - 1) * steps
        settings = replace(
            sft_settings(self._run, steps, steps), seed=self._run.config.seed + number
        )
        sft = make_sft(self._run, self._folder, policy, learnt, settings)
        checkpoints = SftCheckpoints(
            self._folder, f"{UNFINISHED}-{number}", self._settings.save_minutes,
            together=self._together,
        )  # fmt: skip
        if (checkpoint := checkpoints.latest) is not None:
            sft.load(checkpoint)
        self._folder.rewind(Phase.IMITATION, first + sft.step)
        self._display.phase(f"round {number}", steps, sft.step)

        def show(step: int, figures: Mapping[str, float]) -> None:
            self._display.update(step, loss=figures["loss"], tokens_s=figures["tokens_per_second"])

        def progress(step: int, figures: Mapping[str, float]) -> None:
            self._folder.log(phase=Phase.IMITATION, step=first + step, **figures)
            show(step, figures)

        def after_step(step: int) -> None:
            if self._display.due and (figures := sft.figures()):
                show(step, figures)
            checkpoints.save_if_due(sft)

        sft.run(None, progress, after_step)
        policy.model = sft.merged()
        return policy

    # -- what is played ----------------------------------------------------------------------------

    def _play(self, number: int) -> list[Row]:
        """Play the tasks of a round, and store its training rows."""
        policy = load_policy(self._run, self._place(number - 1))
        tasks = self._tasks(number)
        self._display.phase(f"round {number}: play", len(tasks))
        slots = len(processes.share(len(tasks))) if self._together else len(tasks)
        slots = min(slots, self._run.config.rl.episodes)
        player = HeldOutPlayer(
            self._run, policy, slots, together=self._together, on_tokens=self._display.count
        )
        # Far enough apart that no round shares a seed with training or validation.
        seed = (self._run.config.seed * 1_000_003 + number) * 10_007 + 5_003
        try:
            trajectories = player.play(tasks, seed, version=number)
        finally:
            player.close()
        sound = [
            trajectory
            for trajectory in trajectories
            if trajectory.stop_reason != StopReason.ERROR.value
        ]

        def record_round() -> list[Row]:
            rows, price = self._taught(sound, policy)
            log = EpisodeLog(self._run, policy.chat, training=False)
            log.replace(self._file(number), trajectories, round=number)
            # Written last: its presence means that the round was played.
            write_rows(self._file(number).with_suffix(".rows.json"), rows)
            turns = sum(len(trajectory.turns) for trajectory in trajectories)
            note_round(
                self._folder, number, Spent(turns + price.turns, len(trajectories) + price.episodes)
            )
            solved = sum(trajectory.success for trajectory in sound) / max(1, len(sound))
            self._display.note(f"round {number}: success {solved:.3f} on {len(sound)} tasks")
            return rows

        return processes.on_main(record_round) if self._together else record_round()

    def _taught(
        self, episodes: Sequence[Trajectory], policy: LoadedPolicy
    ) -> tuple[list[Row], Spent]:
        """Return the training rows of episodes, and the cost of the teacher's labels."""
        if self._settings.teacher == "self":
            return to_rows([episode for episode in episodes if episode.success]), Spent()
        rows: list[Row] = []
        for resolved in self._run.envs:
            env = make_safe_env(resolved, self._run.config)
            family_episodes = [episode for episode in episodes if episode.family == resolved.name]
            for episode in family_episodes:
                rows += labelled_rows(episode, env, policy.chat, policy.prompts[resolved.name])
            env.close()
        price = self._run.budget.demonstration
        return rows, Spent(price * len(rows), price * len(episodes))

    def _tasks(self, number: int) -> list[dict[str, object]]:
        """Choose the training tasks of a round; rounds share tasks only if there are too few."""
        total = sum(env.weight for env in self._run.envs)
        tasks: list[dict[str, object]] = []
        for env in self._run.envs:
            count = max(1, round(self._settings.round_tasks * env.weight / total))
            feed = env.make_training_tasks(self._run.config.seed, InterleavedSampler)
            options = {FAMILY: env.name, "horizon": env.full_horizon}
            tasks += [{**task, **options} for task in feed(number, count, env.full_horizon)]
        return tasks

    # -- what is kept ------------------------------------------------------------------------------

    def _place(self, number: int) -> Path:
        """Return the folder of a round's policy."""
        return self._folder.checkpoints / f"{ROUND}-{number}"

    def _file(self, number: int) -> Path:
        """Return the file of a round's episodes."""
        return self._folder.path / FOLDER / f"{ROUND}-{number}.jsonl"

    def _done(self, number: int) -> bool:
        """Return whether the policy of a round is saved."""
        is_complete = (self._place(number) / COMPLETE).exists
        return processes.on_main(is_complete) if self._together else is_complete()

    def _rows_of(self, number: int) -> list[Row] | None:
        """Return the training rows of a round; None if it was not played."""

        def read() -> list[Row] | None:
            return read_rows(self._file(number).with_suffix(".rows.json"))

        return processes.on_main(read) if self._together else read()

    def _keep(self, policy: LoadedPolicy, number: int) -> None:
        """Write the policy of a round."""
        place = self._place(number)
        self._save(policy, place)
        if self._together:
            processes.on_main((place / COMPLETE).touch)
        else:
            (place / COMPLETE).touch()

    def _spent(self) -> bool:
        """Return whether imitation has used up its share of the budget."""

        def spent() -> bool:
            return imitation_is_spent(self._run, self._folder)

        return processes.on_main(spent) if self._together else spent()


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write training rows, without log-probabilities."""
    entries = [[row.ids, row.mask, row.prompt_length] for row in rows]
    write_atomically(path, json.dumps(entries).encode())


def read_rows(path: Path) -> list[Row] | None:
    """Read the file of ``write_rows``; None if there is none."""
    if not path.exists():
        return None
    entries = json.loads(path.read_text(encoding="ascii"))
    return [Row(ids, mask, [0.0] * len(ids), start) for ids, mask, start in entries]
