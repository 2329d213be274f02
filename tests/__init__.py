"""Tests of vinstall, and what they share in ``tests.support``."""
