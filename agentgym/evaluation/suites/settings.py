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
    """Options of a policy as name=value, such as checkpoint=best. The flag may be repeated. Reports
    show them: let a policy read keys from the environment instead. Only values with names like
    api_key are hidden."""
    agent: str | None = None
    """Agent that plays with the policy as its model: MODULE:FUNCTION of a session, which asks at
    session.base_url, as in agentgym train --agent. The policy is chat, the folder of a training or
    hf:PATH. None: the agent that the training had, if any."""
    protocol: str | None = None
    """Evaluate as a paper does: PROTOCOLS, or a file of your own. It sets tasks, turns, prompts and
    the figures that are printed. Other flags override it, and the report lists what they changed.
    agentgym protocols describes them."""
    prompt: str | None = None
    """What a model reads: default, bare (observations alone), the prompt of a protocol (PROTOCOLS),
    or a file in their form. The environment is made with its grammar. None: that of the protocol or
    of the training, else default."""
    split: str | None = None
    """Split of the tasks, or all for the tasks of every split. None: test, the protocol's, or the
    last one where there is no test."""
    num_tasks: int | None = None
    """Number of tasks, at most the split's. None: 100, or all of the protocol's."""
    seed: int = 0
    """Seed of the panel and of the episodes."""
    task: tuple[str, ...] = ()
    """Id of a task to play instead of a panel. The flag may be repeated. With a protocol also an
    item of it, such as webshop_12, or a JSON file of items."""
    samples: int = 1
    """Episodes of each task; above 1 the report has pass@k and pass^k."""
    horizon: int | None = None
    """Turn budget of an episode. None: the environment's own."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written. None: as the environment does by default, mostly native."""
    retry_failed: bool = False
    """Play the broken episodes of a finished evaluation again."""
    failed: Literal["leave-out", "count"] = "leave-out"
    """Whether broken episodes, in which the environment, the connection or the endpoint failed, are
    left out of the means or count as unsolved. If they are left out, the report adds success over
    all episodes as a lower bound, and more than 5 % of them end the command with exit code 3."""
    scale: bool | None = None
    """Also play the random policy and the expert, for the score from 0 to 100. None: for models
    only."""
    model: str = ""
    """Chat: name of the model."""
    base_url: str | None = None
    """Chat: URL of the endpoint up to /v1. Without it, OPENAI_BASE_URL, or else OpenAI itself
    (api.openai.com) with the key in OPENAI_API_KEY."""
    api_key_env: str = "OPENAI_API_KEY"
    """Chat: environment variable that holds the key. The key itself is never an argument."""
    window: int | None = None
    """Chat: last turns that the model reads, besides the first observation. None: all, or as many
    as the prompt shows."""
    max_tokens: int = 4096
    """Chat: most tokens of an answer, thinking included."""
    max_tokens_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """Chat: name under which the endpoint takes --max-tokens; auto sends the first until it is
    refused."""
    temperature: float | None = None
    """Sampling temperature of a chat model, an hf: model or a training."""
    top_p: float | None = None
    """Nucleus sampling of the same: the probability that the likeliest tokens have together."""
    sampling_seed: int | None = None
    """Chat: seed of the sampling, for endpoints that have one."""
    stream: bool = False
    """Chat: stream answers, which some endpoints demand."""
    invalid_reasons: bool = False
    """Chat: tell the model why its last action was invalid, where the observation does not."""
    send_reasoning: bool = False
    """Chat: send the model's thinking back to it, as some models need between tool calls."""
    extra: tuple[str, ...] = ()
    """Chat: further fields of the request as name=value, with values in JSON, such as top_k=20. The
    flag may be repeated."""
    instructions: str = ""
    """Chat: text that begins the system message."""
    timeout: float = 120.0
    """Chat: seconds to wait for an answer."""
    retries: int = 4
    """Chat: retries of failed requests, with growing waits."""
    requests_per_minute: float | None = None
    """Chat: most requests a minute, of all episodes together."""
    price: tuple[float, float] | tuple[float, float, float] | None = None
    """Prices in US dollars per million tokens: read, written and, if different, read from a
    cache."""
    limit_tokens: int | None = None
    """Most tokens of an episode, read and written; at the limit it ends."""
    limit_cost: float | None = None
    """Most US dollars of an episode; at the limit it ends."""
    limit_total_tokens: int | None = None
    """Most tokens of all episodes together. At the limit no further episode begins, and the exit
    code is 3. Repeat the command with a higher limit to resume."""
    limit_total_cost: float | None = None
    """Most US dollars of all episodes together. It works like --limit-total-tokens."""
    concurrency: int | None = None
    """Episodes played at the same time. The results are the same. None: 8 for models and for
    threads, one per CPU for processes and actors, else 1."""
    backend: Literal["sync", "thread", "process", "ray"] = "sync"
    """Where environments run: in the threads of their episodes (sync), or each in a thread, process
    or Ray actor. Processes suit those that keep a CPU busy or may crash."""
    step_timeout: float | None = None
    """Seconds that an environment may take for one turn, after which its episode is broken. Not
    with --backend sync."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""
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
