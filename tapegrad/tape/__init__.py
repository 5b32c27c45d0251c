"""The tape: recording, materialising, replay, views and modes."""
