#!/bin/sh
# Make a virtual environment with vinstall, its plugins and what the tests need; run the tests.
#
#   sh test.sh [arguments of pytest]
#
# PYTHON            the interpreter to use (python3)
# TEST_ENVIRONMENT  where the environment is or will be (.venv)
set -eu
cd "$(dirname "$0")"
environment=${TEST_ENVIRONMENT:-.venv}
if [ ! -x "$environment/bin/python" ]; then
    "${PYTHON:-python3}" -m venv "$environment" || {
        rm -rf "$environment"
        echo "On Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    }
fi
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "pip>=25.1"
set_up() {
    for settings in plugins/*/pyproject.toml; do
        if [ -f "$settings" ]; then
            set -- "$@" --editable "${settings%/pyproject.toml}"
        fi
    done
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
        --group test --editable . "$@"
}
set_up
if [ $# -eq 0 ]; then
    set -- -n 2
fi
exec "$environment/bin/python" -m pytest "$@"
