"""An HTTP server that answers like vLLM's, without vLLM: completions are sums of what was asked."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import pickle
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

VOCABULARY = 97


class StandIn:
    """What the server holds and how it misbehaves; starts it on a free port.

    Attributes:
        posts: (path, payload) of every POST so far.
        delays: Seconds by which a completion is late, by the first token of its prompt.
        failing: Answers with status 500 that are still to be given to completions.
        missing: Paths that are answered with 404.
        refusal: What is answered with 400, by path.
        blind: Whether it sees none of the trainer's folders.
        while_reading: Called as it reads weights.
        adapters: Folder of each adapter that it has loaded, by name.
    """

    def __init__(self, **model: Any) -> None:
        self.posts: list[tuple[str, Any]] = []
        self.delays: dict[int, float] = {}
        self.failing = 0
        self.missing: set[str] = set()
        self.refusal: dict[str, str] = {}
        self.weights = "default"
        self.lora: dict[str, Any] | None = None
        self.transfer: dict[str, str] | None = None
        self.blind = False
        self.while_reading: Callable[[], Any] = lambda: None
        self.adapters: dict[str, str] = {}
        self.model = {
            "max_model_len": 64, "logprobs_mode": "processed_logprobs", "dtype": "torch.float32",
            "served_model_name": "policy", **model,
        }  # fmt: skip
        self.connections = 0
        self._lock = threading.Lock()
        self.start(0)

    def start(self, port: int) -> None:
        """Listen; a second start stands for a server that comes back."""
        self._http = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening; open connections are cut."""
        self._http.shutdown()
        self._http.server_close()
        for handler in list(self._open):
            handler.close_connection = True
            with contextlib.suppress(OSError):
                handler.connection.shutdown(socket.SHUT_RDWR)

    def paths(self) -> list[str]:
        return [path for path, _ in self.posts]

    def answer(self, path: str, payload: Any) -> tuple[int, Any]:
        """Status and content of an answer."""
        if path in self.missing:
            return 404, {"detail": "Not Found"}
        if path in self.refusal:
            return 400, {"error": {"message": self.refusal[path]}}
        if path == "/collective_rpc":
            self.while_reading()
        if path == "/v1/completions":
            return self._complete(payload)
        if path.endswith("load_lora_adapter"):
            return self._adapter(path, payload)
        if path == "/update_weight_version":
            self.weights = payload["new_version"]
        return 200, {
            "/v1/models": {"data": [{"id": "policy"}]},
            "/server_info?config_format=json": {
                "vllm_config": {
                    "model_config": self.model,
                    "lora_config": self.lora,
                    "weight_transfer_config": self.transfer,
                }
            },
            "/weight_info": {"weight_version": self.weights},
            "/reset_prefix_cache": {"success": True},
        }.get(path)

    def _adapter(self, path: str, payload: dict[str, Any]) -> tuple[int, Any]:
        name = payload["lora_name"]
        if path == "/v1/unload_lora_adapter":
            adapter = self.adapters.pop(name, None)
            return (200, None) if adapter else (404, {"error": {"message": f"no adapter {name}"}})
        if name in self.adapters:
            return 400, {"error": {"message": f"{name} has already been loaded"}}
        if self.blind or not Path(payload["lora_path"], "adapter_config.json").exists():
            return 404, {"error": {"message": f"no adapter found for {payload['lora_path']}"}}
        self.adapters[name] = payload["lora_path"]
        return 200, None

    def _complete(self, payload: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            self.failing -= 1
            if self.failing >= 0:
                return 500, {"error": {"message": "EngineDeadError"}}
        prompt = payload["prompt"]
        time.sleep(self.delays.get(prompt[0], 0.0))
        count = payload["max_tokens"]
        ids = [(sum(prompt) + (payload["seed"] or 0) + i) % VOCABULARY for i in range(count)]
        choice = {
            "token_ids": ids,
            "logprobs": {"token_logprobs": [-0.5 * i for i in range(count)]},
            "finish_reason": "length",
        }
        if payload["logprobs"]:
            n_logprobs = payload["logprobs"]
            logprobs = {f"token_id:{i}": math.log(0.5 / n_logprobs) for i in range(n_logprobs)}
            choice["logprobs"]["top_logprobs"] = [logprobs] * count
        return 200, {"choices": [choice]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self
        self._open: set[Any] = set()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                stand_in.connections += 1
                stand_in._open.add(self)

            def do_GET(self) -> None:
                self._reply(None)

            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stand_in.posts.append((self.path, payload))
                self._reply(payload)

            def _reply(self, payload: Any) -> None:
                status, content = stand_in.answer(self.path, payload)
                data = b"" if content is None else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):  # The client may have given up.
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class SGLangStandIn(StandIn):
    """Answers like SGLang 0.5.23 where that differs; seen on its server with a CPU.

    The paths are those of ``srt/entrypoints/http_server.py``. ``ignore_eos`` ignores a request's
    own stop ids, too, and else the model's end-of-text token stops (``srt/managers/
    schedule_batch.py``). Weights in requests are only taken between a begin and an end, which have
    to alternate (``srt/managers/scheduler_components/weight_updater.py``).

    Attributes:
        eos: The model's end-of-text token.
        received: Weights that came in requests.
        deterministic: Whether requests are drawn with their seeds.
    """

    eos = VOCABULARY

    def __init__(self, **model: Any) -> None:
        self.received: dict[str, Any] = {}
        self.deterministic, self.updating = True, False
        super().__init__(**model)

    def answer(self, path: str, payload: Any) -> tuple[int, Any]:
        model = {"id": "policy", "max_model_len": self.model["max_model_len"]}
        facts = {
            "dtype": self.model["dtype"].removeprefix("torch."),
            "enable_deterministic_inference": self.deterministic,
        }
        if path in self.missing or path in self.refusal:
            return super().answer(path, payload)
        if path == "/generate":
            return self._generate(payload)
        if path == "/update_weights_from_disk":
            self.while_reading()
        if path in ("/begin_weight_update", "/end_weight_update"):
            begins = path == "/begin_weight_update"
            if begins == self.updating:
                return 400, {"success": False, "message": "a weight update is or is not open"}
            self.updating = begins
        if path == "/update_weights_from_tensor":
            if not self.updating:
                return 400, {"success": False, "message": "must run between begin and end"}
            (text,) = payload["serialized_named_tensors"]
            self.received.update(pickle.loads(base64.b64decode(text)))
        return {
            "/v1/models": (200, {"data": [model]}),
            "/server_info": (200, facts),
            "/model_info": (200, {"weight_version": self.weights}),
        }.get(path) or super().answer(path, payload)

    def _generate(self, payload: dict[str, Any]) -> tuple[int, Any]:
        params, n_likely = payload["sampling_params"], payload["top_logprobs_num"]
        status, answer = self._complete(
            {
                "prompt": payload["input_ids"],
                "max_tokens": params["max_new_tokens"],
                "seed": params["sampling_seed"],
                "logprobs": n_likely,
            }
        )
        if status != 200:
            return status, answer
        (choice,) = answer["choices"]
        ids, reason = choice["token_ids"], "length"
        ends = [] if params["ignore_eos"] else [self.eos, *params["stop_token_ids"]]
        count = next((n for n, token in enumerate(ids, 1) if token in ends), 0)
        if count:
            ids, reason = ids[:count], "stop"
        logprobs = choice["logprobs"]["token_logprobs"]
        likely = [[math.log(0.5 / n_likely), n, None] for n in range(n_likely)]
        return 200, {
            "output_ids": ids,
            "meta_info": {
                "finish_reason": {"type": reason},
                "output_token_logprobs": [
                    [logprob, token, None] for logprob, token in zip(logprobs, ids, strict=False)
                ],
                "output_top_logprobs": [likely] * len(ids) if likely else [],
            },
        }
