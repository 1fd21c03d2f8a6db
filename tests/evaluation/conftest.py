"""Workers of evaluations begin warm, as those of vector environments do."""

from tests.vector.conftest import warm_workers

__all__ = ["warm_workers"]
