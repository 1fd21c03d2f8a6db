"""What can go wrong, with a declaration and with a command line."""


class DeclarationError(ValueError):
    """The program declares a command that makes no sense."""


class UsageError(ValueError):
    """The words on the command line do not fit the command."""
