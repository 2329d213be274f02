"""Variant provider for the namespace ``aarch64``: Arm versions and CPU extensions."""
