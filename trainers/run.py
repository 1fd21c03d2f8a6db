"""A run from configuration to summary: warm start, reinforcement learning, evaluation, report."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentgym.caching import write_atomically
from agentgym.errors import ConfigurationError, require
from trainers.config.plan import Plan, make_plan
from trainers.config.schema import TrainConfig
from trainers.models.policy import check_model
from trainers.output.curve import write_curve
from trainers.output.display import Display, result_table
from trainers.output.phase import Phase
from trainers.output.report import write_card, write_report
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.summary import (
    GREEDY,
    Evaluation,
    Horizon,
    Summary,
    WarmStart,
    arm_names,
    commit,
    gate_remark,
    steps_remark,
    verdict,
    versions,
)
from trainers.phases.comparison import Arms
from trainers.rollouts.engines.vllm_process import check_vllm

PACKAGES = (
    "torch", "transformers", "trl", "peft", "accelerate", "datasets", "filelock", "jinja2",
    "matplotlib", "yaml",
)  # fmt: skip

logger = logging.getLogger(__name__)


def train(config: TrainConfig, display: Display | None = None) -> dict[str, Any]:
    """Carry out a run, or continue one.

    Args:
        config: The settings.
        display: Shows the progress; None draws on standard error.

    Returns:
        The content of ``summary.json``.

    Raises:
        AgentGymError: A setting is wrong, a package is missing, or the environment cannot be
            used; the folder stays fit for ``--resume``.
    """
    _one_process()
    plan = make_plan(config)
    for module in PACKAGES:
        require(module, "train")
    if config.engine == "vllm":
        check_vllm()
    check_model(config.model, plan.template_args)
    folder = RunFolder.open(plan.out, config, plan.resolved())
    if folder.summary_path.exists():
        with display or Display() as shown:
            shown.note(f"this run is complete: {folder.summary_path}")
        return json.loads(folder.summary_path.read_text())
    folder.lock()
    try:
        with display or Display() as shown, _warnings_to(folder.warnings_path):
            return _Run(plan, folder, shown).execute()
    finally:
        folder.close()


def _one_process() -> None:
    """Refuse launchers that start several processes, which would all write one folder."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigurationError(
            "expected agentgym-train to run in one process, but WORLD_SIZE is "
            f"{os.environ['WORLD_SIZE']}; for several, launch a script of your own around "
            "trainers.grpo.trainer.MultiTurnTrainer with accelerate"
        )


class _Run:
    """The phases of one run."""

    def __init__(self, plan: Plan, folder: RunFolder, display: Display) -> None:
        from trainers.models.policy import TINY
        from trainers.phases.warm_start import imitation_steps

        self._plan, self._folder, self._display = plan, folder, display
        self._names = arm_names(plan.config.model != TINY, imitation_steps(plan) > 0)

    def execute(self) -> dict[str, Any]:
        """Run all phases that are not done yet and write the summary."""
        from trainers.models.policy import one_thread, seed_everything

        _quiet_libraries()
        one_thread()
        seed_everything(self._plan.config.seed)
        arms = Arms(self._plan, self._folder)
        self._display.phase("baselines", 1)
        arms.add_baselines()
        self._display.update(1)
        if arms.no_scale:
            self._display.note(arms.no_scale)
        self._learn(arms)
        summary = self._summarise(arms)
        write_curve(self._folder, self._names)
        write_card(self._folder, self._plan, summary)
        report = write_report(self._folder, self._plan, summary)
        content = summary.to_dict()
        text = json.dumps(content, indent=2) + "\n"
        write_atomically(self._folder.summary_path, text.encode())
        self._show(summary, report)
        return content

    def _learn(self, arms: Arms) -> None:
        """Warm start, then reinforcement learning, each evaluated on the panel."""
        from trainers.phases import reinforcement as reinforce
        from trainers.phases.warm_start import warm_start

        policy = warm_start(self._plan, self._folder, self._display)
        self._folder.note()
        recorder = reinforce.Recorder(self._plan, self._folder, self._display, policy.chat)
        output = self._folder.checkpoints / reinforce.CHECKPOINTS
        trainer = reinforce.make_trainer(self._plan, policy, recorder, output)
        try:
            self._evaluate("sft", arms, trainer)
            reinforce.train(trainer, recorder, self._plan, self._display)
            self._folder.note()
            self._evaluate("rl", arms, trainer)
            trainer.save_model(str(self._folder.trained))
            (self._folder.trained / COMPLETE).touch()
        finally:
            trainer.runner.engine.close()
            trainer.runner.envs.close()

    def _evaluate(self, arm: str, arms: Arms, trainer: Any) -> None:
        """Play the panel with the present policy, sampled and greedy, unless that was done."""
        from trainers.output.episode_log import EpisodeLog
        from trainers.phases.reinforcement import play

        plan, chat = self._plan, trainer.runner.chat
        only_greedy = plan.config.eval.greedy
        for name, greedy in ((arm, only_greedy), (f"{arm}{GREEDY}", True)):
            if name in arms or (greedy and only_greedy and name != arm):
                continue
            self._display.phase(f"test {self._names[arm]}{GREEDY if greedy else ''}", 1)
            played = play(trainer, plan, arms.tasks, greedy)
            log = EpisodeLog(plan, chat, panel_sha256=arms.panel.sha256)
            log.replace(self._folder.eval_episodes(name), played, arm=name)
            report = arms.add(name, played)
            self._display.update(1, score=report.score_mean, success=report.success)

    def _summarise(self, arms: Arms) -> Summary:
        """Assemble ``summary.json``."""
        plan, paired = self._plan, arms.paired()
        warm_start = self._folder.state().get("sft")
        remarks = (
            gate_remark(warm_start and WarmStart(**warm_start), plan.gate_success),
            steps_remark(self._steps(), plan.steps),
            arms.no_scale,
        )
        return Summary(
            env=plan.env_id,
            preset=plan.preset.name,
            preset_parts_left_out=tuple(plan.preset.ignored),
            steps=self._steps(),
            horizon=Horizon(plan.schedule.rounds, plan.schedule.every, plan.fit),
            seed=plan.config.seed,
            wall_s=round(self._folder.seconds(), 1),
            verdict=verdict(paired.rl_minus_sft, self._names["sft"]),
            remarks=tuple(remark for remark in remarks if remark),
            names=self._names,
            eval=arms.results(),
            paired=paired,
            greedy=arms.greedy(),
            evaluation=Evaluation(
                split=arms.panel.split,
                panel_sha256=arms.panel.sha256,
                decoding="greedy" if plan.config.eval.greedy else "sampled",
                horizon=plan.full_horizon,
            ),
            warm_start=warm_start and WarmStart(**warm_start),
            packages=versions(),
            commit=commit(),
        )

    def _steps(self) -> int:
        """Return the reinforcement learning steps that were taken."""
        records = [r for r in self._folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
        return max((record["step"] for record in records), default=0)

    def _show(self, summary: Summary, report: Path) -> None:
        """Show the result as a table, and in words."""
        self._display.note(result_table(summary))
        for sentence in (summary.verdict, *summary.remarks):
            self._display.note(sentence)
        if self._folder.warnings_path.exists():
            self._display.note(f"there were warnings, see {self._folder.warnings_path}")
        self._display.note(f"{summary.wall_s:.0f} s; open {report}")


class _WarningFile(logging.FileHandler):
    """Keeps warnings with their tracebacks; a disk that is full is noticed by more than this."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing."""


@contextmanager
def _warnings_to(path: Path) -> Iterator[None]:
    """Write what the packages warn of, such as failed episodes, to a file instead of the screen."""
    handler = _WarningFile(path, delay=True, encoding="utf-8")
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("agentgym", "trainers")]
    for each in loggers:
        each.addHandler(handler)
    try:
        yield
    finally:
        for each in loggers:
            each.removeHandler(handler)
        handler.close()


def _quiet_libraries() -> None:
    """Keep the progress readable: libraries report errors only."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    import datasets
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
