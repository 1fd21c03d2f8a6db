"""``harbor:FOLDER``: services that a solution starts and that the tests ask."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from agentgym import evaluate
from agentgym.core.env import TextEnv
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SUBMIT, bash
from tests.interop.harbor.test_harbor import opened, write_task

pytestmark = needs_box
ASK = """\
import sys, time, urllib.request
for attempt in range(100):
    try:
        print(urllib.request.urlopen(sys.argv[1]).read().decode().strip())
        break
    except OSError:
        time.sleep(0.05)
"""
STORE = """\
import socketserver
rows = {}
class Store(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            verb, key, *value = line.decode().split()
            if verb == "set":
                rows[key] = value[0]
            self.wfile.write((rows.get(key, "-") + "\\n").encode())
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", 7101), Store).serve_forever()
"""
TALK = """\
import socket, sys, time
for attempt in range(100):
    try:
        with socket.create_connection(("127.0.0.1", 7101)) as line:
            line.sendall((sys.argv[1] + "\\n").encode())
            print(line.makefile().readline().strip())
        break
    except OSError:
        time.sleep(0.05)
"""
PAGES = {
    "environment/Dockerfile": "FROM nginx\nWORKDIR /app\nCOPY index.html ask.py /app/\n",
    "environment/index.html": "it works\n",
    "environment/ask.py": ASK,
    "solution/solve.sh": "nohup python3 -m http.server 8080 > /app/log 2>&1 &\n",
    "tests/test.sh": """\
#!/bin/bash
if [ "$(python3 /app/ask.py http://127.0.0.1:8080/index.html)" = "it works" ] \\
    && grep -q 'GET /index.html' /app/log
then echo 1; else echo 0; fi > /logs/verifier/reward.txt
""",
}
KEYS = {
    "environment/Dockerfile": "FROM python:3.12\nWORKDIR /app\nCOPY store.py talk.py ./\n",
    "environment/store.py": STORE,
    "environment/talk.py": TALK,
    # What it prints goes nowhere, and what the second command stores is there for the tests.
    "solution/solve.sh": "(python3 store.py &)\npython3 talk.py 'set a 42'\n",
    "tests/test.sh": """\
#!/bin/bash
[ "$(python3 /app/talk.py 'get a')" = 42 ] && echo 1 > /logs/verifier/reward.txt \\
    || echo 0 > /logs/verifier/reward.txt
""",
}
WATCHER = {
    "environment/Dockerfile": "FROM debian\nWORKDIR /app\nCOPY numbers.txt .\n",
    "solution/solve.sh": """\
setsid bash -c 'while sleep 0.02; do for f in /app/in/*; do
  [ -f "$f" ] && tr a-z A-Z < "$f" > /app/out.tmp && mv /app/out.tmp /app/out && rm "$f"
done; done' > /dev/null 2>&1 < /dev/null &
mkdir -p /app/in
""",
    "tests/test.sh": """\
#!/bin/bash
echo hello > /app/new && mv /app/new /app/in/1
for attempt in $(seq 100); do [ -f /app/out ] && break; sleep 0.05; done
[ "$(cat /app/out)" = HELLO ] && echo 1 > /logs/verifier/reward.txt \\
    || echo 0 > /logs/verifier/reward.txt
""",
}


def env_of(folder: Path, files: dict[str, str], **options: object) -> TextEnv:
    write_task(folder / "task", **files)
    return opened(folder, **options)


@pytest.mark.slow
@pytest.mark.parametrize("files", [PAGES, KEYS, WATCHER], ids=["pages", "keys", "watcher"])
def test_services_live_until_the_tests_have_run(files: dict[str, str], tmp_path: Path) -> None:
    env = env_of(tmp_path, files)
    assert evaluate("oracle", env, split="test").success == 1
    assert env.world._box is None  # type: ignore[attr-defined]  # they end with the episode
    assert evaluate("random", env, split="test", horizon=3).success == 0
    env.close()


@pytest.mark.slow
def test_services_end_with_their_command_where_that_is_asked_for(tmp_path: Path) -> None:
    env = env_of(tmp_path, WATCHER, background=False)
    assert evaluate("oracle", env, split="test").success == 0
    env.close()


@pytest.mark.slow
def test_a_service_answers_between_turns_and_in_forks(tmp_path: Path) -> None:
    env = env_of(tmp_path, KEYS)
    env.reset(seed=0)
    env.step(bash("python3 store.py > log 2>&1 & echo $! > service"))
    assert env.step(bash("python3 talk.py 'set a 1'"))[0] == "[exit 0]\n1"
    state = pickle.loads(pickle.dumps(env.snapshot()))
    assert env.step(bash("python3 talk.py 'set a 42'"))[0] == "[exit 0]\n42"
    assert env.step(SUBMIT)[1] == 1
    env.restore(state)
    assert env.step(bash("python3 talk.py 'get a'"))[0] == "[exit 0]\n1"
    env.step(bash("kill $(cat service)"))
    state = env.snapshot()  # which holds files again, as nothing runs
    env.restore(state)
    assert env.step(SUBMIT)[1] == 0
    env.close()
