"""Feed parsers with what nobody would write: ``python -m tests.fuzz NAME --runs N``.

With ``atheris``, the input is steered by what it reaches in vinstall and in ``packaging``.
Without it (or with ``--engine random``), good input is changed at random. The first finding
ends the run with status 1; its input is printed and goes into ``fixtures/fuzz/NAME/``, from
where the tests read it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

STEERED = ("vinstall", "packaging", "tests.fuzz")


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz one target, or all of them; 1 for a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", help="a target, or 'all', or 'list'")
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("atheris", "random"), default=None)
    options = parser.parse_args(argv)
    engine = options.engine or ("atheris" if _find_atheris() else "random")
    targets = _load(engine)
    if options.name == "list":
        print("\n".join(targets.TARGETS))
        return 0
    if options.name == "all":
        return _run_all(list(targets.TARGETS), options)
    if options.name not in targets.TARGETS:
        parser.error(f"no such target: {options.name}; 'list' names them")
    print(f"{options.name}: {options.runs} inputs by {engine}", flush=True)
    if engine == "atheris":
        return _steer(targets, options.name, options.runs, options.seed)
    return _mutate(targets, options.name, options.runs, options.seed)


def _find_atheris() -> bool:
    from importlib.util import find_spec

    return find_spec("atheris") is not None


def _load(engine: str) -> Any:
    from importlib import import_module

    if engine != "atheris":
        return import_module("tests.fuzz.targets")
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    with atheris.instrument_imports(include=list(STEERED)):
        return import_module("tests.fuzz.targets")


def _run_all(names: list[str], options: argparse.Namespace) -> int:
    """Run each target in a process of its own: the engine ends the process it runs in."""
    import subprocess

    status = 0
    for name in names:
        command = [sys.executable, "-m", "tests.fuzz", name, "--runs", str(options.runs)]
        command += ["--seed", str(options.seed)]
        if options.engine:
            command += ["--engine", options.engine]
        status |= bool(subprocess.run(command, check=False).returncode)
    return status


def _steer(targets: Any, name: str, runs: int, seed: int) -> int:
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    target = targets.TARGETS[name]
    corpus = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for number, good in enumerate(
        (*target.seeds, *(p.read_bytes() for p in targets.findings(name)))
    ):
        (corpus / str(number)).write_bytes(good)
    begun = time.monotonic()
    done = 0

    def feed(data: bytes) -> None:
        nonlocal done
        done += 1
        try:
            targets.run(name, data)
        except BaseException as error:
            _tell(targets, name, data, error, done)
            raise
        if done == runs:
            print(
                f"{name}: {done} inputs, no finding, {time.monotonic() - begun:.0f} s", flush=True
            )

    words = [f"-runs={runs}", f"-seed={seed}", f"-max_len={target.max_length}", "-verbosity=0"]
    words += ["-timeout=20", "-rss_limit_mb=2048", f"-artifact_prefix={corpus}/", str(corpus)]
    atheris.Setup([sys.argv[0], *words], feed)
    atheris.Fuzz()
    return 0


def _mutate(targets: Any, name: str, runs: int, seed: int) -> int:
    chance = random.Random(seed)
    target = targets.TARGETS[name]
    pool = [*target.seeds, *(path.read_bytes() for path in targets.findings(name))]
    begun = time.monotonic()
    for number in range(1, runs + 1):
        data = change(chance, chance.choice(pool), pool)[: target.max_length]
        try:
            targets.run(name, data)
        except Exception as error:
            _tell(targets, name, data, error, number)
            return 1
    print(f"{name}: {runs} inputs, no finding, {time.monotonic() - begun:.0f} s", flush=True)
    return 0


def change(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """Change some bytes: flip, replace, remove, repeat, move, or cross with other input."""
    made = bytearray(data)
    for _ in range(1 + int(chance.expovariate(0.5))):
        start = chance.randrange(len(made) + 1)
        size = chance.choice((1, 1, 1, 2, 4, 8, 32))
        kind = chance.randrange(6)
        if kind == 0:
            made[start : start + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            made[start : start + size] = b""
        elif kind == 2:
            made[start:start] = made[start : start + size] * chance.choice((1, 2, 50))
        elif kind == 3:
            other = chance.choice(pool)
            at = chance.randrange(len(other) + 1)
            made[start : start + size] = other[at : at + size]
        elif kind == 4:
            made[start : start + size] = chance.choice(_WORDS)
        else:
            made[start : start + size] = chance.randbytes(size)
    return bytes(made)


_WORDS = (
    b"\x00", b"\xff\xff\xff\xff", b"\n", b"\r", b"\r\n", b"\t", b'"', b"'", b"\\", b"..", b"/",
    b"-1", b"0", b"9" * 30, b"1e999", b"NaN", b"null", b"true", b"[", b"]", b"{", b"}", b"[" * 200,
    b"\xed\xa0\x80", "\u0130".encode(), "\u00e9".encode(), "\u0662".encode(), b";", b"@", b"#",
    b"file:///etc/passwd", b"https://[::1", b"http://a:b@c:99999/", b"%00", b"&#0;", b"::",
)  # fmt: skip


def _tell(targets: Any, name: str, data: bytes, error: BaseException, number: int) -> None:
    import hashlib

    traceback.print_exception(type(error), error, error.__traceback__, limit=-6)
    folder = targets.FINDINGS / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    print(f"{name}: finding at input {number}, kept in {path}\n{data!r}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
