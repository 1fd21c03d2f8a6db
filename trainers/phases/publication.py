"""Publish a finished run: merged export and upload to the hub."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path

from agentgym.support.program_name import program_name
from agentgym.support.text_lines import error_line
from trainers.config.model_files.adapter_folder import has_adapters
from trainers.config.resolve import ResolvedRun
from trainers.output.card import chosen_folder, write_card
from trainers.output.display import Display
from trainers.output.hub import push
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.summary import Summary
from trainers.phases.adapter_merge import merge_adapters

__all__ = ["publish"]

logger = logging.getLogger(__name__)


def publish(run: ResolvedRun, folder: RunFolder, summary: Summary, display: Display) -> None:
    """Export and push the trained policy, as configured.

    A failed upload only causes a warning: the run is complete, and the upload can be repeated.

    Raises:
        ConfigurationError: The adapters cannot be merged.
    """
    place = chosen_folder(folder, summary)
    if run.config.export == "merged":
        place = _export(run, folder, summary, display, place)
    repository = run.config.push_to_hub
    if repository is None:
        return
    display.note(f"pushing {place} to {repository}")
    try:
        url = push(place, repository, run.config.hub_private)
    except Exception as error:  # network, disk, hub or account: the remedy is the same for all
        logger.warning("the upload to %s failed", repository, exc_info=True)
        display.note(
            f"the upload to {repository} failed: {error_line(error)}; the run is complete, and "
            f"this repeats it: {_command(run)}"
        )
    else:
        display.note(f"pushed to {url}")


def _export(
    run: ResolvedRun, folder: RunFolder, summary: Summary, display: Display, place: Path
) -> Path:
    """Merge the adapters, unless that was done, and return the folder of the plain model."""
    if not has_adapters(place):
        display.note(
            f"nothing to merge: {place} holds a whole model, which vLLM can serve directly"
        )
        return place
    if not (folder.merged / COMPLETE).exists():
        merge_adapters(place, folder.merged)
    write_card(folder, run, summary, folder.merged)
    display.note(f"merged model: {folder.merged}")
    return folder.merged


def _command(run: ResolvedRun) -> str:
    """Return the command that repeats the upload."""
    config = run.config
    words = [*program_name().split(), "--resume", "--out", str(config.out)]
    words += ["--push-to-hub", str(config.push_to_hub)]
    words += ["--hub-private"] if config.hub_private else []
    words += ["--export", config.export] if config.export != "none" else []
    return shlex.join(words)
