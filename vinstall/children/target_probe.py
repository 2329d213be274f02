"""Prints the facts of the interpreter that runs it, as JSON behind a mark.

Standard library only, and no vinstall: it is run by the interpreter that we install for.
The answer follows a mark on a line of its own, so that a noisy ``sitecustomize`` can not be
taken for it.

Usage: ``target_probe.py MARK``.
"""

import importlib.util
import json
import os
import platform
import struct
import sys
import sysconfig
from typing import Any, Dict, Iterable, List, Tuple


def _schemes() -> Tuple[str, str]:
    """The scheme names for the environment and for the user."""
    prefer = getattr(sysconfig, "get_preferred_scheme", None)
    if prefer is not None:
        return prefer("prefix"), prefer("user")
    return choose_schemes(sysconfig.get_scheme_names(), sys.implementation.name, os.name)


def choose_schemes(names: Iterable[str], implementation: str, system: str) -> Tuple[str, str]:
    """The scheme names of an interpreter that does not say which it prefers (before 3.10)."""
    names = set(names)
    wanted = [implementation + "_" + system, implementation, system + "_prefix", system]
    prefix = [name for name in wanted if name in names]
    user = system + "_user"
    return (prefix or ["posix_prefix"])[0], user if user in names else "posix_user"


def _is_virtual() -> bool:
    return sys.prefix != getattr(sys, "base_prefix", sys.prefix)


def _paths(scheme: str, base: str = "") -> Dict[str, str]:
    """Scheme paths, below another base where one is given."""
    keys = ("base", "platbase", "installed_base", "installed_platbase", "prefix", "exec_prefix")
    paths = sysconfig.get_paths(scheme, vars=dict.fromkeys(keys, base) if base else None)
    headers = paths["include"]
    if _is_virtual():
        headers = os.path.join(base or sys.prefix, "include", "site", _python_name())
    return {
        "purelib": paths["purelib"],
        "platlib": paths["platlib"],
        "scripts": paths["scripts"],
        "data": paths["data"],
        "headers": headers,
    }


def _user_paths(scheme: str, base: str) -> Dict[str, str]:
    paths = sysconfig.get_paths(scheme, vars={"userbase": base})
    return {
        "purelib": paths["purelib"],
        "platlib": paths["platlib"],
        "scripts": paths["scripts"],
        "data": paths["data"],
        "headers": paths.get("include") or os.path.join(base, "include", _python_name()),
    }


def _python_name() -> str:
    return "python%d.%d" % sys.version_info[:2]


def local_paths(prefix: str, name: str, folders: Iterable[str]) -> Dict[str, str]:
    """Paths where a Debian before Python 3.10 installs, of which its sysconfig knows nothing.

    Args:
        prefix: ``sys.prefix``.
        name: ``pythonX.Y``.
        folders: What ``site`` takes for site-packages.

    Returns:
        Scheme paths; empty on other systems.
    """
    packages = "/usr/local/lib/%s/dist-packages" % name
    if prefix != "/usr" or packages not in folders:
        return {}
    return {
        "purelib": packages,
        "platlib": packages,
        "scripts": "/usr/local/bin",
        "data": "/usr/local",
        "headers": "/usr/local/include/" + name,
    }


def _prefix_tails(scheme: str) -> Dict[str, str]:
    """Scheme paths relative to a prefix that the user names.

    The schemes of Debian and of Apple, which lead out of the prefix, do not count there.
    """
    if scheme in ("posix_local", "osx_framework_library"):
        scheme = "posix_prefix"
    base = os.path.join(os.path.abspath(os.sep), "prefix")
    paths = _paths(scheme, base)
    return {"prefix_" + name: os.path.relpath(path, base) for name, path in paths.items()}


def _markers() -> Dict[str, str]:
    info = sys.implementation.version
    version = "%d.%d.%d" % (info.major, info.minor, info.micro)
    if info.releaselevel != "final":
        version += info.releaselevel[0] + str(info.serial)
    full = platform.python_version()
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": version,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": full + "local" if full.endswith("+") else full,
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }


def _libc() -> Tuple[str, str]:
    """(name, version) of the C library: ``glibc``, ``musl``, or empty."""
    if sys.platform != "linux":
        return "", ""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION")
        if text and text.startswith("glibc "):
            return "glibc", text.split()[1]
    except (AttributeError, ValueError, OSError):
        pass
    loader = _program_interpreter(sys.executable)
    if loader and "musl" in os.path.basename(loader):
        return "musl", _musl_version(loader)
    return "", ""


def _program_interpreter(path: str) -> str:
    """The loader that an ELF program names, or an empty text."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != b"\x7fELF":
                return ""
            wide = head[4] == 2
            order = "<" if head[5] == 1 else ">"
            if wide:
                (offset,) = struct.unpack_from(order + "Q", head, 32)
                size, count = struct.unpack_from(order + "HH", head, 54)
            else:
                (offset,) = struct.unpack_from(order + "I", head, 28)
                size, count = struct.unpack_from(order + "HH", head, 42)
            file.seek(offset)
            table = file.read(size * count)
            for index in range(count):
                entry = table[index * size : (index + 1) * size]
                if struct.unpack_from(order + "I", entry)[0] != 3:
                    continue
                if wide:
                    (start,) = struct.unpack_from(order + "Q", entry, 8)
                    (length,) = struct.unpack_from(order + "Q", entry, 32)
                else:
                    (start,) = struct.unpack_from(order + "I", entry, 4)
                    (length,) = struct.unpack_from(order + "I", entry, 16)
                file.seek(start)
                return file.read(length).strip(b"\0").decode("utf-8", "replace")
    except (OSError, struct.error, IndexError):
        pass
    return ""


def _musl_version(loader: str) -> str:
    """``major.minor`` of musl: its loader says so when it is run without arguments."""
    import subprocess

    try:
        process = subprocess.Popen([loader], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        text = process.communicate()[1].decode("utf-8", "replace")
    except OSError:
        return ""
    for line in text.splitlines():
        if line.startswith("Version "):
            return ".".join(line.split()[1].split(".")[:2])
    return ""


def _abi_flags() -> str:
    """ABI suffix letters: ``t`` for free-threaded, ``d`` for debug."""
    flags = ""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        flags += "t"
    if sysconfig.get_config_var("Py_DEBUG") or hasattr(sys, "gettotalrefcount"):
        flags += "d"
    return flags


def _user_site(virtual: bool, system: bool, apart: bool) -> bool:
    """Whether the user's site-packages is in use (PEP 370).

    Args:
        virtual: Whether this is a virtual environment.
        system: Whether it sees the packages of its base.
        apart: Whether this is a child, isolated by us and not by the user.
    """
    import site

    if virtual and not system:
        return False
    if not apart:
        return bool(site.ENABLE_USER_SITE)
    if os.environ.get("PYTHONNOUSERSITE"):
        return False
    if hasattr(os, "getuid") and os.geteuid() != os.getuid():
        return False
    return not hasattr(os, "getgid") or os.getegid() == os.getgid()


def _search_path(
    prefix_paths: Dict[str, str], user_paths: Dict[str, str], virtual: bool
) -> List[str]:
    """Folders that can hold installed distributions, the first wins (order as in ``site``)."""
    import site

    given = os.environ.get("PYTHONPATH", "")
    found = [os.path.abspath(path) for path in given.split(os.pathsep) if path]
    own = [prefix_paths["purelib"], prefix_paths["platlib"]]
    users = [user_paths["purelib"], user_paths["platlib"]] if user_paths else []
    found += own + users if virtual else users + own
    for path in sys.path:
        if os.path.basename(path) in ("site-packages", "dist-packages"):
            found.append(path)
    if virtual and _has_system_site():
        found += site.getsitepackages([sys.base_prefix, sys.base_exec_prefix])
    return list(dict.fromkeys(found))


def _has_system_site() -> bool:
    """Whether a virtual environment sees the packages of its base."""
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            for line in file:
                key, _, value = line.partition("=")
                if key.strip().lower() == "include-system-site-packages":
                    return value.strip().lower() == "true"
    except OSError:
        pass
    return False


def _mac_version() -> Tuple[str, str]:
    """(version, machine) of macOS; both empty elsewhere."""
    version, _, machine = platform.mac_ver()
    if version.startswith("10.16"):  # what an old SDK is told on macOS 11 and later
        import subprocess

        code = "import platform; print(platform.mac_ver()[0])"
        try:
            output = subprocess.check_output(
                [sys.executable, "-sS", "-c", code], env={"SYSTEM_VERSION_COMPAT": "0"}
            )
            version = output.decode("ascii").strip() or version
        except (OSError, ValueError, subprocess.CalledProcessError):
            pass
    return version, machine


def _refused_glibc(version: str, machine: str) -> str:
    """Versions of glibc whose wheels a ``_manylinux`` module does not want (PEP 600).

    Returns:
        ``major.minor`` with blanks between.
    """
    parts = version.split(".")
    try:
        import _manylinux  # type: ignore[import-not-found]

        refused = []
        for minor in range(int(parts[1]), 4, -1):
            one = (int(parts[0]), minor)
            if hasattr(_manylinux, "manylinux_compatible"):
                answer = _manylinux.manylinux_compatible(one[0], one[1], machine)
            else:
                name = {(2, 5): "1", (2, 12): "2010", (2, 17): "2014"}.get(one, "")
                answer = getattr(_manylinux, "manylinux%s_compatible" % name, None)
            if answer is not None and not answer:
                refused.append("%d.%d" % one)
        return " ".join(refused)
    except Exception:
        return ""


def _is_hard_float(path: str) -> bool:
    """Whether an ARM program uses the ABI with floating point registers."""
    try:
        with open(path, "rb") as file:
            head = file.read(40)
        if head[:6] != b"\x7fELF\x01\x01" or struct.unpack_from("<H", head, 18)[0] != 40:
            return False
        flags = int(struct.unpack_from("<I", head, 36)[0])
        return flags & 0xFF000400 == 0x05000400
    except (OSError, struct.error):
        return False


def probe(apart: bool = False) -> Dict[str, Any]:
    """All facts, ready for JSON.

    Args:
        apart: Whether this is a child that was started to be asked.
    """
    import site

    prefix_scheme, user_scheme = _schemes()
    paths = _paths(prefix_scheme)
    virtual = _is_virtual()
    system = virtual and _has_system_site()
    if sys.version_info < (3, 10) and not virtual:
        paths = local_paths(sys.prefix, _python_name(), site.getsitepackages()) or paths
    user_on = _user_site(virtual, system, apart)
    user_base = site.getuserbase() if user_on else ""
    user_paths = _user_paths(user_scheme, user_base) if user_on else {}
    libc, libc_version = _libc()
    mac_version, mac_machine = _mac_version()
    facts = {
        "cache_tag": sys.implementation.cache_tag or "",
        "magic": importlib.util.MAGIC_NUMBER.hex(),
        "platform": sysconfig.get_platform(),
        "soabi": sysconfig.get_config_var("SOABI") or "",
        "abi_flags": _abi_flags(),
        "pointer_bits": str(struct.calcsize("P") * 8),
        "libc": libc,
        "libc_version": libc_version,
        "libc_refused": _refused_glibc(libc_version, platform.machine()) if libc else "",
        "hard_float": "yes" if _is_hard_float(sys.executable) else "",
        "mac_version": mac_version,
        "mac_machine": mac_machine,
    }
    facts.update(_prefix_tails(prefix_scheme))
    return {
        "executable": sys.executable,
        "prefix": sys.prefix,
        "base_prefix": getattr(sys, "base_prefix", sys.prefix),
        "version": platform.python_version().rstrip("+"),
        "implementation": sys.implementation.name,
        "markers": _markers(),
        "paths": paths,
        "stdlib": sysconfig.get_path("stdlib"),
        "is_virtual": virtual,
        "system_site": system,
        "search_path": _search_path(paths, user_paths, virtual),
        "user_base": user_base,
        "user_paths": user_paths,
        "facts": facts,
    }


if __name__ == "__main__":
    sys.stdout.write("\n" + sys.argv[1] + json.dumps(probe(apart=True)) + "\n")
    sys.stdout.flush()
