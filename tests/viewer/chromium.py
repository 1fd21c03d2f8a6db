"""A headless Chromium for the tests, driven through its debugging pipe: no further package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds after which a browser that does not answer has hung."""
READY = (
    "document.documentElement?.dataset.ready"
    " && document.querySelector('main:not([hidden]) .row, .nothing, #episode')"
)
"""The page has drawn what its address names."""
_START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_KEYS = {"Escape": 27, "Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "Tab": 9}


def find() -> str | None:
    """Return the program, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """A running Chromium; messages are JSON that end with a NUL, on file descriptors 3 and 4."""

    def __init__(self, program: str, profile: str) -> None:
        hear_in, self._write = os.pipe()
        self._read, tell_out = os.pipe()
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--no-first-run", "--disable-extensions", "--mute-audio",
            "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
            # All tabs in one process: to start one takes longer than most tests.
            "--renderer-process-limit=1", "--disable-features=site-per-process,SpareRenderer",
            "--disable-site-isolation-trials", "--in-process-gpu",
            f"--user-data-dir={profile}",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(hear_in), str(tell_out), program, *flags],
            pass_fds=(hear_in, tell_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(hear_in)
        os.close(tell_out)
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._number = 0
        self.events: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        received = b""
        while block := os.read(self._read, 1 << 20):
            *messages, received = (received + block).split(b"\0")
            for message in messages:
                self._messages.put(json.loads(message))

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        until = time.monotonic() + PATIENCE
        while True:
            event = self._messages.get(timeout=max(0.01, until - time.monotonic()))
            if event.get("id") == self._number:
                assert "error" not in event, event
                return event["result"]
            self.events.append(event)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Page:
    """A tab: what a person would do, see, and find in the console."""

    def __init__(self, browser: Browser, width: int = 1280, height: int = 800) -> None:
        self._browser = browser
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, address: str = "", ready: str = "") -> None:
        """Load a page afresh and wait until it has drawn what its address names."""
        self.visit(path.resolve().as_uri() + address, ready or READY)

    def visit(self, url: str, ready: str) -> None:
        """Load an address afresh and wait for a condition."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait(ready)

    def run(self, script: str) -> Any:
        """Return the value of an expression, as JSON."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        until = time.monotonic() + PATIENCE
        while not self.run(f"!!({condition})"):
            assert time.monotonic() < until, (condition, self.run("document.body?.innerText"))
            time.sleep(0.02)

    def key(self, key: str) -> None:
        text = {"text": "\r"} if key == "Enter" else {} if len(key) > 1 else {"text": key}
        code = _KEYS.get(key, ord(key[0].upper()))
        facts = {"key": key, "windowsVirtualKeyCode": code, **text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **facts)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def texts(self, selector: str) -> list[str]:
        # What the browser has not drawn yet, because nobody has scrolled there, has no inner text.
        script = "(e) => { e.style.contentVisibility = 'visible'; return e.innerText; }"
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map({script})")

    def count(self, selector: str) -> int:
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def picture(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def _events(self, *methods: str) -> Iterator[dict[str, Any]]:
        for event in self._browser.events:
            if event.get("sessionId") == self._session and event["method"] in methods:
                yield event["params"]

    def requests(self) -> list[str]:
        """Return what was asked of a network or a disk, besides pages themselves."""
        events = self._events("Network.requestWillBeSent")
        return [event["request"]["url"] for event in events if event.get("type") != "Document"]

    def complaints(self) -> list[Any]:
        """Return errors and warnings of the page, and what its policy has blocked."""
        self.run("0")  # what was said until now has arrived
        thrown = [event["exceptionDetails"] for event in self._events("Runtime.exceptionThrown")]
        logged = [event["entry"] for event in self._events("Log.entryAdded")]
        printed = [event for event in self._events("Runtime.consoleAPICalled")]
        return [*thrown, *logged, *printed]

    def forget(self) -> None:
        """Forget what has been said and asked: it was looked at."""
        self._browser.events = [
            event for event in self._browser.events if event.get("sessionId") != self._session
        ]

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)


@contextlib.contextmanager
def running(program: str) -> Iterator[Browser]:
    """Run a browser with a profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            yield browser
        finally:
            browser.close()
