"""The loss curve as a picture, with matplotlib."""

from __future__ import annotations

from pathlib import Path


def reason_against(path: Path) -> str | None:
    """Return why no picture can be saved there, as far as can be told before there is one."""
    from matplotlib.backend_bases import FigureCanvasBase

    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        return f"--out {path}: the name must end in a format that matplotlib writes: .{', .'.join(sorted(formats))}"
    if not path.absolute().parent.is_dir():
        return f"--out {path}: there is no folder {path.absolute().parent}"
    return None


def save(losses: list[float], path: Path) -> None:
    """Save the curve of the loss of each epoch; the name's ending is the format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(range(1, len(losses) + 1), losses, marker="o", markersize=3)
    axes.set(title="Learning to read digits", xlabel="epoch", ylabel="mean loss (cross entropy)", yscale="log")
    axes.set_xticks(_ticks(len(losses)))
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=150)


def _ticks(epochs: int) -> list[int]:
    """Return the epochs to write at the axis: the first, and round numbers."""
    from matplotlib.ticker import MaxNLocator

    return [1, *[int(tick) for tick in MaxNLocator(8, integer=True).tick_values(1, epochs) if 1 < tick <= epochs]]
