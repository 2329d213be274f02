"""Prints the facts of the interpreter that runs it, as JSON behind a mark.

Standard library only, and no vinstall: it is run by the interpreter that we install for.
The answer follows a mark on a line of its own, so that a noisy ``sitecustomize`` can not be
taken for it.
"""

import json
import os
import platform
import struct
import sys
import sysconfig
from typing import Any, Dict, List, Optional, Tuple

MARK = "vinstall-target-probe:"


def _schemes() -> Tuple[str, str]:
    """The scheme names for the environment and for the user."""
    prefer = getattr(sysconfig, "get_preferred_scheme", None)
    if prefer is not None:
        return prefer("prefix"), prefer("user")
    own = getattr(sysconfig, "_get_preferred_schemes", None)
    if own is not None:
        found = own()
        return found["prefix"], found["user"]
    names = sysconfig.get_scheme_names()
    if os.name == "nt":
        return "nt", "nt_user"
    prefix = "posix_prefix"
    if "deb_system" in names and not _is_virtual():
        prefix = "posix_local" if "posix_local" in names else "posix_prefix"
    return prefix, "posix_user"


def _is_virtual() -> bool:
    return sys.prefix != getattr(sys, "base_prefix", sys.prefix)


def _paths(scheme: str, variables: Optional[Dict[str, str]] = None) -> Dict[str, str]:
    paths = sysconfig.get_paths(scheme, vars=variables)
    headers = paths.get("include", "")
    version = "python%d.%d" % sys.version_info[:2]
    if _is_virtual():
        headers = os.path.join(sys.prefix, "include", "site", version)
    return {
        "purelib": paths["purelib"],
        "platlib": paths["platlib"],
        "scripts": paths["scripts"],
        "data": paths["data"],
        "headers": headers,
    }


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


def _user_site() -> bool:
    """Whether the user's site-packages is in use."""
    import site

    if site.ENABLE_USER_SITE is None and sys.flags.no_user_site == 0:
        return not _is_virtual()
    return bool(site.ENABLE_USER_SITE) or (sys.flags.isolated == 1 and not _is_virtual())


def _search_path(
    prefix_paths: Dict[str, str], user_paths: Dict[str, str], system: bool
) -> List[str]:
    """Folders that can hold installed distributions, the first wins."""
    import site

    found = []
    for path in [prefix_paths["purelib"], prefix_paths["platlib"]]:
        found.append(path)
    if user_paths:
        found.insert(0, user_paths["purelib"])
    for path in sys.path:
        if path and os.path.basename(path) in ("site-packages", "dist-packages"):
            found.append(path)
    if system:
        found.extend(site.getsitepackages([sys.base_prefix, sys.base_exec_prefix]))
    unique: List[str] = []
    for path in found:
        if path not in unique:
            unique.append(path)
    return unique


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


def probe() -> Dict[str, Any]:
    """All facts, ready for JSON."""
    import site

    prefix_scheme, user_scheme = _schemes()
    paths = _paths(prefix_scheme)
    virtual = _is_virtual()
    system = virtual and _has_system_site()
    user_on = _user_site() and (not virtual or system)
    user_base = site.getuserbase() if user_on else ""
    user_paths: Dict[str, str] = {}
    if user_on:
        user_paths = _paths(user_scheme, {"userbase": user_base})
        version = "python%d.%d" % sys.version_info[:2]
        user_paths["headers"] = os.path.join(user_base, "include", version)
    libc, libc_version = _libc()
    mac = platform.mac_ver()
    return {
        "format": 1,
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
        "search_path": _search_path(paths, user_paths, system),
        "user_base": user_base,
        "user_paths": user_paths,
        "facts": {
            "cache_tag": sys.implementation.cache_tag or "",
            "platform": sysconfig.get_platform(),
            "soabi": sysconfig.get_config_var("SOABI") or "",
            "abi_flags": _abi_flags(),
            "pointer_bits": str(struct.calcsize("P") * 8),
            "libc": libc,
            "libc_version": libc_version,
            "mac_version": mac[0],
            "mac_machine": mac[2],
        },
    }


if __name__ == "__main__":
    sys.stdout.write("\n" + MARK + json.dumps(probe()) + "\n")
    sys.stdout.flush()
