"""Settings of the evaluation of a policy on an environment: in a suite, and as flags."""

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
    show them, so a policy should read keys from environment variables. Only values with names like
    api_key are hidden."""
    agent: str | None = None
    """Agent that plays with the policy as its model: MODULE:FUNCTION of a session, which queries
    session.base_url, as in agentgym train --agent. The policy is chat, the folder of a training or
    hf:PATH. None: the agent of the training, if any."""
    protocol: str | None = None
    """Evaluate as a paper does: PROTOCOLS, or your own file. It sets tasks, turns, prompts and the
    printed figures. Other flags override it, and the report lists the changes. agentgym protocols
    describes them."""
    prompt: str | None = None
    """What a model reads: default, bare (observations alone), the prompt of a protocol (PROTOCOLS),
    or a file in their form. The environment is made with its grammar. None: the prompt of the
    protocol or the training, else default."""
    shots: int | None = None
    """Worked examples that a model reads before its task: the demonstrator's first turns on this
    number of training tasks, the same for all. None: those of the training, or else none."""
    split: str | None = None
    """Split of the tasks, or all for the tasks of every split. None: the protocol's, test, or the
    last one if there is no test."""
    num_tasks: int | None = None
    """Number of tasks, at most the split's. None: 100, or all tasks of the protocol."""
    seed: int = 0
    """Seed of the panel and of the episodes."""
    task: tuple[str, ...] = ()
    """Id of a task to play instead of a panel. The flag may be repeated. With a protocol also an
    item of it, such as webshop_12, or a JSON file of items."""
    samples: int = 1
    """Episodes of each task; above 1 the report has pass@k and pass^k."""
    horizon: int | None = None
    """Turn budget of an episode. None: the environment's default."""
    end_after_invalid: int = 0
    """End an episode, with its score so far, after this number of consecutive invalid actions. 0:
    no limit."""
    grammar: Literal["native", "xml", "react", "tool_call", "action_tag"] | None = None
    """How actions are written. None: the environment's default, usually native."""
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
    """Chat: maximum number of tokens of a response, including thinking."""
    max_tokens_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """Chat: name of --max-tokens in requests; auto sends the first until the endpoint rejects
    it."""
    temperature: float | None = None
    """Sampling temperature of a chat model, an hf: model or a training."""
    top_p: float | None = None
    """Nucleus sampling of the same models: total probability of the tokens to sample from."""
    sampling_seed: int | None = None
    """Chat: sampling seed, for endpoints that support it."""
    stream: bool = False
    """Chat: stream responses, which some endpoints require."""
    invalid_reasons: bool = False
    """Chat: tell the model why its last action was invalid if the observation does not."""
    send_reasoning: bool = False
    """Chat: send the model's thinking back to it, as some models need between tool calls."""
    extra: tuple[str, ...] = ()
    """Chat: further fields of the request as name=value, with values in JSON, such as top_k=20. The
    flag may be repeated."""
    instructions: str = ""
    """Chat: text that begins the system message."""
    timeout: float = 120.0
    """Chat: seconds to wait for a response."""
    retries: int = 4
    """Chat: retries of failed requests, with growing waits."""
    requests_per_minute: float | None = None
    """Chat: maximum number of requests per minute, of all episodes together."""
    price: tuple[float, float] | tuple[float, float, float] | None = None
    """Prices in US dollars per million tokens: read, written and, if different, read from a
    cache."""
    limit_tokens: int | None = None
    """Maximum number of tokens of an episode, read and written; at the limit it ends."""
    limit_cost: float | None = None
    """Maximum cost of an episode in US dollars; at the limit it ends."""
    limit_total_tokens: int | None = None
    """Maximum number of tokens of all episodes together. At the limit no further episode begins,
    and the exit code is 3. Repeat the command with a higher limit to resume."""
    limit_total_cost: float | None = None
    """Maximum cost of all episodes in US dollars. Works like --limit-total-tokens."""
    concurrency: int | None = None
    """Episodes played at the same time, with the same results. None: 8 for models and for threads,
    one per CPU for processes and actors, else 1."""
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
    is judge:model=NAME,url=http://HOST:PORT/v1,rubric=FILE. A reward function of TRL, verl or
    verifiers is --reward MODULE:FUNCTION, short for this flag. Score and success stay the
    environment's own."""

    @property
    def prices(self) -> Prices | None:
        """Prices of tokens, if known."""
        return Prices(*self.price) if self.price else None

    @property
    def limits(self) -> Limits:
        """Limits of an episode."""
        return Limits(self.limit_tokens, self.limit_cost)

    @property
    def total_limits(self) -> Limits:
        """Limits of all episodes together."""
        return Limits(self.limit_total_tokens, self.limit_total_cost)

    def check(self) -> None:
        """Check early what `evaluate` would only check when the evaluation begins.

        Raises:
            ConfigurationError: A number is out of range.
        """
        integer(self.samples, "the number of samples", low=1)
        if self.shots is not None:
            integer(self.shots, "shots", low=0)
        integer(self.end_after_invalid, "end_after_invalid", low=0)
        _ = self.limits, self.total_limits, self.prices
        Where(self.backend, self.concurrency, self.step_timeout)
