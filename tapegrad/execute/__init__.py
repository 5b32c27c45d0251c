"""How a trace is run: the NumPy interpreter."""
