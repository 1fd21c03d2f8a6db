#!/usr/bin/env bash
# Package: ray 2.60.0
# Behaviour: an error that leaves a task is raised by `ray.get` as its own class, too, but only if it
#   can be unpickled. The errors of openai 3.57 with a response cannot (their constructors want
#   keywords): `ray.get` raises UnserializableException, and no `except openai.RateLimitError` fires.
# Seen: ValueError and openai.APITimeoutError are caught; openai.RateLimitError is not.
# What to do: catch such errors inside the task, and raise or return something of your own.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "ray==2.60.0" "openai==3.57.0"
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import httpx2
import openai
import ray

ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
print("ray", ray.__version__, "openai", openai.__version__)


@ray.remote
def ask(kind):
    request = httpx2.Request("POST", "http://localhost")
    if kind == "value":
        raise ValueError("no")
    if kind == "timeout":
        raise openai.APITimeoutError(request=request)
    raise openai.RateLimitError("later", response=httpx2.Response(429, request=request), body=None)


def caught(kind, error):
    try:
        ray.get(ask.remote(kind))
    except error:
        return True
    except Exception as other:
        print(kind, "is", type(other).__name__)
        return False


seen = [
    caught("value", ValueError),
    caught("timeout", openai.APITimeoutError),
    caught("limit", openai.RateLimitError),
]
print(seen)
assert seen == [True, True, False], "errors of openai pass through Ray now"
ray.shutdown()
PYTHON
