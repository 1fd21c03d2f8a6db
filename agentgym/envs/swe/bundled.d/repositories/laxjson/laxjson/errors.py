"""The error that a text can cause."""


class LaxJSONError(ValueError):
    """The text is no relaxed JSON.

    Args:
        message: What is wrong.
        text: The whole text.
        offset: Where in the text it is wrong.
    """

    def __init__(self, message: str, text: str, offset: int) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        self.message = message
        super().__init__(f"{message} (line {self.line}, column {self.column})")
