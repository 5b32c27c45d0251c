"""Composed functions, by family: what users call, made of primitives."""
