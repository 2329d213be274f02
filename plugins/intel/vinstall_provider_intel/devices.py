"""What is known of Intel's GPUs: platforms, PCI numbers, and whose code runs where.

A platform is named by its device IP (GMDID), ``architecture.release.revision``, as Level Zero
tells it in ``ZE_extension_device_ip_version`` and as ``ocloc ids`` prints it.
"""

from __future__ import annotations

PLATFORMS: dict[str, str] = {
    "35.11.0": "",
    "35.10.4": "",
    "30.5.4": "30.0.4",
    "30.4.4": "30.0.4",
    "30.3.1": "30.0.4",
    "30.1.0": "30.0.4",
    "30.0.4": "",
    "20.4.4": "20.1.0",
    "20.2.0": "20.1.0",
    "20.1.0": "",
    "12.74.4": "",
    "12.71.4": "12.70.4",
    "12.70.4": "",
    "12.60.7": "",
    "12.57.0": "12.55.8",
    "12.56.5": "12.55.8",
    "12.55.8": "",
    "12.10.0": "",
    "12.4.0": "",
    "12.3.0": "",
    "12.2.0": "",
    "12.1.0": "",
    "12.0.0": "",
}
"""Device IP → the base platform whose code runs on it too; newest first."""

CARDS = frozenset(
    ("35.11.0", "20.2.0", "20.1.0", "12.60.7", "12.57.0", "12.56.5", "12.55.8", "12.10.0")
)
"""Platforms that are cards; the others are parts of CPUs."""

_NUMBERS: dict[str, str] = {
    "35.11.0": "674c",
    "30.3.1": "fd80 fd81",
    "30.1.0": "b090",
    "30.0.4": "b080 b081 b082 b083 b08f b0a0 b0b0",
    "20.4.4": "6420 64a0 64b0",
    "20.2.0": "e220 e221 e222 e223",
    "20.1.0": "e202 e209 e20b e20c e20d e210 e211 e212 e215 e216",
    "12.74.4": "7d51 7dd1",
    "12.71.4": "7d55 7dd5",
    "12.70.4": "7d40 7d45 7d41 7d67",
    "12.60.7": "0b69 0b6e 0bd4 0bd5 0bd6 0bd7 0bd8 0bd9 0bda 0bdb",
    "12.57.0": "5696 5697 56a3 56a4 56b2 56b3",
    "12.56.5": "5693 5694 5695 56a5 56a6 56b0 56b1 56ba 56bb 56bc 56bd 56c1",
    "12.55.8": "5690 5691 5692 56a0 56a1 56a2 56af 56be 56bf 56c0 56c2",
    "12.10.0": "4905 4906 4907 4908 4909",
    "12.4.0": "46d0 46d1 46d2 46d3 46d4",
    "12.3.0": (
        "46a0 46a1 46a2 46a3 46a6 46a8 46aa 462a 4626 4628 46b0 46b1 46b2 46b3 46c0 46c1 46c2 46c3 "
        "a7a0 a720 a7a8 a7a1 a721 a7a9 a7aa a7ab a7ac a7ad"
    ),
    "12.2.0": "4680 4682 4688 468a 468b 4690 4692 4693 a780 a781 a782 a783 a788 a789 a78a a78b",
    "12.1.0": "4c80 4c8a 4c8b 4c8c 4c90 4c9a",
    "12.0.0": "9a40 9a49 9a59 9a60 9a68 9a70 9a78",
}
_BY_NUMBER = {number: ip for ip, numbers in _NUMBERS.items() for number in numbers.split()}


def find_platform(device: str) -> str:
    """Device IP of a PCI device number, ``0x56a0``; empty if it is not a known one."""
    return _BY_NUMBER.get(device.lower().removeprefix("0x"), "")


def decode_ip(value: int) -> str:
    """``83886080`` → ``20.0.0``: 10 bits architecture, 8 release, 8 unused, 6 revision."""
    return f"{value >> 22}.{value >> 14 & 0xFF}.{value & 0x3F}"
