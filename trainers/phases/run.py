"""A training run: warm start, reinforcement learning, evaluation, report."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.episodes.spans import tracing
from agentgym.support.caching import write_atomically
from agentgym.support.provenance import commit
from agentgym.vector.backends import backend_session
from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY, TrainConfig
from trainers.methods.episode_loop import loop_of
from trainers.models.memory import GIB
from trainers.models.memory_plan import (
    MemoryPlan,
    check_memory,
    memory_line,
    memory_notes,
    plan_memory,
)
from trainers.models.threads import computing_threads, run_threads
from trainers.output.card import write_card
from trainers.output.curve import last_horizon, write_curve
from trainers.output.display import Display, result_table
from trainers.output.hub import NO_TOKEN, has_token
from trainers.output.phase import Phase
from trainers.output.remarks import (
    arm_names,
    base_model_remark,
    baseline_remarks,
    chosen_remark,
    cut_sentence,
    filter_remark,
    greedy_remark,
    health_remark,
    horizon_remark,
    pooled_remark,
    random_remark,
    repeats_remark,
    steps_remark,
    target_remark,
    teacher_remark,
    untrained_verdict,
)
from trainers.output.report import write_report
from trainers.output.roles import BASE_MODEL, GREEDY, TRAINED, WARM_START
from trainers.output.run_folder import RunFolder
from trainers.output.summary import (
    Results,
    Summary,
    WarmStart,
    health_events,
    imitation_losses,
    nothing_trained,
    step_seconds,
    versions,
)
from trainers.phases.base_model import BaseModel, decided_run
from trainers.phases.learning_clock import CUT, check_extension, note_end
from trainers.phases.method_results import result_of_methods
from trainers.phases.policy_comparison import PolicyComparison
from trainers.phases.publication import publish
from trainers.phases.start_checks import checked_run
from trainers.rollouts.trajectory import by_family

if TYPE_CHECKING:
    from trainers.phases.baselines import Baseline

LEARNERS = (BASE_MODEL, WARM_START, TRAINED)
"""The policy of a run as it learns."""
logger = logging.getLogger(__name__)


def train(
    config: TrainConfig, display: Display | None = None, *, quiet: bool = False
) -> dict[str, Any]:
    """Carry out or resume a run; in a distributed run every process calls it.

    Args:
        config: The settings, which `trainers.config.schema.from_mapping` has checked.
        display: Shows the progress; None prints to standard error.
        quiet: Whether only results and warnings are shown.

    Returns:
        The content of ``summary.json``.

    Raises:
        AgentGymError: A setting is wrong, a package is missing, or the environment cannot be used;
            the run can be continued with ``--resume``.
    """
    processes.start(config.rollout.rank_timeout)
    run = checked_run(config)
    memory = plan_memory(run)
    if not RunFolder(run.config.out).summary_path.exists():  # else perhaps nothing to train
        check_memory(memory)
    folder = RunFolder.open(run.config.out, config, run.resolved())
    display = display or Display(quiet=not processes.is_main(), progress=not quiet)
    if processes.broadcast(folder.complete):
        with display as live_display:
            live_display.note(
                f"this run is complete: {folder.summary_path}; more --steps or --minutes extend it"
            )
            return _published(decided_run(run, folder), folder, live_display)
    folder.lock()
    try:
        processes.on_main(lambda: check_extension(run, folder))
        folder.extend()
        check_memory(memory)  # The model of an extended complete run was not checked above.
        loop = loop_of(run)
        with (
            display as live_display,
            _warnings_to(folder.warnings_path),
            loop.output_to(folder.path) if loop else nullcontext(),
            backend_session(run.config.backend),
            tracing() if run.config.otel and processes.is_main() else nullcontext(),
            processes.losses_explained(),
            computing_threads(threads := run_threads(run)),
        ):
            if run.config.model != TINY:
                live_display.note(memory_line(run, memory))
            for note in memory_notes(run, memory):
                live_display.note(note)
            return _Run(run, folder, live_display, memory, threads).execute()
    finally:
        folder.close()


def _published(run: ResolvedRun, folder: RunFolder, display: Display) -> dict[str, Any]:
    """Return the summary of a complete run, after an outstanding export or upload."""
    folder.lock()
    try:
        summary: dict[str, Any] = json.loads(folder.summary_path.read_text())
        with _warnings_to(folder.warnings_path):
            publish(run, folder, Summary.from_dict(summary), display)
        return summary
    finally:
        folder.close()


class _Run:
    """The phases of one run."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        memory: MemoryPlan,
        threads: int,
    ) -> None:
        self._run, self._folder, self._display = run, folder, display
        self._memory, self._threads = memory, threads
        self._names = arm_names(run)

    def execute(self) -> dict[str, Any]:
        """Run all phases that are not done yet and write the summary."""
        from trainers.models.torch_setup import seed_everything

        _quiet_libraries()
        seed_everything(self._run.config.seed)
        if self._run.config.push_to_hub and not has_token():
            self._display.note(NO_TOKEN)
        self._display.note(
            f"training on {self._run.title} with {self._threads} thread{'s' * (self._threads > 1)}"
        )
        with closing(BaseModel(self._run, self._folder, self._display)) as base:
            comparison = self._compare_untrained(base)
        self._learn(comparison)
        return processes.on_main(lambda: self._conclude(comparison))

    def _compare_untrained(self, base: BaseModel) -> PolicyComparison:
        """Decide on the warm start, and evaluate the policies that do not learn."""
        self._run = base.decide()
        self._names = arm_names(self._run)
        comparison = PolicyComparison(self._run, self._folder)
        if planned := comparison.reference_episodes:
            comparison.add_references(self._display.episodes("references", planned))
        for reason in comparison.scale_remarks():
            self._display.note(reason)
        if base.is_compared and BASE_MODEL not in comparison:
            self._evaluate(BASE_MODEL, comparison, base, greedy_too=False)
        return comparison

    def _conclude(self, comparison: PolicyComparison) -> dict[str, Any]:
        """Write the curve, the card, the report and the summary, and show the result."""
        summary = self._summarise(comparison)
        write_curve(self._folder, self._run.title, self._names, self._chosen_policy.step)
        write_card(self._folder, self._run, summary)
        report = write_report(self._folder, self._run, summary)
        content = summary.to_dict()
        text = json.dumps(content, indent=2) + "\n"
        write_atomically(self._folder.summary_path, text.encode())
        self._show(summary, report)
        publish(self._run, self._folder, summary, self._display)
        return content

    def _learn(self, comparison: PolicyComparison) -> None:
        """Imitate the expert, then learn from reward; compare the policy after each."""
        # Imported late: they load torch and TRL, and a wrong flag should be reported before that.
        from trainers.phases.baselines import train_baselines
        from trainers.phases.reinforcement import Reinforcement
        from trainers.phases.warm_start import warm_start

        policy = warm_start(self._run, self._folder, self._display)
        self._folder.note()
        learning = Reinforcement(self._run, self._folder, self._display, policy)
        try:
            self._evaluate(WARM_START, comparison, learning)
            if remark := base_model_remark(self._run, comparison.success(WARM_START)):
                self._display.note(remark)
            learning.train()
            note_end(self._folder)
            self._chosen_policy = learning.choose()
            self._evaluate(TRAINED, comparison, learning)
        finally:
            learning.close()
        with closing(train_baselines(self._run, self._folder, self._display)) as baselines:
            for name, baseline in baselines:
                self._evaluate(name, comparison, baseline)

    def _evaluate(
        self,
        arm: str,
        comparison: PolicyComparison,
        learning: Baseline,
        *,
        greedy_too: bool = True,
    ) -> None:
        """Play the panel with the current policy, sampled and greedy, unless that was done."""
        from trainers.output.episode_log import EpisodeLog

        only_greedy = self._run.config.eval.greedy
        for name, greedy in ((arm, only_greedy), (f"{arm}{GREEDY}", True)):
            # A resumed run may have evaluated it before it stopped.
            if name in comparison or (name != arm and (only_greedy or not greedy_too)):
                continue
            n_episodes = len(processes.share(len(comparison.tasks)))
            called = f"test {self._names[arm]}{GREEDY if greedy else ''}"
            on_episode = self._display.episodes(called, n_episodes, result=True)
            trajectories = learning.play(comparison.tasks, greedy, on_episode)
            log = EpisodeLog(self._run, learning.chat, panels=comparison.panels)
            for env, part in by_family(trajectories).items():
                path = self._folder.eval_episodes(name, env if self._run.several else "")
                log.replace(path, part, arm=name)
            report = comparison.add(name, trajectories)
            self._display.update(n_episodes, score=report.score_mean, success=report.success)

    def _summarise(self, comparison: PolicyComparison) -> Summary:
        """Assemble ``summary.json``."""
        from trainers.phases.baselines import baseline_ends

        run, warm_starts = self._run, self._warm_starts()
        results, families = comparison.results(warm_starts), comparison.families(warm_starts)
        records = self._folder.metrics()
        events, of_methods = health_events(records), result_of_methods(run, records)
        if untrained := nothing_trained(records):
            verdict = untrained_verdict(self._steps())
            results = replace(results, verdict=verdict)
            families = {name: replace(part, verdict=verdict) for name, part in families.items()}
        cut = self._folder.state().get(CUT, {})
        sentence = cut_sentence(cut, run.config.sft.max_steps, run.config.steps)
        results = replace(results, verdict=f"{results.verdict} {sentence}".rstrip())
        parts: Mapping[str, Results] = families or {"": results}
        places = [env.name for env in run.envs]
        baselines, left_out = baseline_ends(run, self._folder)
        # In the order in which the report shows them.
        remarks = (
            pooled_remark(comparison.sizes()),
            *(
                target_remark(
                    end,
                    run.env(name),
                    run.several,
                    imitation_losses(records),
                    run.config.sft.learning_rate,
                )
                for name, end in warm_starts.items()
            ),
            base_model_remark(run, results.eval[WARM_START].success),
            repeats_remark({arm: comparison.repeated_share(arm) for arm in LEARNERS}, self._names),
            steps_remark(
                self._steps(),
                run.config.steps,
                stopped=any(event.action == "stop" for event in events),
                cut="rl" in cut,
            ),
            *(
                horizon_remark(last_horizon(records, env.name), env, run.several)
                for env in run.envs
            ),
            health_remark(events),
            *of_methods.remarks,
            filter_remark(run),
            chosen_remark(self._chosen_policy, self._steps(), gated=bool(warm_starts)),
            greedy_remark(results.greedy, results.names),
            *baseline_remarks(baselines, left_out, results.names, run.config.eval.baseline_steps),
            *(random_remark(part.eval, name) for name, part in parts.items()),
            *(
                teacher_remark(
                    part.paired.trained_minus_demonstrator,
                    run.env(place).demonstrator if run.imitates else "",
                    name,
                )
                for place, (name, part) in zip(places, parts.items(), strict=True)
            ),
            *comparison.scale_remarks(),
        )
        return Summary(
            **{item.name: getattr(results, item.name) for item in fields(results)},
            families=families,
            preset=run.preset.name,
            steps=self._steps(),
            seed=run.config.seed,
            wall_s=round(self._folder.seconds(), 1),
            cpu_s=round(self._folder.cpu_seconds(), 1),
            estimated_gib=round(self._memory.peak / GIB, 2),
            peak_gib=round(self._folder.peak_bytes() / GIB, 2) or None,
            threads=self._threads,
            remarks=tuple(remark for remark in remarks if remark),
            packages=versions(),
            commit=commit(),
            chosen=self._chosen_policy,
            baselines=baselines,
            cut=cut,
            health=events,
            untrained=untrained,
            step_seconds=step_seconds(records),
            figures=of_methods.figures,
        )

    def _warm_starts(self) -> dict[str, WarmStart]:
        """Return the result of the warm start in each environment that was imitated."""
        ends = self._folder.state().get("sft")
        if not ends:
            return {}
        parts = ends if self._run.several else {self._run.envs[0].name: ends}
        return {name: WarmStart(**part) for name, part in parts.items()}

    def _steps(self) -> int:
        """Return the reinforcement learning steps that were taken."""
        records = [r for r in self._folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
        return max((record["step"] for record in records), default=0)

    def _show(self, summary: Summary, report: Path) -> None:
        """Show the result as a table, and in words."""
        for name, results in summary.families.items():
            self._display.note(result_table(results))
            self._display.note(f"{name}: {results.verdict}")
        self._display.note(result_table(summary))
        for sentence in (summary.verdict, *summary.remarks):
            self._display.note(sentence)
        if self._folder.warnings_path.exists():
            self._display.note(f"there were warnings, see {self._folder.warnings_path}")
        loop = loop_of(self._run)
        if loop and (note := loop.output_note(self._folder.path)):
            self._display.note(note)
        ends = (f"{summary.wall_s:.0f} s", summary.memory_sentence, f"open {report}")
        self._display.note("; ".join(end for end in ends if end))


class _WarningFile(logging.FileHandler):
    """Store warnings with their tracebacks; a full disk is reported elsewhere."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing."""


@contextmanager
def _warnings_to(path: Path) -> Iterator[None]:
    """Write warnings of the packages, such as failed episodes, to a file instead of the screen.

    Every process has a separate file, because it only sees its own warnings.
    """
    if not processes.is_main():
        path = path.with_stem(f"{path.stem}-{processes.rank()}")
    handler = _WarningFile(path, delay=True, encoding="utf-8")
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("agentgym", "trainers")]
    for listened in loggers:
        listened.addHandler(handler)
    try:
        yield
    finally:
        for listened in loggers:
            listened.removeHandler(handler)
        handler.close()


def _quiet_libraries() -> None:
    """Keep the progress readable: libraries report errors only."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    import datasets
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
