"""Test the pretrained base model: its success, and whether it needs a warm start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from trainers import processes
from trainers.config.family_defaults import ENOUGH
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import VALID
from trainers.config.schema import TINY
from trainers.models.loaded_policy import LoadedPolicy, load_policy
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.roles import BASE_MODEL
from trainers.output.run_folder import RunFolder
from trainers.phases.held_out import HeldOutPlayer
from trainers.phases.rollout_setup import panel_tasks
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.trajectory import Trajectory, by_family

__all__ = ["TESTED", "BaseModel", "decided_run"]

TESTED = "base_model"
"""Key of the note on the test of the base model."""


def decided_run(run: ResolvedRun, folder: RunFolder) -> ResolvedRun:
    """Return a run with the decision of its base model's test, if that was made."""
    note = processes.on_main(lambda: folder.state().get(TESTED))
    return run.without_warm_start() if note and not note["imitate"] else run


class BaseModel:
    """The policy before the warm start.

    Args:
        run: The run.
        folder: Its folder.
        display: Shows the progress.
    """

    def __init__(self, run: ResolvedRun, folder: RunFolder, display: Display) -> None:
        self._run, self._folder, self._display = run, folder, display

    def decide(self) -> ResolvedRun:
        """Test it on validation tasks, unless that was done; return the run with the decision."""
        if self._run.warm_start_if_needed:
            if processes.on_main(lambda: TESTED not in self._folder.state()):
                self._test()
            self._run = decided_run(self._run, self._folder)
        return self._run

    @property
    def is_compared(self) -> bool:
        """Whether it differs from the policy that RL starts from."""
        pretrained = self._run.config.model != TINY
        return pretrained and self._run.imitates and not processes.sharded()

    def _test(self) -> None:
        """Play validation tasks, and note the decision."""
        run, folder = self._run, self._folder
        limit, imitated = run.config.sft.eval_tasks, [env for env in run.envs if env.demonstrator]
        tasks = panel_tasks({env.name: env.panel(VALID, limit) for env in imitated}, run)
        count = len(processes.share(len(tasks)))
        parts = by_family(self.play(tasks, False, self._display.episodes(BASE_MODEL, count)))
        folder.rewind(Phase.WARM_START, -1)  # Left over by a run that was killed here.
        for name, part in parts.items():
            of, figures = {"family": name} if run.several else {}, rollout_metrics(part)
            success, score = figures["rollout/success"], figures["rollout/score"]
            folder.log(phase=Phase.WARM_START, step=0, success=success, score=score, **of)
        solved = {
            name: (sum(episode.success for episode in part), len(part))
            for name, part in parts.items()
        }
        needed = any(count < ENOUGH * limit for count, limit in solved.values())
        imitate = needed and self.chat.joined is None
        folder.note(**{TESTED: {"solved": solved, "imitate": imitate}})
        self._display.note(self._sentence(solved, needed, imitate))

    def _sentence(self, solved: Mapping[str, tuple[int, int]], needed: bool, imitate: bool) -> str:
        """Return a sentence on the test and the decision."""
        parts = [
            f"{count} of {task_count} validation tasks" + f" of {name}" * self._run.several
            for name, (count, task_count) in solved.items()
        ]
        follows = "training begins without a warm start"
        if imitate:
            steps = self._run.config.sft.max_steps
            follows = f"a warm start of at most {steps} steps imitates the demonstrator first"
        elif needed:
            follows += ", as its chat template leaves no tokens of an action alone to imitate"
        return f"the base model solves {' and '.join(parts)}: {follows}"

    @cached_property
    def _policy(self) -> LoadedPolicy:
        return load_policy(self._run, self._run.config.model)

    @cached_property
    def _player(self) -> HeldOutPlayer:
        slots = len(processes.share(self._run.config.rl.episodes))
        return HeldOutPlayer(
            self._run, self._policy, slots, together=True, on_tokens=self._display.count
        )

    @property
    def chat(self) -> TurnTokenizer:
        """Turn tokenizer of the policy."""
        return self._policy.chat

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        greedy: bool = False,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play held-out tasks, as ``Reinforcement.play`` does."""
        seed = self._run.config.seed
        return self._player.play(tasks, seed, greedy=greedy, on_episode=on_episode)

    def close(self) -> None:
        """Close the engine and the environments, and free the weights."""
        if "_player" in vars(self):
            self._player.close()
        for name in ("_player", "_policy"):
            vars(self).pop(name, None)
