"""Variant provider for the namespace ``intel``: platforms of GPUs that compute."""
