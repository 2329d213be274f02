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

_MOST = 20001
_MAX_FILE = 16 * 1024 * 1024


def _open_channel(kind: str, place: str) -> TextIO:
    if kind == "fd":
        os.set_inheritable(int(place), False)
        return os.fdopen(int(place), "w", encoding="utf-8")
    return open(place, "w", encoding="utf-8")


def _limit() -> None:
    """Bound what a plugin can write into files (its noise is one), and leave no core dump."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_FSIZE, _MAX_FILE), (resource.RLIMIT_CORE, 0)):
        try:
            hard = resource.getrlimit(kind)[1]
            if hard != resource.RLIM_INFINITY:
                most = min(most, hard)
            resource.setrlimit(kind, (most, hard))
        except (OSError, ValueError):
            pass


def _end_after(seconds: float) -> None:
    """End this process after a time, whatever it does then: its parent may be gone."""
    if seconds <= 0:
        return
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return
    import threading

    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()


def _load(reference: str) -> Any:
    """What stands behind ``module:object``."""
    import importlib

    module, _, path = reference.partition(":")
    found: Any = importlib.import_module(module.strip())
    for part in path.strip().split(".") if path.strip() else []:
        found = getattr(found, part)
    return found


def _configs(plugin: Any) -> List[Dict[str, Any]]:
    """What the plugin supports; old plugins take an argument."""
    from itertools import islice

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
    for config in islice(answer, _MOST):
        values = config.values
        if isinstance(values, str):
            raise TypeError("values of %r is a text, not a list" % (config.name,))
        configs.append({"name": config.name, "values": list(islice(values, _MOST))})
    return configs


def _describe(plugin: Any) -> Any:
    """What the plugin tells people; nothing where it can not, since the answer stands."""
    try:
        description = plugin.describe()
        json.dumps(description)
        return description
    except Exception:
        return None


def _ask(request: Dict[str, Any]) -> Dict[str, Any]:
    answer: Dict[str, Any] = {"id": request["id"]}
    start = time.monotonic()
    plugin = None
    try:
        plugin = _load(request["object"])
        if isinstance(plugin, type):
            plugin = plugin()
        answer["features"] = _configs(plugin)
        if hasattr(plugin, "describe"):
            answer["description"] = _describe(plugin)
    except SystemExit as error:
        answer["error"] = "failure"
        answer["text"] = "it wanted to end the process with status %s" % (error.code,)
    except Exception as error:
        text = str(error)
        variables = getattr(plugin, "environment_variables", None)
        if not isinstance(variables, (list, tuple, set, frozenset)):
            variables = ()
        named = [one for one in map(str, variables) if one in text and one in os.environ]
        answer["error"] = "override" if isinstance(error, ValueError) and named else "failure"
        answer["text"] = ("%s: %s" % (type(error).__name__, text)) if not named else text
    answer["seconds"] = time.monotonic() - start
    return answer


def main() -> None:
    """Answer the request on standard input."""
    channel = _open_channel(sys.argv[1], sys.argv[2])
    _limit()
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    _end_after(request.get("seconds", 0))
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
