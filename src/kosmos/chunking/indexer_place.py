"""Where the numbers of an answer are looked up: they count from the first line of a region."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kosmos.chunking.indexer_batches import Region
from kosmos.chunking.indexer_sheet import Sheet, Stretch


@dataclass(frozen=True, slots=True)
class Place:
    """A region in which numbers are looked up."""

    sheet: Sheet
    region: Region
    stretches: Sequence[Stretch]

    def line(self, value: Any) -> int | None:
        """The line of the document that a number of the answer names."""
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
            value = int(value)
        if type(value) is not int or not 1 <= value <= self.last:
            return None
        return self.region.start_line + value - 1

    def number(self, line: int) -> int:
        """The number that stands for a line of the document."""
        return line - self.region.start_line + 1

    @property
    def last(self) -> int:
        """The largest number."""
        return self.number(self.region.end_line)

    def stretch(self, line: int) -> Stretch:
        """What a line belongs to."""
        return self.sheet.stretches[self.sheet.at(line)]

    def below(self, stretch: Stretch) -> Stretch | None:
        """What follows a stretch in the region, if it is content."""
        at = self.sheet.at(stretch.start_line) + 1
        found = self.sheet.stretches[at] if stretch.end_line < self.region.end_line else None
        return found if found and found.heading is None else None

    def settle(self, line: int) -> int | None:
        """The line at which a unit begins that was said to begin here.

        A blank line means what follows it, a heading what it heads, a line in the middle its beginning.
        """
        stretch = self.stretch(line)
        following = self.below(stretch)
        if stretch.heading:
            return following.start_line if following else None
        if line > stretch.sign and not self.sheet.shown[line - 1].strip() and following:
            return following.start_line
        return stretch.start_line
