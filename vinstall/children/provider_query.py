"""Asks variant provider plugins, one after the other, and answers on a channel of its own.

Standard library only, and no vinstall: it is run by the interpreter that has the plugins.
The request is JSON on standard input; each answer is one line of JSON, written as soon as its
plugin has answered, so that a later plugin that hangs or dies costs only itself. Whatever a
plugin prints goes to standard error.

Usage: ``provider_query.py fd NUMBER`` or ``provider_query.py file PATH``.
"""

import json
import os
import sys
import time
from typing import Any, Dict, List, TextIO


def _open_channel(kind: str, place: str) -> TextIO:
    if kind == "fd":
        return os.fdopen(int(place), "w", encoding="utf-8")
    return open(place, "w", encoding="utf-8")


def _load(reference: str) -> Any:
    """The plugin behind ``module:object``; classes that need it are instantiated."""
    import importlib

    module, _, path = reference.partition(":")
    found: Any = importlib.import_module(module.strip())
    for part in path.strip().split(".") if path.strip() else []:
        found = getattr(found, part)
    if isinstance(found, type):
        found = found()
    return found


def _configs(plugin: Any) -> List[Dict[str, Any]]:
    """What the plugin supports; old plugins take an argument."""
    ask = plugin.get_supported_configs
    try:
        import inspect

        needed = [
            one
            for one in inspect.signature(ask).parameters.values()
            if one.default is one.empty
            and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        needed = []
    answer = ask(None) if needed else ask()
    configs = []
    for config in answer:
        values = config.values
        if isinstance(values, str):
            raise TypeError("values of %r is a text, not a list" % (config.name,))
        configs.append({"name": config.name, "values": list(values)})
    return configs


def _ask(request: Dict[str, Any]) -> Dict[str, Any]:
    answer: Dict[str, Any] = {"id": request["id"]}
    start = time.monotonic()
    plugin = None
    try:
        plugin = _load(request["object"])
        answer["features"] = _configs(plugin)
        describe = getattr(plugin, "describe", None)
        if describe is not None:
            answer["description"] = describe()
    except Exception as error:
        text = str(error)
        variables = list(getattr(plugin, "environment_variables", ()) or ())
        named = [one for one in variables if one in text and one in os.environ]
        answer["error"] = "override" if isinstance(error, ValueError) and named else "failure"
        answer["text"] = ("%s: %s" % (type(error).__name__, text)) if not named else text
    answer["seconds"] = time.monotonic() - start
    return answer


def main() -> None:
    """Answer the request on standard input."""
    channel = _open_channel(sys.argv[1], sys.argv[2])
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    for path in request["paths"]:
        if path not in sys.path:
            sys.path.append(path)
    for plugin in request["plugins"]:
        channel.write(json.dumps({"begin": plugin["id"]}) + "\n")
        channel.flush()
        try:
            line = json.dumps(_ask(plugin))
        except (TypeError, ValueError, RecursionError) as error:
            line = json.dumps(
                {"id": plugin["id"], "error": "failure", "text": "no answer: %s" % (error,)}
            )
        channel.write(line + "\n")
        channel.flush()
    channel.write(json.dumps({"end": True}) + "\n")
    channel.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
