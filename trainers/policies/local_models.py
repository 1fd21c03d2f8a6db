"""``hf:PATH``: a causal language model with a chat template, as ``--model`` names it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium

from agentgym.conversation import BARE, Prompt
from agentgym.errors import ConfigurationError
from agentgym.evaluation.policy_maker import PolicyMaker
from trainers.config.model_files.source import model_folder, problem_of
from trainers.policies.players import PlaySettings, check_counts, check_packages, load_player, maker

__all__ = ["LocalModels"]


class LocalModels:
    """Models that transformers loads: folders, whole or adapters, GGUF files and hub ids."""

    summary = "a folder, GGUF file or hub id of a causal language model with a chat template"
    rank = 0

    def problem(self, path: str) -> str:
        """Return why a path is no model; empty if it is one."""
        return problem_of(path)

    def content(self, path: str, **options: object) -> str:
        """Return a hash of the weights.

        Raises:
            DependencyNotInstalled: Packages of the extra ``train`` are absent.
        """
        check_packages()
        from trainers.policies.weights import weights_sha256

        return weights_sha256(model_folder(path))

    def env_kwargs(self, path: str, env_id: str) -> dict[str, Any]:
        """Return the grammar of the model's own tool calls, where its chat template has them.

        Raises:
            DependencyNotInstalled: Packages of the extra ``train`` are absent.
        """
        check_packages()
        from trainers.config.model_grammar import grammar_of_model

        grammar = grammar_of_model(path).name
        return {"grammar": grammar} if grammar else {}

    def load(
        self,
        path: str,
        env: gymnasium.Env[str, str],
        *,
        seed: int,
        temperature: float | None = None,
        top_p: float | None = None,
        turn_tokens: int | None = None,
        episode_tokens: int | None = None,
        window: int | None = None,
        history: str = "auto",
        chat_template: str | None = None,
        end_of_turn: str | None = None,
        template_args: dict[str, Any] | None = None,
        system: str | None = None,
        threads: int | None = None,
        precision: str | None = None,
        agent: str | None = None,
    ) -> PolicyMaker:
        """Load a model.

        Args:
            path: Its folder, GGUF file, hub id or name.
            env: The environment that is played.
            seed: Seed of what is drawn.
            temperature: Temperature of sampling; 0 takes the most likely tokens. Default: as the
                model's generation config says.
            top_p: Share of the probability that is drawn from.
            turn_tokens: Maximum tokens of a turn; default 256, of a model that thinks 1,024.
            episode_tokens: Maximum tokens of an episode after its opening; default: its context.
            window: Turns that it reads besides the opening; default: all.
            history: What becomes of earlier turns that the chat template rewrites: ``auto`` or
                ``keep``.
            chat_template: Chat template instead of the model's own: a Jinja file, ``chatml``, or a
                name of TRL's templates. The grammar is chosen by the model's own.
            end_of_turn: Token that closes an answer; default: as the chat template says.
            template_args: Arguments of the chat template, such as ``{"enable_thinking": False}``.
            system: System message; default: what training tells a pretrained model, which holds how
                actions are written. An empty one is left out.
            threads: Threads of torch on a CPU while it generates; default: 1 below 10 million
                weights, else all physical cores. Another number may change the last bits.
            precision: Precision of matrix products, ``fp32`` or ``bf16``; default: as the weights
                are stored. In fp32 an episode is the same whichever others play beside it; in
                lower precision rounding may change its text.
            agent: ``MODULE:FUNCTION`` of an agent that plays with the model.

        Raises:
            ConfigurationError: It cannot be loaded, has no chat template, or a value is wrong.
            DependencyNotInstalled: Packages of the extra ``train`` are absent.
        """
        check_packages()

        check_counts(
            turn_tokens=turn_tokens, episode_tokens=episode_tokens, window=window, threads=threads
        )
        if precision not in (None, "fp32", "bf16"):
            raise ConfigurationError(f"expected precision fp32 or bf16, got {precision!r:.80}")
        if history not in ("auto", "keep"):
            raise ConfigurationError(f"expected history auto or keep, got {history!r:.80}")
        unwrapped: Any = env.unwrapped
        prompt = Prompt.at(unwrapped)
        if system is not None:
            prompt = replace(prompt, layout=BARE, instructions=system, name="system")
        settings = PlaySettings(
            prompt.windowed(window),
            window=window,
            turn_tokens=turn_tokens,
            episode_tokens=episode_tokens,
            history=history,
            chat_template=chat_template,
            end_of_turn=end_of_turn,
            template_args=template_args or {},
            precision=precision,
            threads=threads,
        )
        player = load_player(
            model_folder(path),
            settings,
            temperature=temperature,
            top_p=top_p,
            facts={
                "kind": "hf",
                "path": path,
                "seed": seed,
                "history": history,
                "chat_template": chat_template,
                "end_of_turn": end_of_turn,
                "template_args": template_args or {},
                "system": system,
            },
        )
        return maker(f"hf:{path}", player, env, seed, agent)
