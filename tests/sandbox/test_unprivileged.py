"""As root, the suites run once more as a user who is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sandbox.conftest import REQUIRED, usable

NOBODY = 65534
ROOT = Path(__file__).parents[2]
SUITES = (
    *("test_contract.py", "test_safety.py", "test_namespace.py"),
    *("test_image_boxes.py", "test_image_layers.py"),
)
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def as_nobody(command: list[str], home: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without any privilege."""
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "TMPDIR": home,
        "AGENTGYM_CACHE": f"{home}/cache",
        "AGENTGYM_REQUIRE_SANDBOXES": "namespace" if "namespace" in REQUIRED else "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *(path for path in sys.path if path)]),
    }
    return subprocess.run(
        command, user=NOBODY, group=NOBODY, extra_groups=[], env=variables, cwd=home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


def interpreter(home: str) -> str:
    """Return a Python of this version that this user can run, with our packages."""
    failure = "none"
    for path in (sys.executable, f"/usr/bin/{VERSION}", f"/usr/local/bin/{VERSION}"):
        try:
            process = as_nobody([path, "-c", "import agentgym.sandbox, pytest, hypothesis"], home)
        except OSError as error:
            failure = str(error)
            continue
        if not process.returncode:
            return path
        failure = process.stdout[-500:]
    reason = f"no {VERSION} with our packages that another user can run: {failure}"
    if "namespace" in REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="this run has no privilege already")
def test_sandboxes_of_namespaces_need_no_root() -> None:
    usable("namespace")
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, NOBODY, NOBODY)
        suites = [str(ROOT / "tests" / "sandbox" / name) for name in SUITES]
        options = [
            "-k",
            "[namespace or [image or test_namespace or test_image",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(ROOT),
        ]
        options += ["-c", str(ROOT / "pyproject.toml"), "--basetemp", f"{home}/tests"]
        process = as_nobody([interpreter(home), "-m", "pytest", *options, *suites], home)
    assert process.returncode == 0, process.stdout[-5000:]
    assert "passed" in process.stdout
