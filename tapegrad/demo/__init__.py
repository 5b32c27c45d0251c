"""What ``python -m tapegrad`` runs: the demo, and what there is to say about an installation."""
