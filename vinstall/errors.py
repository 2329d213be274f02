"""Everything that can go wrong in a way that a user can understand.

    VinstallError                     could not be done                     exit 1
    ├── UsageError                    wrong options or arguments            exit 2
    ├── RequirementError              a requirement, constraint or their file
    ├── IndexAccessError              an index or a download
    │   └── ProjectNotFoundError      no index knows the project
    ├── HashMismatchError             a file is not the file that was promised
    ├── AttestationError              nobody proves who made a file
    ├── ResolutionError               no set of candidates fits
    │   └── NoMatchingWheelError      one project: nothing fits; carries the refusals
    ├── RequiredVariantError          --require-variant can not be met      exit 4
    ├── VariantMetadataError          variant.json or *-variants.json
    ├── ProviderError                 a variant provider
    │   ├── ProviderTimeoutError
    │   ├── ProviderReplyError
    │   └── ProviderNotTrustedError
    ├── ProfileError                  a machine profile
    ├── BridgeError                   a bridge file
    ├── InterpreterError              the Python to install for
    │   ├── ExternallyManagedError    PEP 668
    │   └── VirtualEnvironmentRequiredError                                 exit 3
    ├── WheelFormatError              a wheel that must not be installed
    ├── BuildError                    a source distribution that does not build
    ├── InstallError                  writing into the environment
    │   └── StoreAlteredError         what the cache unpacked was changed since
    ├── ConfigurationError            a configuration file or variable
    ├── LockFileError                 pylock.toml
    └── CancelledError                interrupted by the user               exit 1

Exit codes: 0 done, 1 could not be done, 2 wrong usage or a fault of ours, 3 a virtual
environment was required and there is none, 4 a required variant is not available.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar


class VinstallError(Exception):
    """What went wrong, why, and what to do about it.

    Attributes:
        what: One sentence that names the thing that failed.
        why: The cause; empty where ``what`` says it all.
        fix: What the user can do; empty where nothing helps.
        code: A stable name in kebab case, shown to the user and used in JSON.
        exit_code: The status that the command ends with.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return ": ".join(part for part in (self.what, self.why) if part)


class UsageError(VinstallError):
    """The command line can not be understood."""

    code = "usage"
    exit_code = 2


class RequirementError(VinstallError):
    """A requirement, a constraint, or the file that holds them is wrong."""

    code = "requirement"


class IndexAccessError(VinstallError):
    """An index or a file on it can not be read."""

    code = "index-access"


class ProjectNotFoundError(IndexAccessError):
    """No index that was asked knows the project."""

    code = "project-not-found"


class HashMismatchError(VinstallError):
    """A file that arrived whole is not the file that was promised."""

    code = "hash-mismatch"


class AttestationError(VinstallError):
    """It is not proven that a file comes from whom it has to come from."""

    code = "attestation"


class ResolutionError(VinstallError):
    """No set of candidates satisfies all requirements.

    Attributes:
        causes: Sentences that tell the tree of causes, outermost first.
    """

    code = "resolution"

    def __init__(
        self, what: str, why: str = "", fix: str = "", *, causes: Sequence[str] = ()
    ) -> None:
        super().__init__(what, why, fix)
        self.causes = tuple(causes)


class NoMatchingWheelError(ResolutionError):
    """A project exists, but none of its files fits.

    Attributes:
        requirement: The requirement as the user or a parent wrote it.
        versions: The versions that were seen, oldest first, as pip lists them.
    """

    code = "no-matching-distribution"

    def __init__(
        self,
        what: str,
        why: str = "",
        fix: str = "",
        *,
        requirement: str = "",
        versions: Sequence[str] = (),
        causes: Sequence[str] = (),
    ) -> None:
        super().__init__(what, why, fix, causes=causes)
        self.requirement = requirement
        self.versions = tuple(versions)


class RequiredVariantError(VinstallError):
    """A variant was required and can not be had."""

    code = "required-variant"
    exit_code = 4


class VariantMetadataError(VinstallError):
    """Variant metadata is wrong or contradicts itself."""

    code = "variant-metadata"


class WheelContradictionError(VariantMetadataError):
    """A variant wheel says something else of itself than its index.

    Attributes:
        filename: The wheel.
        reason: How it differs, as a sentence.
    """

    code = "wheel-contradiction"

    def __init__(self, filename: str, reason: str) -> None:
        super().__init__(f"{filename} is left out", reason)
        self.filename = filename
        self.reason = reason


class ProviderError(VinstallError):
    """A variant provider can not answer."""

    code = "provider"


class ProviderTimeoutError(ProviderError):
    """A variant provider took longer than it may."""

    code = "provider-timeout"


class ProviderReplyError(ProviderError):
    """A variant provider answered something that is not an answer."""

    code = "provider-reply"


class ProviderNotTrustedError(ProviderError):
    """A variant provider is not trusted by the user."""

    code = "provider-not-trusted"


class ProfileError(VinstallError):
    """A machine profile is wrong."""

    code = "profile"


class BridgeError(VinstallError):
    """A bridge file, or its name, is wrong."""

    code = "bridge"


class InterpreterError(VinstallError):
    """The Python to install for can not be used."""

    code = "interpreter"


class ExternallyManagedError(InterpreterError):
    """The environment is managed by something else (PEP 668)."""

    code = "externally-managed-environment"


class VirtualEnvironmentRequiredError(InterpreterError):
    """A virtual environment was required and there is none."""

    code = "virtual-environment-required"
    exit_code = 3


class WheelFormatError(VinstallError):
    """A wheel breaks the rules of its format and must not be installed."""

    code = "wheel-format"


class BuildError(VinstallError):
    """A source distribution or local project can not be built."""

    code = "build"


class InstallError(VinstallError):
    """The environment could not be changed.

    Attributes:
        rolled_back: Whether the environment is again as it was before.
    """

    code = "install"

    def __init__(
        self, what: str, why: str = "", fix: str = "", *, rolled_back: bool = True
    ) -> None:
        super().__init__(what, why, fix)
        self.rolled_back = rolled_back


class StoreAlteredError(InstallError):
    """What was unpacked into the cache is not what it was; it has to be fetched again.

    Attributes:
        sha256: Digest of the wheel.
        path: What is not what it was.
    """

    code = "store-altered"

    def __init__(self, filename: str, sha256: str, path: str) -> None:
        super().__init__(
            f"{filename} was altered in the cache after it was unpacked",
            f"{path} is not what it was",
            "'vinstall cache check' finds such entries and removes them.",
        )
        self.sha256 = sha256
        self.path = path


class ConfigurationError(VinstallError):
    """A configuration file or an environment variable holds something wrong."""

    code = "configuration"


class WrongSettingError(ConfigurationError):
    """A setting that a command starts with is wrong: status 2, as for a wrong option."""

    exit_code = 2


class LockFileError(VinstallError):
    """A lock file is wrong or does not fit."""

    code = "lock-file"


class CancelledError(VinstallError):
    """The user interrupted the command."""

    code = "cancelled"


def words_of(error: BaseException) -> str:
    """What an exception says: in words alone, without the number of a system's error."""
    said = getattr(error, "strerror", None) or str(error)
    return " ".join(said.split()) or type(error).__name__
