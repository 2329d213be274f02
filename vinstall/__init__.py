"""A pip-compatible installer that picks the right build for this machine."""

__version__ = "0.1.0"
