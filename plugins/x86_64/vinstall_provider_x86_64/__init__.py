"""Variant provider for the namespace ``x86_64``: CPU levels and extensions."""
