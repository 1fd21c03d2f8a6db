"""All checks before a run writes anything; ``--dry-run`` performs the same checks.

Contradicting settings are errors where they are resolved (``trainers.config``). This module checks
everything outside the settings: packages, processes, the model and its chat template, the opening
of an episode, the run's folder.
"""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import replace
from pkgutil import resolve_name

from agentgym.errors import ConfigurationError, DependencyNotInstalled, NotSupported, require
from agentgym.rewards.judge.terms import AskingHook
from agentgym.vector.history import forkable
from trainers import processes
from trainers.config.resolve import ResolvedRun, default_out, resolve
from trainers.config.schema import TINY, TrainConfig
from trainers.methods.episode_loop import loop_of
from trainers.methods.table import methods
from trainers.models.loaded_policy import check_lora, check_model, make_prompts, reader_of
from trainers.models.memory_choice import with_chosen_memory
from trainers.output.hub import check_hub
from trainers.output.run_folder import RunFolder
from trainers.phases.adapter_merge import check_export
from trainers.phases.demonstrators import demonstration_tasks, first_messages, require_room
from trainers.phases.recorded_episodes import recorded_demonstrations
from trainers.rollouts.engines import check_installed

__all__ = ["PACKAGES", "checked_run"]

PACKAGES = (
    "torch", "transformers", "trl", "peft", "accelerate", "datasets", "filelock", "jinja2",
    "matplotlib", "yaml",
)  # fmt: skip

logger = logging.getLogger(__name__)


def checked_run(config: TrainConfig, *, folder: bool = True) -> ResolvedRun:
    """Resolve a configuration, and check that the run can start.

    The settings and the folder come first, before torch and transformers are imported.

    Args:
        config: The settings, which `trainers.config.schema.from_mapping` has checked.
        folder: Whether the run's folder is checked as well.

    Raises:
        AgentGymError: A setting is wrong, a package is missing, or the model, the environment or
            the folder cannot be used.
    """
    if folder:
        out = config.out or default_out(config)
        processes.on_main(lambda: RunFolder(out).check_place(config.resume))
    run = resolve(config)
    _check_processes(run)
    if folder:
        processes.on_main(lambda: RunFolder(run.config.out).check(config, run.resolved()))
    _check_packages(run)
    # If the test of the base model decides on imitation, it also checks the demonstrations.
    imitates = run.imitates and not run.warm_start_if_needed
    in_process = run.config.engine in ("hf", "hf-copy")
    check_model(run.config, run.template_args, imitates, in_process)
    for method in methods():
        if method.check_start and method.is_used(run):
            resolve_name(method.check_start)(run)
    check_export(run)
    check_hub(run)
    run = replace(run, opening_tokens=processes.on_main(lambda: _check_openings(run)))
    if any(method.snapshots and method.is_used(run) for method in methods()):
        processes.on_main(lambda: _check_forks(run))
    run = with_chosen_memory(run)
    check_lora(run)
    return run


def _check_packages(run: ResolvedRun) -> None:
    """Check that the required packages are installed."""
    for module in PACKAGES:
        require(module, "train")
    check_installed(run.config.engine, pool=run.preset.pool is not None)
    loop_of(run)
    if run.config.backend == "ray":
        require("ray", "ray")
    for hook in (hook for env in run.envs for hook in env.judges):
        if isinstance(hook, AskingHook):
            hook.check()
    for reporter in run.config.report_to:
        if importlib.util.find_spec(reporter) is None:
            raise DependencyNotInstalled(
                f"expected the package {reporter!r} to be installed for --report-to {reporter}, "
                f"but it is not; run: pip install {reporter}"
            )


def _check_processes(run: ResolvedRun) -> None:
    """Check that the settings allow several processes."""
    settings, count = run.config.rl, processes.world()
    if settings.episodes % (settings.minibatches * count):
        raise ConfigurationError(
            f"expected a number of processes that divides the {settings.episodes} episodes of a "
            f"step (--rl.groups x --rl.num-generations, in {settings.minibatches} "
            f"--rl.minibatches), got {count}"
        )
    config = run.config
    if not processes.sharded() or config.model == TINY:
        return
    if run.imitating_baselines:
        raise ConfigurationError(
            "expected neither bc nor filtered-bc among --eval.baselines where weights are sharded "
            "over processes, because those of the best policy cannot be loaded again; got "
            f"{' '.join(config.eval.baselines)}"
        )
    if config.lora.r and config.eval.keep == "best":
        raise ConfigurationError(
            "expected --eval.keep last with adapters whose weights are sharded over processes, "
            "because those of the best policy cannot be loaded again; got best"
        )


def _check_openings(run: ResolvedRun) -> int:
    """Check that episodes can be imitated and that the model can read the first opening.

    Returns:
        Tokens of the longest opening; 0 if one cannot be measured, or if an episode may become
        several rows, whose openings are longer.
    """
    prompts, sizes, is_measured = make_prompts(run), [0], not run.config.foreign_loop
    for resolved in run.envs:
        if run.imitates and run.config.sft.episodes:
            recorded_demonstrations(run, resolved)
        first = demonstration_tasks(run, resolved)[0][0]
        env = resolved.make_env()
        try:
            observation, info = env.reset(options=first)
        except Exception:
            logger.info("no opening of %s to measure", resolved.name, exc_info=True)
            is_measured = False
            continue  # The phases that play report the failure.
        finally:
            env.close()
        opening = first_messages(prompts[resolved.name], observation, info)
        chat, budget = reader_of(run, [message["content"] for message in opening])
        sizes.append(require_room(chat, budget, opening, info["task_id"]))
        is_measured &= not chat.follows
    return max(sizes) if is_measured else 0


def _check_forks(run: ResolvedRun) -> None:
    """Check that the episodes of every environment can be forked."""
    for resolved in run.envs:
        env = resolved.make_env()
        try:
            env.reset(options=demonstration_tasks(run, resolved)[0][0])
            # Some engines and sandboxes fail to fork only after a first action.
            env.step(env.get_wrapper_attr("oracle_action")() or "")
            if not forkable(env):
                raise NotSupported("a wrapper around it may have state outside of the snapshot")
            env.get_wrapper_attr("restore")(env.get_wrapper_attr("snapshot")())
        except NotSupported as error:
            raise ConfigurationError(
                "expected environments whose episodes can be forked for --preset "
                f"{run.preset.name}, got {resolved.name}: {error}; choose another --env or preset"
            ) from error
        except ConfigurationError:
            raise
        except Exception:
            logger.info("no episode of %s to fork", resolved.name, exc_info=True)
        finally:
            env.close()
