"""The exceptions of the library."""


class VersionError(ValueError):
    """A text is no semantic version."""


class RangeError(ValueError):
    """A text is no range of versions."""


class NoSolution(Exception):
    """No choice of versions satisfies all requirements.

    Args:
        package: The package for which no version is left.
        reasons: Who requires it, and how.
    """

    def __init__(self, package: str, reasons: list[str]) -> None:
        super().__init__(f"no version of {package} fits: " + "; ".join(reasons))
        self.package = package
        self.reasons = reasons
