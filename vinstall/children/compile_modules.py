"""Compiles modules to bytecode without running them; the parent says where each one goes.

Standard library only, and no vinstall: it is run by the interpreter that will load the
bytecode. Each line of standard input is JSON, ``[source, target, shown name, permission bits
of the target]``; each is answered, in order, by a line of standard output: ``[size,
nanoseconds of the modification time, sha256]`` of the target, ``null`` for what is no module
of this Python, or a text that says why the target could not be written.
The first line of the answer is ``ready``.

Usage: ``compile_modules.py MAGIC KIND``: the magic number that is expected, in hexadecimal;
``time``, or ``hash`` for bytecode that is compared with its source by digest (PEP 552).
"""

import gc
import hashlib
import importlib.util
import json
import marshal
import os
import signal
import struct
import sys
from typing import Any

_BINARY = getattr(os, "O_BINARY", 0)


def compile_module(source: str, target: str, shown: str, mode: int, by_hash: bool) -> Any:
    """Compile one module; what the parent is answered."""
    try:
        with open(source, "rb") as file:
            data = file.read()
            facts = os.fstat(file.fileno())
        code = compile(data, shown, "exec", dont_inherit=True)
        body = marshal.dumps(code)
    except Exception:  # a template, or of another Python; what a parser raises is no contract
        return None
    head = importlib.util.MAGIC_NUMBER
    if by_hash:
        head += struct.pack("<I", 3) + importlib.util.source_hash(data)
    else:
        modified = int(facts.st_mtime) & 0xFFFFFFFF
        head += struct.pack("<III", 0, modified, facts.st_size & 0xFFFFFFFF)
    content = head + body
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            written = os.fstat(descriptor).st_mtime_ns
    except OSError as error:
        return error.strerror or str(error)
    return [len(content), written, hashlib.sha256(content).hexdigest()]


def main(magic: str, kind: str) -> None:
    """Answer until standard input ends."""
    if importlib.util.MAGIC_NUMBER.hex() != magic:
        sys.exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    os.umask(0)  # the parent says what each file may be used for
    gc.disable()  # a twentieth of the time, and compiling leaves no cycles behind
    sys.stdout.buffer.write(b"ready\n")
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        source, target, shown, mode = json.loads(line)
        answer = compile_module(source, target, shown, mode, kind == "hash")
        sys.stdout.buffer.write(json.dumps(answer).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
