"""Variant provider for the namespace ``nvidia``: CUDA version of the driver, GPU architecture."""
