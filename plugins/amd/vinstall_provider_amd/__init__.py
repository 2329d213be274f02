"""Variant provider for the namespace ``amd``: GPU architectures and the version of ROCm."""
