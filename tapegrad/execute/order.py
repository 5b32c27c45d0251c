"""The order of stages: which of them wait for which, while records still join loops."""

from __future__ import annotations

from collections.abc import Iterable

MOST_OPEN = 64


class Order:
    """What stages wait for, by their places. A loop is *open* while records may join it, and then what it waits for may grow.

    The latest `MOST_OPEN` loops are open. A loop is closed after all that it waits for, so that what waits for closed loops alone
    never waits for an open one, and closed loops need no more thought. Sets of open loops are integers, with a bit for each place.
    """

    def __init__(self) -> None:
        self.open: list[int] = []
        self._waits: list[int] = []  # of a stage: open loops; exact for those that are open themselves
        self._bits = 0  # of all open loops

    def add(self, places: Iterable[int], is_open: bool) -> None:
        """Add a stage that waits for these."""
        self._waits.append(self.before(places))
        if is_open:
            place = len(self._waits) - 1
            self.open.append(place)
            self._bits |= 1 << place
            if len(self.open) > MOST_OPEN:
                self._close()

    def before(self, places: Iterable[int]) -> int:
        """Return the open loops that have ended when these stages have: they themselves, and what they wait for."""
        found = 0
        for place in places:
            found |= self._waits[place] | 1 << place
        found &= self._bits
        whole = found
        for place in self.open:
            if found >> place & 1:
                whole |= self._waits[place]
        return whole

    def may_join(self, loop: int, places: Iterable[int]) -> bool:
        """Whether an open loop may wait for these stages: none of them waits for it."""
        return not self.before(places) >> loop & 1

    def waits_longer(self, loop: int, places: Iterable[int]) -> bool:
        """Whether an open loop waits for more than these stages do."""
        return bool(self._waits[loop] & ~self.before(places))

    def join(self, loop: int, places: Iterable[int]) -> None:
        """Let an open loop wait for these stages too, and with it all that waits for it."""
        before = self.before(places)
        if before & ~self._waits[loop]:
            self._waits[loop] |= before
            for place in self.open:
                if self._waits[place] >> loop & 1:
                    self._waits[place] |= before

    def _close(self) -> None:
        """Close the first loop that waits for no open one."""
        closed = next(place for place in self.open if not self._waits[place])
        self.open.remove(closed)
        self._bits &= ~(1 << closed)
        for place in self.open:
            self._waits[place] &= self._bits
