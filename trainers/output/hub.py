"""Pushing a trained policy to the Hugging Face hub.

``huggingface_hub`` finds the token itself, in ``HF_TOKEN`` or the login of the machine. Nothing
here reads it, and no file of the run contains it.
"""

from __future__ import annotations

from pathlib import Path

from agentgym.errors import ConfigurationError
from trainers.config.resolve import ResolvedRun
from trainers.config.schema import TINY
from trainers.output.run_folder import COMPLETE, VALIDATED

__all__ = ["check_hub", "has_token", "push"]

NOT_PUSHED = (COMPLETE, VALIDATED, "training_args.bin")
"""Files that are only useful inside the run's folder; the last one is a pickle with local paths."""

NO_TOKEN = (
    "the hub requires a token at the end, and there is none: set HF_TOKEN, or run: hf auth login"
)


def check_hub(run: ResolvedRun) -> None:
    """Check ``--push-to-hub`` before the run begins, without asking the hub.

    Raises:
        ConfigurationError: It names no repository, or the pushed policy could not be loaded from
            there.
    """
    config = run.config
    if config.push_to_hub is None:
        return
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(config.push_to_hub)
        named = config.push_to_hub.count("/") == 1
    except HFValidationError:
        named = False
    if not named:
        raise ConfigurationError(
            "expected --push-to-hub to be a repository of the hub, USER/NAME, in letters, digits, "
            f"'-', '_' and '.'; got {config.push_to_hub!r}"
        )
    adapters = config.model != TINY and config.lora.r and config.export != "merged"
    is_local = Path(config.model).exists() or config.sft.max_steps
    if adapters and is_local:
        base = "the warm start, a folder of this run" if config.sft.max_steps else config.model
        raise ConfigurationError(
            "expected --export merged with --push-to-hub, because the base model of the adapters "
            f"is {base}, which is not on the hub; got --export {config.export}"
        )


def has_token() -> bool:
    """Return whether the environment or the login of the machine has a token."""
    from huggingface_hub import get_token

    return get_token() is not None


def push(folder: Path, repository: str, private: bool) -> str:
    """Upload a model's folder in one commit, and return the address of the repository.

    Args:
        folder: Weights, tokenizer and card.
        repository: ``USER/NAME``; it is made if there is none.
        private: Whether to make it private, where it is made.

    Raises:
        Exception: The upload failed, with an error of ``huggingface_hub``.
    """
    from huggingface_hub import HfApi

    api = HfApi(library_name="agentgym-suite")
    url = api.create_repo(repository, private=private or None, exist_ok=True)
    api.upload_folder(
        repo_id=url.repo_id,
        folder_path=folder,
        commit_message="Trained policy of agentgym-train",
        ignore_patterns=list(NOT_PUSHED),
    )
    return str(url)
