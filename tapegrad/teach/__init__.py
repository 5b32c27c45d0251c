"""For teaching: the tape on paper."""

from .tape_table import Row, print_tape, tape_rows, tape_table

__all__ = ["Row", "print_tape", "tape_rows", "tape_table"]
