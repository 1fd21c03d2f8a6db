"""How a policy is evaluated on an environment: settings of a suite, and flags of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentgym.core.options import integer
from agentgym.evaluation.placement import Where
from agentgym.evaluation.prices import Limits, Prices


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of an evaluation, each under one name at the terminal, in files and in Python."""

    policy_kwargs: tuple[str, ...] = ()
    """Options of a policy that is loaded by name, each as name=value, such as temperature=0; may be
    repeated. Reports show them, so let the policy read keys from the environment instead. Only
    values with names like api_key are hidden."""
    agent: str | None = None
    """An agent that plays with the policy as its model: MODULE:FUNCTION of one session, which asks
    at session.base_url, as in agentgym-train --agent. The policy is chat, the folder of a run or
    hf:PATH. A run that trained an agent is played with that one if left out."""
    protocol: str | None = None
    """Evaluate as a paper does: verl-agent, agentgym, official, or a file of your own (agentgym
    protocols shows them). It sets tasks, turns, prompts and the figures that are printed. Other
    flags override it, and the report lists what they changed."""
    prompt: str | None = None
    """What a model reads: default, bare (observations alone), the prompt of a protocol such as
    verl-agent or agentgym, or of a file of your own in their form. The environment is made with its
    grammar. If left out: the protocol's, or the one that a run was trained under, or default."""
    split: str | None = None
    """Split to evaluate on, or all for the tasks of every split; test, or the protocol's, if left
    out. Where there is no test it is the last split there is."""
    num_tasks: int | None = None
    """Number of tasks, cut to the split's size; 100, or all of the protocol's, if left out."""
    seed: int = 0
    """Seed of the panel."""
    task: tuple[str, ...] = ()
    """Id of a task to play instead of a panel; may be repeated. With a protocol also an item of
    it, such as webshop_12, or a JSON file of items."""
    samples: int = 1
    """Episodes of each task: above 1 the report has pass@k and pass^k."""
    horizon: int | None = None
    """Turn budget; the environment's own if left out."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written; the environment's own default, mostly native, if left out."""
    retry_failed: bool = False
    """Play the broken episodes of a finished evaluation again."""
    failed: Literal["leave-out", "count"] = "leave-out"
    """What to do with broken episodes, in which the environment, the connection or the endpoint
    failed: leave them out of the means, and add success over all episodes as a lower bound; or
    count them as unsolved. Exit code 3 if more than 5 % are broken and left out."""
    scale: bool | None = None
    """Also play the random policy and the expert, for the score from 0 to 100; by default for
    models only. --no-scale is short for --scale False."""
    model: str = ""
    """Chat: name of the model."""
    base_url: str | None = None
    """Chat: URL of the endpoint up to /v1. If left out, OPENAI_BASE_URL, or else OpenAI itself
    (api.openai.com) with the key in OPENAI_API_KEY."""
    api_key_env: str = "OPENAI_API_KEY"
    """Chat: environment variable that holds the key; the key itself is never an argument."""
    window: int | None = None
    """Chat: turns of history to send besides the first observation; all, or as many as the prompt
    shows, if left out."""
    max_tokens: int = 4096
    """Chat: longest answer in tokens, thinking included."""
    max_tokens_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """Chat: name under which it is sent; auto sends the first until the endpoint refuses it."""
    temperature: float | None = None
    """Chat: sampling temperature."""
    top_p: float | None = None
    """Chat: nucleus sampling, the share of the probability to sample from."""
    sampling_seed: int | None = None
    """Chat: seed of the sampling, for endpoints that have one."""
    stream: bool = False
    """Chat: stream answers, which some endpoints demand."""
    invalid_reasons: bool = False
    """Chat: tell the model why its last action was invalid, where the observation does not."""
    send_reasoning: bool = False
    """Chat: send back the thinking that came apart from an answer, as some models need between tool
    calls."""
    extra: tuple[str, ...] = ()
    """Chat: further fields of the request, each as name=value (JSON values), such as top_k=20; may
    be repeated."""
    instructions: str = ""
    """Chat: text that begins the system message."""
    timeout: float = 120.0
    """Chat: seconds to wait for an answer."""
    retries: int = 4
    """Chat: retries of failed requests, with growing waits."""
    requests_per_minute: float | None = None
    """Chat: most requests a minute, of all episodes together."""
    price: tuple[float, float] | tuple[float, float, float] | None = None
    """Prices in US dollars per million tokens read, tokens written and, if other, tokens read from
    a cache."""
    limit_tokens: int | None = None
    """Most tokens of an episode, read and written; at the limit it ends as it stands."""
    limit_cost: float | None = None
    """Most US dollars of an episode; at the limit it ends as it stands."""
    limit_total_tokens: int | None = None
    """Most tokens of all episodes together; at the limit no further one begins (exit code 3).
    Repeat the command with a higher limit to resume."""
    limit_total_cost: float | None = None
    """Most US dollars of all episodes together, likewise."""
    concurrency: int | None = None
    """Episodes played at the same time. If left out: 8 for models and for threads, one per
    CPU for processes and actors, else 1. The results are the same."""
    backend: Literal["sync", "thread", "process", "ray"] = "sync"
    """Where environments run: in the threads of their episodes (sync), or each in its own thread,
    process (for those that are heavy or may crash) or Ray actor."""
    step_timeout: float | None = None
    """Seconds that one step of an environment may take; after that its episode is broken. Not with
    sync."""
    env_kwargs: tuple[str, ...] = ()
    """Further arguments of the environment, each as name=value (JSON values); may be repeated."""
    reward_hooks: tuple[str, ...] = ()
    """Turn-level rewards besides the environment's own, as in agentgym train. A judge of every turn
    is judge:model=NAME,url=http://HOST:PORT/v1,rubric=FILE. Score and success stay the
    environment's own."""

    @property
    def prices(self) -> Prices | None:
        """What tokens cost, if it is known."""
        return Prices(*self.price) if self.price else None

    @property
    def limits(self) -> Limits:
        """What an episode may take."""
        return Limits(self.limit_tokens, self.limit_cost)

    @property
    def total_limits(self) -> Limits:
        """What all episodes may take together."""
        return Limits(self.limit_total_tokens, self.limit_total_cost)

    def check(self) -> None:
        """Check what `evaluate` would only when it is the evaluation's turn.

        Raises:
            ConfigurationError: A number is out of its domain.
        """
        integer(self.samples, "the number of samples", low=1)
        _ = self.limits, self.total_limits, self.prices
        Where(self.backend, self.concurrency, self.step_timeout)
