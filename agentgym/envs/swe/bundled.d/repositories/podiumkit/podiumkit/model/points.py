"""What a win, a draw and a loss are worth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from podiumkit.errors import ResultError
from podiumkit.model.results import Score


@dataclass(frozen=True)
class PointRules:
    """What results are worth.

    Attributes:
        win: A win; a bye is worth as much.
        draw: A draw.
        loss: A loss.
    """

    win: Fraction = Fraction(1)
    draw: Fraction = Fraction(1, 2)
    loss: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse rules in which losing is better than drawing, or drawing than winning."""
        if not self.win >= self.draw >= self.loss or self.win == self.loss:
            raise ResultError("a win has to be worth more than a loss, a draw not less than a loss")

    @classmethod
    def of(cls, win: str, draw: str, loss: str) -> PointRules:
        """Read rules such as ``3``, ``1``, ``0``; ``1/2`` and ``0.5`` are understood.

        Raises:
            ResultError: One is no number, or losing would be better than winning.
        """
        try:
            numbers = [Fraction(text) for text in (win, draw, loss)]
        except (ValueError, ZeroDivisionError):
            raise ResultError(f"expected three numbers, got {win} {draw} {loss}") from None
        return cls(*numbers)

    def points(self, score: Score) -> tuple[Fraction, Fraction]:
        """Return the points of both players."""
        if score.lost_by_both:
            return self.loss, self.loss
        if score.home == score.away:
            return self.draw, self.draw
        return (self.win, self.loss) if score.home > score.away else (self.loss, self.win)


def number_text(number: Fraction) -> str:
    """Return a number as it is shown: halves as a sign, others with two digits if need be."""
    if number.denominator == 1:
        return str(number.numerator)
    whole = abs(number) // 1
    if number.denominator == 2:
        return f"{'-' if number < 0 else ''}{whole or ''}½"
    return f"{float(number):.2f}"
