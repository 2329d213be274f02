"""Every option of the command line, as data, and the commands that take it.

The table is all that the parser, the configuration files and the help page know of an
option. One function gives one group; only the groups of the command in hand are built.
Names and meanings are pip's (``pip-compat.md`` §1 and §2), beside those marked ``ours``.
"""

from __future__ import annotations

from vinstall.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    Kind = Literal[
        "flag",  # no value; true
        "unflag",  # no value; false (pip's "no-…" switches: their variables read the other way)
        "count",  # no value; adds one
        "cache-off",  # no value; turns the cache off, whatever its variable says (pip's history)
        "text",
        "path",  # text in which ~ stands for the home folder
        "integer",
        "number",
        "choice",
        "list",  # text, collected
        "path-list",
        "choice-list",
        "control",  # projects, :all: or :none:, folded in the order given
        "setting",  # KEY=VALUE, collected
        "pair",  # NAME=VALUE, collected (ours)
        "patterns",  # variant properties, collected; apart by commas where one text holds many
        "projects",  # no value for all; projects only after "="
        "moment",  # a moment of ISO 8601, or PnD for n days ago
        "python-version",
        "help",
        "version",
    ]


WITHOUT_VALUE = frozenset({"flag", "unflag", "count", "cache-off", "help", "version"})
COLLECTED = frozenset(
    {"list", "path-list", "choice-list", "control", "setting", "pair", "patterns"}
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        names: Spellings, short ones first, the preferred long one before its aliases.
        dest: Where the value goes; options that share one overrule each other.
        kind: What the option does with its value.
        help: One sentence.
        value: What the help page calls the value.
        choices: The accepted values of a choice.
        ours: Whether pip lacks the option: then its variables and files do not know it.
        hidden: Whether the help page leaves it out.
    """

    names: tuple[str, ...]
    dest: str
    kind: Kind
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    ours: bool = False
    hidden: bool = False

    @property
    def name(self) -> str:
        """The spelling that messages use: the first long one."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


@dataclass(frozen=True, slots=True)
class Group:
    """Options that the help page shows together."""

    title: str
    options: tuple[Option, ...]


def _option(
    names: str,
    dest: str,
    kind: Kind,
    text: str,
    value: str = "",
    choices: str = "",
    *,
    ours: bool = False,
    hidden: bool = False,
) -> Option:
    return Option(
        tuple(names.split()), dest, kind, text, value, tuple(choices.split()), ours, hidden
    )


def general_options() -> Group:
    """Options of every command."""
    return Group(
        "General options",
        (
            _option("-h --help", "help", "help", "Show this page."),
            _option("--debug", "debug", "flag", "Show the traceback of an unexpected error."),
            _option("--isolated", "isolated", "flag", "Ignore variables and the user's own files."),
            _option(
                "--require-virtualenv --require-venv",
                "require_virtualenv",
                "flag",
                "Refuse to work outside a virtual environment (status 3).",
            ),
            _option(
                "--python",
                "python",
                "text",
                "Work on this interpreter's or virtual environment's packages.",
                "python",
            ),
            _option("-v --verbose", "verbose", "count", "Say more; up to three times."),
            _option("-q --quiet", "quiet", "count", "Say less; up to three times."),
            _option(
                "--log --log-file --local-log", "log", "path", "Append all output here.", "file"
            ),
            _option("--no-input", "no_input", "flag", "Never ask anything."),
            _option(
                "--keyring-provider",
                "keyring_provider",
                "choice",
                "Where to look for passwords.",
                "provider",
                "auto disabled import subprocess",
            ),
            _option("--proxy", "proxy", "text", "Proxy to use.", "url"),
            _option("--no-proxy-env", "no_proxy_env", "flag", "Ignore proxies of variables."),
            _option("--retries", "retries", "integer", "How often a request is repeated.", "n"),
            _option(
                "--timeout --default-timeout",
                "timeout",
                "number",
                "Seconds of silence before a connection is given up.",
                "seconds",
            ),
            _option(
                "--exists-action",
                "exists_actions",
                "choice-list",
                "What to do with a checkout that is already there.",
                "action",
                "s i w b a",
            ),
            _option(
                "--trusted-host",
                "trusted_hosts",
                "list",
                "Do not check this host's certificate.",
                "host",
            ),
            _option("--cert", "cert", "path", "Certificates to trust.", "file"),
            _option("--client-cert", "client_cert", "path", "Certificate to show.", "file"),
            _option("--cache-dir", "cache_dir", "path", "Folder of the cache.", "dir"),
            _option("--no-cache-dir", "cache_dir", "cache-off", "Keep no cache."),
            _option(
                "--disable-pip-version-check",
                "disable_pip_version_check",
                "flag",
                "Accepted for pip's sake.",
            ),
            _option("--no-color", "no_color", "flag", "Use no colours."),
            _option(
                "--no-python-version-warning",
                "no_python_version_warning",
                "flag",
                "Accepted for pip's sake.",
                hidden=True,
            ),
            _option("--use-feature", "features", "list", "Accepted for pip's sake.", "feature"),
            _option(
                "--use-deprecated",
                "deprecated_features",
                "list",
                "Accepted for pip's sake.",
                "feature",
            ),
            _option(
                "--resume-retries",
                "resume_retries",
                "integer",
                "Accepted for pip's sake; --retries holds for broken downloads too.",
                "n",
            ),
        ),
    )


def version_options() -> Group:
    """The option that stands before any command."""
    return Group("", (_option("-V --version", "version", "version", "Show the version."),))


def requirement_options() -> Group:
    """What is asked for."""
    return Group(
        "What to take",
        (
            _option(
                "-r --requirement",
                "requirement_files",
                "list",
                "Take what this requirements file or pylock.toml lists.",
                "file",
            ),
            _option(
                "-c --constraint",
                "constraint_files",
                "list",
                "Keep to the limits of this file.",
                "file",
            ),
            _option(
                "--build-constraint",
                "build_constraint_files",
                "list",
                "Keep builds to the limits of this file.",
                "file",
            ),
            _option(
                "--requirements-from-script",
                "requirement_scripts",
                "list",
                "Take what this script's inline metadata lists.",
                "file",
            ),
            _option(
                "--group",
                "groups",
                "list",
                "Take a dependency group of a pyproject.toml or pylock.toml.",
                "[path:]group",
            ),
            _option("--no-deps --no-dependencies", "no_deps", "flag", "Leave dependencies out."),
            _option(
                "--only-deps --only-dependencies",
                "only_deps",
                "flag",
                "Take the dependencies alone.",
            ),
        ),
    )


def editable_options() -> Group:
    """Projects that stay where they are."""
    return Group(
        "Projects in place",
        (
            _option(
                "-e --editable",
                "editables",
                "list",
                "Install a project so that changes to its files show.",
                "path or url",
            ),
        ),
    )


def build_options() -> Group:
    """How sources become wheels."""
    return Group(
        "Building",
        (
            _option(
                "--src --source --source-dir --source-directory",
                "src",
                "path",
                "Folder of editable checkouts.",
                "dir",
            ),
            _option(
                "-C --config-settings --config-setting",
                "config_settings",
                "setting",
                "Setting for the build backend.",
                "key=value",
            ),
            _option(
                "--no-build-isolation",
                "build_isolation",
                "unflag",
                "Build with what is installed.",
            ),
            _option("--use-pep517", "use_pep517", "flag", "Accepted for pip's sake.", hidden=True),
            _option(
                "--check-build-dependencies",
                "check_build_dependencies",
                "flag",
                "Without isolation, check what the build needs.",
            ),
            _option("--no-clean", "no_clean", "flag", "Keep build folders."),
            _option(
                "--ignore-requires-python",
                "ignore_requires_python",
                "flag",
                "Take releases that do not name this Python.",
            ),
            _option(
                "--progress-bar",
                "progress_bar",
                "choice",
                "How progress is shown.",
                "how",
                "auto on off raw",
            ),
        ),
    )


def hash_options() -> Group:
    """Whether every file needs a hash."""
    return Group(
        "Hashes",
        (
            _option(
                "--require-hashes",
                "require_hashes",
                "flag",
                "Demand a hash for every requirement.",
            ),
            _option(
                "--no-require-hashes",
                "no_require_hashes",
                "flag",
                "Check only the hashes that are given.",
            ),
        ),
    )


def install_options() -> Group:
    """How the environment changes."""
    return Group(
        "Installing",
        (
            _option("--dry-run", "dry_run", "flag", "Decide everything, change nothing."),
            _option(
                "--report", "report", "text", "Write what was decided as JSON; - is stdout.", "file"
            ),
            _option("-t --target", "target_dir", "text", "Install into a flat folder.", "dir"),
            _option("--user", "user", "flag", "Install into the user's scheme."),
            _option("--no-user", "user", "unflag", "Never use the user's scheme.", hidden=True),
            _option("--root", "root", "text", "Put this folder before every path.", "dir"),
            _option("--prefix", "prefix", "text", "Install below this folder.", "dir"),
            _option("-U --upgrade", "upgrade", "flag", "Take the newest of what is named."),
            _option(
                "--upgrade-strategy",
                "upgrade_strategy",
                "choice",
                "What -U does with dependencies.",
                "strategy",
                "only-if-needed eager",
            ),
            _option("--force-reinstall", "force_reinstall", "flag", "Install again what is there."),
            _option(
                "-I --ignore-installed",
                "ignore_installed",
                "flag",
                "Decide as if nothing were installed; remove nothing.",
            ),
            _option("--compile", "compile", "flag", "Compile bytecode."),
            _option(
                "--allow-overlap",
                "allow_overlap",
                "flag",
                "Let a distribution replace a file of another one.",
                ours=True,
            ),
            _option(
                "--durable",
                "durable",
                "flag",
                "Have all on the disk before a change counts, for when the power fails.",
                ours=True,
            ),
            _option(
                "--max-unpacked",
                "max_unpacked",
                "number",
                "Unpack no wheel to more than this, in GiB (by default 64, and 200 times its "
                "size).",
                "GiB",
                ours=True,
            ),
            _option("--no-compile", "compile", "unflag", "Compile no bytecode (the default)."),
            _option(
                "--no-warn-script-location",
                "warn_script_location",
                "unflag",
                "Do not warn of scripts outside PATH.",
            ),
            _option(
                "--no-warn-conflicts",
                "warn_conflicts",
                "unflag",
                "Do not tell of broken dependencies.",
            ),
        ),
    )


def protection_options() -> Group:
    """Guards of a shared environment."""
    return Group(
        "Guards",
        (
            _option(
                "--break-system-packages",
                "break_system_packages",
                "flag",
                "Change an environment that something else manages.",
            ),
            _option(
                "--root-user-action",
                "root_user_action",
                "choice",
                "Accepted for pip's sake.",
                "action",
                "warn ignore",
            ),
        ),
    )


def platform_options() -> Group:
    """Another platform than this one."""
    return Group(
        "Another platform",
        (
            _option("--platform", "platforms", "list", "Platform tag of wheels.", "tag"),
            _option(
                "--python-version",
                "python_version",
                "python-version",
                "Version of Python, like 3.12.",
                "version",
            ),
            _option("--implementation", "implementation", "text", "Like cp, pp or py.", "tag"),
            _option("--abi", "abis", "list", "ABI tag of wheels.", "tag"),
        ),
    )


def index_options() -> Group:
    """Where distributions come from."""
    return Group(
        "Indexes",
        (
            _option("-i --index-url --pypi-url", "index_url", "text", "The main index.", "url"),
            _option("--extra-index-url", "extra_index_urls", "list", "One more index.", "url"),
            _option("--no-index", "no_index", "flag", "Use --find-links alone."),
            _option(
                "--refresh-package",
                "refresh_packages",
                "control",
                "Ask the index again about these projects.",
                "names",
            ),
            _option(
                "-f --find-links", "find_links", "list", "Folder or page with files.", "url or dir"
            ),
            _option(
                "--uploaded-prior-to",
                "uploaded_prior_to",
                "moment",
                "Ignore files uploaded later; a moment, or P3D for three days ago.",
                "moment",
            ),
            _option(
                "--index-strategy",
                "index_strategy",
                "choice",
                "Merge all indexes by version (pip's way, the default), or stop at the "
                "first that has the project.",
                "strategy",
                "unsafe-best-match first-index",
                ours=True,
            ),
            _option(
                "--index-pin",
                "index_pins",
                "pair",
                "Take this project from this index alone.",
                "name=url",
                ours=True,
            ),
        ),
    )


def selection_options() -> Group:
    """Which files of a release may be taken."""
    return Group(
        "Which files",
        (
            _option("--pre", "pre", "flag", "Take pre-releases too."),
            _option(
                "--all-releases",
                "release_control",
                "control",
                "Take pre-releases of these projects.",
                "names",
            ),
            _option(
                "--only-final",
                "release_control",
                "control",
                "Take no pre-releases of these projects.",
                "names",
            ),
            _option(
                "--no-binary", "format_control", "control", "Build these from source.", "names"
            ),
            _option("--only-binary", "format_control", "control", "Never build these.", "names"),
            _option(
                "--prefer-binary",
                "prefer_binary",
                "flag",
                "Prefer an older wheel to a newer source.",
            ),
            _option(
                "--require-attestations",
                "required_attestations",
                "pair",
                "Take files of this project only if this publisher attests them, such as "
                "github:owner/repository.",
                "name=publisher",
                ours=True,
            ),
            _option(
                "--attestation-trust",
                "attestation_trust",
                "choice",
                "Bring the certificates of attestations up to date first (the default), or "
                "use the ones kept here.",
                "which",
                "fresh kept",
                ours=True,
            ),
        ),
    )


def bridge_options() -> Group:
    """Builds that are hidden in index paths, names and extras (``docs/bridges.md``)."""
    return Group(
        "Bridges",
        (
            _option(
                "--bridge",
                "bridge",
                "projects",
                "Choose also among builds in other indexes, names and extras that are known to "
                "be builds of a project: of any family, or of those named after '='.",
                "family,...",
                ours=True,
            ),
            _option("--no-bridge", "no_bridge", "flag", "Use no bridge.", ours=True),
            _option(
                "--bridge-file",
                "bridge_files",
                "path-list",
                "Know the family of this file, too.",
                "file",
                ours=True,
            ),
            _option(
                "--bridge-url",
                "bridge_urls",
                "pair",
                "Look for the builds of a bridge here instead; '{label}' is the build.",
                "name=url",
                ours=True,
            ),
        ),
    )


def variant_options() -> Group:
    """What the user says about variants (``variants.md`` §6)."""
    return Group(
        "Variants",
        (
            _option(
                "--no-variant",
                "no_variant",
                "projects",
                "Take no variant wheels: of any project, or of those named after '='.",
                "name,...",
                ours=True,
            ),
            _option(
                "--variant",
                "variant_labels",
                "pair",
                "Take this variant of a project; 'null' is the fallback build.",
                "name=label",
                ours=True,
            ),
            _option(
                "--prefer-variant",
                "prefer_variants",
                "patterns",
                "Put variants with this property first.",
                "property",
                ours=True,
            ),
            _option(
                "--exclude-variant",
                "exclude_variants",
                "patterns",
                "Count this namespace, feature or property as not supported.",
                "property",
                ours=True,
            ),
            _option(
                "--require-variant",
                "required_variants",
                "list",
                "Fail (status 4) unless a variant of this project is taken.",
                "name[=namespace]",
                ours=True,
            ),
            _option(
                "--profile",
                "profile",
                "path",
                "Decide for the machine that this profile describes.",
                "file",
                ours=True,
            ),
            _option(
                "--trust-provider",
                "trusted_providers",
                "list",
                "Let this provider package run.",
                "name",
                ours=True,
            ),
            _option(
                "--enable-provider",
                "enabled_providers",
                "list",
                "Ask the optional provider of this namespace.",
                "namespace",
                ours=True,
            ),
            _option(
                "--no-providers",
                "no_providers",
                "flag",
                "Ask no provider: fixed properties and profiles only.",
                ours=True,
            ),
            _option(
                "--gpu",
                "gpu",
                "choice",
                "Whether a variant must run on all GPUs present or on the best one.",
                "which",
                "all best",
                ours=True,
            ),
            _option(
                "--allow-variant-change",
                "allow_variant_change",
                "flag",
                "Let this command swap the installed variant of a project.",
                ours=True,
            ),
            _option(
                "--strict-variants",
                "strict_variants",
                "flag",
                "Stop at bad variant metadata instead of going on without it.",
                ours=True,
            ),
        ),
    )


def uninstall_options() -> Group:
    """Options of ``uninstall``."""
    return Group(
        "Removing",
        (
            _option(
                "-r --requirement",
                "requirement_files",
                "list",
                "Remove what this requirements file lists.",
                "file",
            ),
            _option("-y --yes", "yes", "flag", "Do not ask."),
        ),
    )


def listing_options() -> Group:
    """Which installed distributions are looked at."""
    return Group(
        "Which distributions",
        (
            _option("-l --local", "local", "flag", "Leave out those of the base environment."),
            _option("--user", "user_only", "flag", "Only those of the user's scheme."),
            _option("--path", "paths", "path-list", "Only those in this folder.", "dir"),
        ),
    )


def inspect_options() -> Group:
    """Options of ``inspect``, where ``-l`` has no meaning."""
    return Group(
        "Which distributions",
        (
            _option("--local", "local", "flag", "Leave out those of the base environment."),
            _option("--user", "user_only", "flag", "Only those of the user's scheme."),
            _option("--path", "paths", "path-list", "Only those in this folder.", "dir"),
        ),
    )


def list_options() -> Group:
    """Options of ``list``."""
    return Group(
        "Listing",
        (
            _option("-o --outdated", "outdated", "flag", "Only those with a newer release."),
            _option("-u --uptodate", "uptodate", "flag", "Only those without a newer release."),
            _option("-e --editable", "editable", "flag", "Only editable ones."),
            _option(
                "--format",
                "format",
                "choice",
                "How the list looks.",
                "format",
                "columns freeze json",
            ),
            _option(
                "--not-required", "not_required", "flag", "Only those that no other one needs."
            ),
            _option("--exclude-editable", "include_editable", "unflag", "Leave editable ones out."),
            _option("--include-editable", "include_editable", "flag", "Keep editable ones."),
            _option("--exclude", "excludes", "list", "Leave this one out.", "name"),
        ),
    )


def freeze_options() -> Group:
    """Options of ``freeze``."""
    return Group(
        "Freezing",
        (
            _option(
                "-r --requirement",
                "requirement_files",
                "list",
                "Keep the order and the comments of this file.",
                "file",
            ),
            _option("--all", "freeze_all", "flag", "Leave out nothing: pip stays in too."),
            _option("--exclude-editable", "exclude_editable", "flag", "Leave editable ones out."),
            _option("--exclude", "excludes", "list", "Leave this one out.", "name"),
        ),
    )


def show_options() -> Group:
    """Options of ``show``."""
    return Group("Showing", (_option("-f --files", "files", "flag", "List the files too."),))


def download_options() -> Group:
    """Options of ``download``."""
    return Group(
        "Downloading",
        (
            _option(
                "-d --dest --destination-dir --destination-directory",
                "destination",
                "text",
                "Folder for the files.",
                "dir",
            ),
        ),
    )


def wheel_options() -> Group:
    """Options of ``wheel``."""
    return Group(
        "Wheels",
        (
            _option("-w --wheel-dir", "destination", "text", "Folder for the wheels.", "dir"),
            _option("--no-verify", "no_verify", "flag", "Do not check the built wheels."),
        ),
    )


def hash_command_options() -> Group:
    """Options of ``hash``."""
    return Group(
        "Hashing",
        (
            _option(
                "-a --algorithm",
                "algorithm",
                "choice",
                "Which hash.",
                "name",
                "sha256 sha384 sha512",
            ),
        ),
    )


def check_options() -> Group:
    """Options of ``check``."""
    return Group(
        "Files",
        (
            _option(
                "--repair",
                "repair",
                "flag",
                "Put back files that are missing or altered.",
                ours=True,
            ),
        ),
    )


def cache_options() -> Group:
    """Options of ``cache``."""
    return Group(
        "Listing",
        (
            _option(
                "--format", "format", "choice", "How the list looks.", "format", "human abspath"
            ),
        ),
    )


def config_options() -> Group:
    """Options of ``config``."""
    return Group(
        "Files",
        (
            _option("--editor", "editor", "text", "Editor to use.", "command"),
            _option("--global", "global_file", "flag", "The file of the whole system."),
            _option("--user", "user_file", "flag", "The user's file."),
            _option("--site", "site_file", "flag", "The file of the environment."),
        ),
    )


def json_options() -> Group:
    """Machine-readable answers."""
    return Group("Answer", (_option("--json", "json", "flag", "Answer in JSON."),))


def lock_options() -> Group:
    """Options of ``lock``."""
    return Group(
        "Locking",
        (
            _option(
                "-o --output",
                "output_file",
                "path",
                "Where the lock file goes; - is stdout. The default is pylock.toml.",
                "file",
            ),
        ),
    )


def explain_options() -> Group:
    """Options of ``explain``."""
    return Group(
        "Explaining",
        (
            _option("--json", "json", "flag", "Answer in JSON.", ours=True),
            _option("--html", "html", "path", "Write a page.", "file", ours=True),
            _option("--svg", "svg", "path", "Write a picture.", "file", ours=True),
        ),
    )


def variant_command_options() -> Group:
    """Options of ``variant``."""
    return Group(
        "Publishing",
        (
            _option("--json", "json", "flag", "Answer in JSON.", ours=True),
            _option("-o --output", "output_file", "path", "Where to write.", "path", ours=True),
            _option("--label", "label", "text", "Label of the new variant.", "label", ours=True),
            _option(
                "--property",
                "properties",
                "patterns",
                "Property of the new variant.",
                "property",
                ours=True,
            ),
            _option(
                "--metadata",
                "metadata_file",
                "path",
                "pyproject.toml or JSON that names the providers.",
                "file",
                ours=True,
            ),
        ),
    )


def completion_options() -> Group:
    """Options of ``completion``."""
    return Group(
        "Shells",
        (
            _option("-b --bash", "bash", "flag", "For bash."),
            _option("-z --zsh", "zsh", "flag", "For zsh."),
            _option("-f --fish", "fish", "flag", "For fish."),
            _option("-p --powershell", "powershell", "flag", "For PowerShell."),
        ),
    )


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command: what it is for, how it is called, what it takes.

    Attributes:
        usage: The call without the program's name, a line each.
        actions: Accepted first words; empty where the command has none.
        groups: Functions of its groups, beside the general one.
    """

    name: str
    summary: str
    usage: tuple[str, ...]
    groups: tuple[Callable[[], Group], ...] = ()
    actions: tuple[str, ...] = ()


_TAKING = (requirement_options, build_options, hash_options)
_FINDING = (selection_options, index_options, variant_options, bridge_options)


def command_specs() -> dict[str, CommandSpec]:
    """Every command by name, in the order of the help page."""
    specs = (
        CommandSpec(
            "install",
            "Install packages: the build that fits this machine.",
            (
                "[install] [options] REQUIREMENT ...",
                "[install] [options] -r FILE ...",
                "[install] [options] [-e] PATH or URL ...",
            ),
            (
                *_TAKING,
                editable_options,
                install_options,
                protection_options,
                platform_options,
                *_FINDING,
            ),
        ),
        CommandSpec(
            "uninstall",
            "Remove packages.",
            ("uninstall [options] NAME ...", "uninstall [options] -r FILE ..."),
            (uninstall_options, protection_options),
        ),
        CommandSpec(
            "list",
            "List installed packages and their variants.",
            ("list [options]",),
            (listing_options, list_options, *_FINDING),
        ),
        CommandSpec(
            "freeze",
            "List installed packages as requirements.",
            ("freeze [options]",),
            (freeze_options, listing_options),
        ),
        CommandSpec(
            "show",
            "Tell about installed packages.",
            ("show [options] NAME ...",),
            (show_options,),
        ),
        CommandSpec(
            "check",
            "Check that dependencies fit together.",
            ("check [options]",),
            (check_options, *_FINDING),
        ),
        CommandSpec(
            "inspect",
            "Describe the environment in JSON.",
            ("inspect [options]",),
            (inspect_options,),
        ),
        CommandSpec(
            "download",
            "Download packages.",
            ("download [options] REQUIREMENT ...", "download [options] -r FILE ..."),
            (*_TAKING, download_options, platform_options, *_FINDING),
        ),
        CommandSpec(
            "wheel",
            "Build wheels.",
            ("wheel [options] REQUIREMENT ...", "wheel [options] -r FILE ..."),
            (*_TAKING, editable_options, wheel_options, *_FINDING),
        ),
        CommandSpec(
            "lock",
            "Write a pylock.toml that names the variants.",
            ("lock [options] REQUIREMENT ...", "lock [options] -r FILE ..."),
            (*_TAKING, editable_options, lock_options, platform_options, *_FINDING),
        ),
        CommandSpec(
            "sync",
            "Make the environment equal to a lock file.",
            ("sync [options] [PYLOCK.toml]",),
            (
                *_TAKING,
                uninstall_yes_options,
                install_options,
                protection_options,
                *_FINDING,
            ),
        ),
        CommandSpec(
            "explain",
            "Tell why a build is chosen and the others are not.",
            ("explain [options] REQUIREMENT ...",),
            (
                explain_options,
                *_TAKING,
                editable_options,
                resolve_options,
                platform_options,
                *_FINDING,
            ),
        ),
        CommandSpec(
            "profile",
            "Write down what this machine supports, for use elsewhere.",
            ("profile save FILE", "profile show [FILE]", "profile check FILE"),
            (json_options, variant_options),
            ("save", "show", "check"),
        ),
        CommandSpec(
            "provider",
            "Who answers for which namespace, and who is trusted.",
            ("provider list", "provider trust NAME ...", "provider forget NAME ..."),
            (json_options, variant_options, index_options),
            ("list", "trust", "forget"),
        ),
        CommandSpec(
            "variant",
            "Rank, read and make variant wheels.",
            (
                "variant rank METADATA.json [--profile FILE] [--json]",
                "variant show WHEEL ...",
                "variant make WHEEL --label LABEL --property PROPERTY ...",
                "variant unmake WHEEL",
                "variant index DIR",
            ),
            (variant_command_options, variant_options),
            ("rank", "show", "make", "unmake", "index"),
        ),
        CommandSpec(
            "doctor",
            "Check everything about this machine that decides.",
            ("doctor [options]",),
            (json_options, index_options, variant_options),
        ),
        CommandSpec(
            "index",
            "Ask an index about a project.",
            ("index versions [options] NAME",),
            (json_options, platform_options, index_python_options, *_FINDING),
            ("versions",),
        ),
        CommandSpec(
            "cache",
            "Look into the cache or empty it.",
            (
                "cache dir",
                "cache info",
                "cache list [PATTERN]",
                "cache remove PATTERN",
                "cache purge",
                "cache check",
            ),
            (cache_options,),
            ("dir", "info", "list", "remove", "purge", "check"),
        ),
        CommandSpec(
            "config",
            "Read and write pip's configuration files.",
            (
                "config [--user|--global|--site] list",
                "config [--user|--global|--site] get COMMAND.OPTION",
                "config [--user|--global|--site] set COMMAND.OPTION VALUE",
                "config [--user|--global|--site] unset COMMAND.OPTION",
                "config [--user|--global|--site] edit [--editor COMMAND]",
                "config debug",
            ),
            (config_options,),
            ("list", "get", "set", "unset", "edit", "debug"),
        ),
        CommandSpec(
            "hash",
            "Print the hashes of files.",
            ("hash [options] FILE ...",),
            (hash_command_options,),
        ),
        CommandSpec(
            "debug",
            "Print what a bug report needs.",
            ("debug [options]",),
            (platform_options, variant_options),
        ),
        CommandSpec("search", "Not offered: PyPI closed this service.", ("search QUERY",)),
        CommandSpec("help", "Show help for a command.", ("help [COMMAND]",)),
        CommandSpec(
            "completion",
            "Print a script that completes commands and options.",
            ("completion --bash|--zsh|--fish|--powershell",),
            (completion_options,),
        ),
    )
    return {spec.name: spec for spec in specs}


def uninstall_yes_options() -> Group:
    """The one option that ``sync`` shares with ``uninstall``."""
    return Group("Removing", (_option("-y --yes", "yes", "flag", "Do not ask."),))


def index_python_options() -> Group:
    """Which releases ``index versions`` counts."""
    return Group(
        "Python",
        (
            _option(
                "--ignore-requires-python",
                "ignore_requires_python",
                "flag",
                "Count releases that do not name this Python.",
            ),
        ),
    )


def resolve_options() -> Group:
    """What ``explain`` shares with ``install`` about what is installed."""
    return Group(
        "Deciding",
        (
            _option("-U --upgrade", "upgrade", "flag", "Take the newest of what is named."),
            _option(
                "--upgrade-strategy",
                "upgrade_strategy",
                "choice",
                "What -U does with dependencies.",
                "strategy",
                "only-if-needed eager",
            ),
            _option(
                "-I --ignore-installed",
                "ignore_installed",
                "flag",
                "Decide as if nothing were installed.",
            ),
        ),
    )


def groups_of(spec: CommandSpec) -> tuple[Group, ...]:
    """The groups of a command, its own first and the general one last."""
    return (*(make() for make in spec.groups), general_options())


def options_of(spec: CommandSpec) -> tuple[Option, ...]:
    """All options of a command."""
    return tuple(option for group in groups_of(spec) for option in group.options)


def all_options() -> tuple[Option, ...]:
    """The options of all commands, each once, for sources that serve every command."""
    found: dict[Option, None] = {}
    for spec in command_specs().values():
        found.update(dict.fromkeys(options_of(spec)))
    return tuple(found)
