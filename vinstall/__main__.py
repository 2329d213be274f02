"""``python -m vinstall``."""

import sys

from vinstall.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
