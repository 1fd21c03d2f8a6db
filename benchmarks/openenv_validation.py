"""Run OpenEnv's validation on an exported folder, whose image it builds.

Needs OpenEnv, and a Docker engine that can pull the image that the folder is based on. Exit code 1
if a check fails.

Usage:
    python -m benchmarks.openenv_validation [--env webshop] [--set size=60] [--helper IMAGE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.provenance import to_json


def main() -> int:
    """Write the folder, let OpenEnv validate it, and print what it found."""
    from openenv.validation.providers.docker import HELPER_IMAGE, DockerValidationProvider
    from openenv.validation.runner import run_validation
    from openenv.validation.types import Level

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", default="webshop")
    parser.add_argument("--set", nargs="*", default=["size=60"])
    parser.add_argument("--helper", default=HELPER_IMAGE, help="image, by digest, of its probes")
    parser.add_argument("--told", default="", help="what a reader has to know of the engine")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, given.env)
        command = [sys.executable, "-m", "agentgym", "serve", "openenv", given.env]
        command += ["--folder", str(folder), "--env-kwargs", *given.set]
        subprocess.run(command, check=True, stdout=sys.stderr)
        provider = DockerValidationProvider(helper_image=given.helper)
        report = run_validation(folder, max_level=Level.RUNTIME, provider=provider)
    checks = {
        found.check_id: {"status": found.status.value, "evidence": list(found.evidence)}
        for found in report.results
    }
    failed = any(each["status"] in ("fail", "error") for each in checks.values())
    told = {"env": given.env, "told": given.told, "policy": report.policy_version}
    print(to_json({**told, "verdict": report.verdict.value, "checks": checks}))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
