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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, options.env)
        command = [sys.executable, "-m", "agentgym", "push", "openenv", options.env]
        command += [str(folder), "--env-kwargs", *options.set]
        subprocess.run(command, check=True, stdout=sys.stderr)
        provider = DockerValidationProvider(helper_image=options.helper)
        report = run_validation(folder, max_level=Level.RUNTIME, provider=provider)
    checks = {
        check.check_id: {"status": check.status.value, "evidence": list(check.evidence)}
        for check in report.results
    }
    failed = any(check["status"] in ("fail", "error") for check in checks.values())
    facts = {"env": options.env, "told": options.told, "policy": report.policy_version}
    print(to_json({**facts, "verdict": report.verdict.value, "checks": checks}))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
