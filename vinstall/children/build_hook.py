"""Calls one hook of a build backend (PEP 517, PEP 660) and writes its answer into a file.

Standard library only, and no vinstall: it is run by the interpreter that has the backend,
with the project as the current folder. The request is JSON on standard input: ``backend``,
``path`` (folders of an in-tree backend), ``hook``, ``arguments``. What the backend prints goes
where it wants; the answer never does.

Usage: ``build_hook.py ANSWER``; the answer is ``{"value": ...}`` or ``{"missing": true}``.
"""

import importlib
import json
import os
import sys
from typing import Any, Dict


def _find_backend(name: str, places: Any) -> Any:
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != folder]
    sys.path[:0] = [os.path.abspath(place) for place in places]
    module, _, attributes = name.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def main(answer_path: str) -> None:
    """Answer the request on standard input."""
    request: Dict[str, Any] = json.load(sys.stdin)
    backend = _find_backend(request["backend"], request["path"])
    hook = getattr(backend, request["hook"], None)
    answer: Dict[str, Any] = {"missing": True}
    if hook is not None:
        answer = {"value": hook(*request["arguments"])}
    with open(answer_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main(sys.argv[1])
