"""``run:PATH``: the policy of a run of ``agentgym train``, played with the run's settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium

from agentgym.conversation import Layout, Prompt
from agentgym.errors import ConfigurationError
from agentgym.evaluation.policy_maker import PolicyMaker
from agentgym.support.redaction import HIDDEN
from trainers.config.file_trust import check_settings
from trainers.output.run_checkpoints import (
    CONFIG,
    WEIGHTS,
    checkpoint_names,
    chosen_checkpoint,
    has_weights,
    run_of,
    step_of,
)
from trainers.policies.players import PlaySettings, check_counts, check_packages, load_player, maker
from trainers.policies.run_envs import HARMLESS, RunEnv, check_env

__all__ = ["RunSettings", "Runs", "checkpoint_of", "environments_of"]

logger = logging.getLogger(__name__)


class Runs:
    """Run folders of ``agentgym train``, and checkpoints in them."""

    summary = "the folder of a run of agentgym train, or of a checkpoint in one"
    rank = 1  # A checkpoint is also a model's folder, but its run decides how it plays.

    def problem(self, path: str) -> str:
        """Return why a path is neither a run nor a checkpoint of one; empty if it is."""
        folder = Path(path)
        if not folder.is_dir():
            return "there is no such folder"
        run = run_of(folder)
        if run is None:
            return f"there is no {CONFIG} in the folder, nor in one above it"
        if not checkpoint_names(run):
            return f"the run has no checkpoint with weights in {run / 'checkpoints'} yet"
        if run != folder.resolve() and not has_weights(folder):
            return f"the folder has no weights ({', '.join(WEIGHTS)})"
        return ""

    def content(self, path: str, *, checkpoint: str | None = None, **options: object) -> str:
        """Return a hash of the weights of the policy that would play.

        Raises:
            ConfigurationError: The run has no such checkpoint.
            DependencyNotInstalled: Packages of the extra ``train`` are absent.
        """
        check_packages()
        from trainers.policies.weights import weights_sha256

        run = run_of(Path(path))
        assert run is not None  # `problem` has looked
        return weights_sha256(chosen_checkpoint(run, Path(path), checkpoint))

    def env_kwargs(self, path: str, env_id: str) -> dict[str, Any]:
        """Return the arguments of the run's environment with an id, if it has one.

        Arguments that do not affect the policy, and values that are not stored, are left out.

        Raises:
            ConfigurationError: The folder does not hold a run's settings.
            DependencyNotInstalled: Packages of the extra ``train`` are absent.
        """
        check_packages()
        run = run_of(Path(path))
        assert run is not None  # `problem` has looked
        matches = [env for env in RunSettings.of(run / CONFIG).envs if env.env_id == env_id]
        if len(matches) != 1:
            return {}
        return {k: v for k, v in matches[0].kwargs.items() if k not in HARMLESS and v != HIDDEN}

    def load(
        self,
        path: str,
        env: gymnasium.Env[str, str],
        *,
        seed: int,
        checkpoint: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        mismatch: str = "error",
        threads: int | None = None,
        agent: str | None = None,
    ) -> PolicyMaker:
        """Load the policy of a run.

        Args:
            path: Folder of the run, or of a checkpoint in it.
            env: The environment to play, made with the run's arguments.
            seed: Seed of sampling.
            checkpoint: Which policy: a folder under ``checkpoints`` such as ``trained`` (the last),
                ``best``, ``warm-start`` or ``rl/checkpoint-40``. Default: the one that the run
                compared, as its summary says.
            temperature: Temperature of sampling; 0 takes the most likely tokens. Default: as in the
                run's evaluation.
            top_p: Share of the probability that is drawn from; default: the run's.
            mismatch: How to treat an environment with other arguments: ``error`` or ``warn``.
            threads: Threads of torch on a CPU while it generates; default: as for a training.
            agent: ``MODULE:FUNCTION`` of the agent that plays with the policy as its model;
                default: the one that the run trained, if it was one.

        Raises:
            ConfigurationError: The run has no such checkpoint, or was made in another environment.
            DependencyNotInstalled: Packages of the extra ``train`` are absent.
        """
        check_packages()
        if mismatch not in ("error", "warn"):
            raise ConfigurationError(f"expected mismatch to be error or warn, got {mismatch!r:.80}")
        check_counts(threads=threads)
        run = run_of(Path(path))
        assert run is not None  # `problem` has looked
        settings = RunSettings.of(run / CONFIG)
        if not agent:
            agents = {name: settings.get(name) for name in ("agent", "agent_command")}
            check_settings(agents, {}, settings.path)
        place = chosen_checkpoint(run, Path(path), checkpoint)
        run_env, remarks = check_env(path, settings.envs, env, strict=mismatch == "error")
        for remark in remarks:
            logger.warning("%s", remark)
        facts = {
            "kind": "run",
            "path": path,
            "seed": seed,
            "checkpoint": place.relative_to(run / "checkpoints").as_posix(),
            **step_of(run, place),
            "model": settings.get("model"),
            "remarks": remarks,
        }
        player = load_player(
            place,
            replace(settings.play(env, run_env), threads=threads),
            temperature=temperature,
            top_p=top_p,
            facts=facts,
            horizon=run_env.horizon,
        )
        command = None if agent else settings.get("agent_command")
        played_by, calls = agent or settings.get("agent"), settings.get("gateway", "calls")
        return maker(f"run:{path}", player, env, seed, played_by, command, calls)


# -- settings --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run: as given, and the resolved values of those left open."""

    path: Path
    """Their file."""
    config: Mapping[str, Any]
    """The settings as given, with defaults."""
    decided: Mapping[str, Any]
    """Resolved values of settings left open."""

    @classmethod
    def of(cls, path: Path) -> RunSettings:
        """Read them.

        Raises:
            ConfigurationError: The file does not hold a run's settings.
        """
        from trainers.config.config_file import RESOLVED, read_config, read_settings
        from trainers.config.schema import to_dict

        decided = read_settings(path).get(RESOLVED)
        if not isinstance(decided, Mapping):
            raise ConfigurationError(
                f"expected {path} to say under {RESOLVED!r} what the run decided, as runs of this "
                "version do: play the checkpoint as a model, hf:PATH"
            )
        return cls(path, to_dict(read_config(path)), decided)

    def get(self, *names: str) -> Any:
        """Return a setting such as ``rl.turn_tokens``, by the parts of its name."""
        for place in (self.decided, self.config):
            value: Any = place
            for name in names:
                value = value.get(name) if isinstance(value, Mapping) else None
            if value is not None:
                return value
        return None

    @property
    def envs(self) -> list[RunEnv]:
        """The environments of the run."""
        several = self.decided.get("envs")
        if several:
            return [
                RunEnv(
                    name, env["env_id"], env["kwargs"], env["full_horizon"], env["prompt"],
                    env["layout"],
                )
                for name, env in several.items()
            ]  # fmt: skip
        horizon, its = self.get("eval", "horizon"), self.decided
        return [RunEnv("", its["env_id"], its["env"], horizon, its["prompt"], its["layout"])]

    def play(self, env: gymnasium.Env[str, str], trained: RunEnv) -> PlaySettings:
        """Return the play settings of the run's policies, with the prompt of their training.

        Args:
            env: The environment to play.
            trained: The run's environment.
        """
        from agentgym.registration.making import parse_pairs
        from trainers.rollouts.engines.base import Sampling

        unwrapped: Any = env.unwrapped
        layout = Layout.from_dict(trained.layout)
        return PlaySettings(
            Prompt.at(unwrapped, layout, trained.prompt),
            turn_tokens=self.get("rl", "turn_tokens"),
            episode_tokens=self.get("rl", "episode_tokens"),
            history=self.get("rollout", "history"),
            template_args=parse_pairs(self.get("template_args") or (), "--template-args"),
            precision=self.get("memory", "precision"),
            quantize=self.get("memory", "quantize") or "none",
            sampling=Sampling(
                temperature=self.get("temperature"),
                top_p=self.get("top_p"),
                greedy=bool(self.get("eval", "greedy")),
            ),
        )


def environments_of(path: Path) -> RunSettings:
    """Return the settings and environments of the run that a folder is or lies in.

    Raises:
        ConfigurationError: It is no run's.
    """
    if problem := Runs().problem(str(path)):
        raise ConfigurationError(f"expected {Runs.summary}, got {str(path)!r:.200}: {problem}")
    run = run_of(path)
    assert run is not None  # `problem` has looked
    return RunSettings.of(run / CONFIG)


def checkpoint_of(path: Path) -> Path:
    """Return the checkpoint that stands for a run, or for a checkpoint in one.

    Raises:
        ConfigurationError: It is no run's.
    """
    return chosen_checkpoint(environments_of(path).path.parent, path)
