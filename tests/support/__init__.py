"""What tests share: wheels, source distributions, an index, environments.

``wheels`` and ``sdist`` make distribution files, ``variant_json`` their variant metadata,
``index`` serves them over HTTP on loopback with any fault wanted, ``environments`` makes
virtual environments and runs commands in them.
"""
