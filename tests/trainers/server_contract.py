"""A real server in its own process: what it samples, weights on the way, and its death."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.trainers import tiny_policy, toy_runs
from trainers.cli import main
from trainers.output.run_folder import RunFolder
from trainers.rollouts.engines.base import Sampling, generate
from trainers.rollouts.engines.parity import FP32_TOLERANCE, probe_parity
from trainers.rollouts.engines.policy_weights import policy_weights

SAMPLING = Sampling(max_tokens=12)
CHANGES = {
    "steps": 3, "horizon": "3", "sft__max_steps": 0, "eval__every": 0,
    "eval__num_tasks": 8, "rl__turn_tokens": 6, "rl__episode_tokens": 220, "lora__r": 4,
    "rl__save_every": 1,
    # Without seeds all actions of a short run may be invalid; returns have to differ nonetheless.
    "reward_hooks": "characters:price=0.01",
}  # fmt: skip


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Server:
    """A server started by the command that a run shows.

    Args:
        section: Section of its settings, ``"vllm"`` or ``"sglang"``.
        model: Folder of the model.
        log: File of its output.
        without: Flags of that command which are left out.
    """

    def __init__(self, section: str, model: Path, log: Path, without: Sequence[str] = ()) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self._section, self._log, self.model, self._without = section, log, model, without
        self.start()

    @property
    def seeded(self) -> bool:
        """Whether it draws a request with its seed on a CPU."""
        return self._section == "vllm"

    def settings(self, **changes: Any) -> dict[str, Any]:
        section = {"url": self.url, "patience": 2, "seeded": self.seeded}
        settings = {f"{self._section}__{name}": value for name, value in section.items()}
        engine = f"{self._section}-server"
        return {**CHANGES, "engine": engine, "model": self.model, **settings, **changes}

    def start(self) -> None:
        """Start it and wait until it answers."""
        from trainers.config.resolve import resolve
        from trainers.phases.rollout_setup import server_command

        config = toy_runs.config(self._log.parent / "none", **self.settings())
        words = shlex.split(server_command(resolve(config)))
        names = [word for word in words if "=" in word and not word.startswith("-")]
        extra = dict(name.split("=", 1) for name in names) | {"VLLM_CPU_KVCACHE_SPACE": "1"}
        words = [word for word in words[len(names) + 1 :] if word not in self._without]
        command = [sys.executable, *words, "--host", "127.0.0.1"]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [*command, "--port", self.url.rsplit(":", 1)[1]],
                env={**os.environ, **extra}, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        from trainers.rollouts.engines.server_client import EngineServer

        EngineServer(self.url, 400.0, "").get("/v1/models")

    def kill(self) -> None:
        """End it and its workers without notice."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def write_model(folder: Path) -> Path:
    """Write a policy and its tokenizer, and return their folder."""
    from trainers.models.tiny import build_model

    tokenizer = tiny_policy.tokenizer(words=("go", "take"))
    tokenizer.save_pretrained(folder)
    build_model(tokenizer, tiny_policy.SIZE).save_pretrained(folder)
    return folder


def gap(engine: Any, model: Any) -> float:
    prompts = [[5 + i, 6, 7, 8 + i] * (3 + i) for i in range(6)]
    return probe_parity(engine, model, prompts, SAMPLING, tolerance=None).max_abs


class ServerContract:
    """What a run may expect of servers; a subclass names their kind and connects to one."""

    section: str
    name: str

    @staticmethod
    def connect(policy: Any, server: Server, folder: Path) -> Any:
        """Return an engine on a server."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    def server(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
        folder = tmp_path_factory.mktemp("served")
        process = Server(self.section, write_model(folder / "model"), folder / "log.txt")
        yield process
        process.kill()

    def test_weights_reach_the_server_merged(self, server: Server, tmp_path: Path) -> None:
        from transformers import AutoModelForCausalLM

        from tests.trainers.vllm.policy import add_lora, disturb

        policy = add_lora(AutoModelForCausalLM.from_pretrained(server.model))
        engine = self.connect(policy, server, tmp_path)
        engine.sync(policy_weights(policy), 0)
        assert engine.exact and gap(engine, policy) < FP32_TOLERANCE
        for part in ("lora_A", "embed_tokens", "norm"):
            disturb(policy, part, scale=2.0)
            assert gap(engine, policy) > 10 * FP32_TOLERANCE
            engine.sync(policy_weights(policy), 1)
            assert gap(engine, policy) < FP32_TOLERANCE
        group = generate(engine, [[5, 6, 7]] * 4, SAMPLING)
        assert len({tuple(completion.ids) for completion in group}) > 1, "each has its own draws"
        if server.seeded:
            assert group == generate(engine, [[5, 6, 7]] * 4, SAMPLING)
        engine.close()

    def test_a_run_trains_with_a_server_and_survives_its_death(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        out, log = tmp_path / "run", RunFolder.log

        def killing(self: RunFolder, **record: Any) -> None:
            log(self, **record)
            if (record["phase"], record.get("step")) == ("rl", 2):
                server.kill()
                time.sleep(0.1)

        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "log", killing)
            assert main(toy_runs.arguments(out, **server.settings())) == 2
        sentence = toy_runs.last_line(capsys.readouterr().err)
        assert f"expected an answer of the {self.name} server at {server.url}" in sentence
        assert "repeat the command with --resume" in sentence
        server.start()
        assert main(["--resume", "--out", str(out)]) == 0
        records = toy_runs.by_phase(out)["rl"]
        assert [record["step"] for record in records] == [1, 2, 3]
        gaps = [r["probe_gap"] for r in toy_runs.metrics(out) if "probe_gap" in r]
        assert gaps and max(gaps) <= FP32_TOLERANCE
        assert any(record["grad_norm"] > 0 for record in records)

    def test_a_server_generates_ahead_of_the_training(self, server: Server, tmp_path: Path) -> None:
        out = tmp_path / "run"
        assert main(toy_runs.arguments(out, **server.settings(async_rollouts__staleness=1))) == 0
        records = toy_runs.by_phase(out)["rl"]
        assert [record["staleness"] for record in records] == [0.0, 1.0, 1.0]
        assert any(record["grad_norm"] > 0 for record in records)
        gaps = [r["probe_gap"] for r in toy_runs.metrics(out) if "probe_gap" in r]
        assert gaps and max(gaps) <= FP32_TOLERANCE
