"""Command name → function of settings, arguments and console → exit code.

Only commands that work are registered. Each imports its road when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

from vinstall.cli.parser import OptionConflictError
from vinstall.errors import VinstallError, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vinstall.cli.precedence import Arguments
    from vinstall.console.output import Console
    from vinstall.console.progress import ConsoleObserver
    from vinstall.distributions.installed import InstalledDistribution
    from vinstall.settings import Settings
    from vinstall.workflow.context import Context
    from vinstall.workflow.install import InstallResult
    from vinstall.workflow.releases import Newest
    from vinstall.workflow.reports import Which

Command = Callable[["Settings", "Arguments", "Console"], int]


def find_command(name: str) -> Command:
    """The function of a command.

    Raises:
        VinstallError: vinstall does not offer the command.
    """
    command = COMMANDS.get(name)
    if command is None:
        raise VinstallError(
            f"The command {name!r} is not available in this version of vinstall",
            fix=f"To install a project of that name, write 'vinstall install {name}'.",
        )
    return command


@contextmanager
def _observing(console: Console) -> Iterator[ConsoleObserver]:
    from vinstall.console.progress import ConsoleObserver

    with ConsoleObserver(console) as observer:
        yield observer


@contextmanager
def _context(settings: Settings, console: Console) -> Iterator[Context]:
    from vinstall.workflow.context import Context

    with _observing(console) as observer:
        context = Context(settings, observer)
        try:
            yield context
        finally:
            context.close()


def _check_asked(settings: Settings, command: str) -> None:
    request = settings.request
    asked = (
        request.requirements,
        request.editables,
        request.files,
        request.groups,
        request.scripts,
    )
    if not any(asked):
        raise OptionConflictError(
            f'You must give at least one requirement to {command} (see "vinstall help {command}")'
        )


def _write_text(path: str, text: str) -> None:
    from pathlib import Path

    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise VinstallError(f"{path} can not be written", error.strerror or str(error)) from error


def install(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall install``."""
    _check_asked(settings, "install")
    from vinstall.workflow.satisfied import tell_satisfied

    with _observing(console) as observer:
        if tell_satisfied(settings, observer, looked_at=console.rests_on):
            return 0
        console.rests_on.clear()
        from vinstall.workflow.install import run_install

        result = run_install(settings, observer)
    _write_report(settings, result, console)
    _tell_install(result, console, warn=arguments.flag("warn_conflicts", True))
    return 0


def _write_report(settings: Settings, result: InstallResult, console: Console) -> None:
    from vinstall.console.tables import format_json

    path = settings.output.report
    if not path or result.report is None:
        return
    text = format_json(result.report, pretty=True)
    if path == "-":
        console.result(text)
    else:
        _write_text(path, text)


def _tell_install(result: InstallResult, console: Console, *, warn: bool) -> None:
    for hint in result.hints:
        console.hint(hint)
    if result.conflicts and warn:
        listed = "\n".join(result.conflicts)
        console.error(
            "pip's dependency resolver does not currently take into account all the packages that "
            "are installed. This behaviour is the source of the following dependency conflicts.\n"
            f"{listed}"
        )
    if not result.installed:
        return
    if result.variants:
        console.info(f"Variants: {', '.join(result.variants)}")
    listed = " ".join(f"{name}-{version}" for name, version in result.installed)
    console.info(f"{'Would install' if result.dry_run else 'Successfully installed'} {listed}")


def explain(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall explain``."""
    from vinstall.console.explanation import iter_explanation
    from vinstall.console.tables import format_json
    from vinstall.workflow.explain import explanation_to_json, run_explain

    _check_asked(settings, "explain")
    with _observing(console) as observer:
        explanation = run_explain(settings, observer)
    if arguments.text("html") or arguments.text("svg"):
        from vinstall.console.picture import format_html, format_svg

        lines = tuple(iter_explanation(explanation, everything=True))
        title = f"vinstall explain {' '.join(settings.request.requirements)}".strip()
        for option, form in (("html", format_html), ("svg", format_svg)):
            if arguments.text(option):
                _write_text(arguments.text(option), form(lines, title))
                console.info(f"Saved {arguments.text(option)}")
    if arguments.flag("json"):
        console.result(format_json(explanation_to_json(explanation), pretty=True))
        return 0
    for line in iter_explanation(explanation, everything=console.verbosity > 0):
        console.result(line)
    return 0


def download(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall download``."""
    _check_asked(settings, "download")
    from vinstall.workflow.download import run_download

    with _observing(console) as observer:
        result = run_download(settings, arguments.text("destination", "."), observer)
    if result.names:
        console.info(f"Successfully downloaded {' '.join(result.names)}")
    return 0


def wheel(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall wheel``."""
    _check_asked(settings, "wheel")
    from vinstall.workflow.download import run_download

    with _observing(console) as observer:
        run_download(settings, arguments.text("destination", "."), observer, build=True)
    return 0


def lock(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall lock``."""
    _check_asked(settings, "lock")
    from vinstall.workflow.lock import run_lock

    output = arguments.text("output_file", "pylock.toml")
    console.keeps_stdout = output == "-"
    with _observing(console) as observer:
        text = run_lock(settings, output, observer)
    if output == "-":
        console.result(text.rstrip("\n"))
    else:
        _write_text(output, text)
        console.info(f"Saved {output}")
    return 0


def sync(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall sync``."""
    from vinstall.workflow.lock import run_sync

    words = arguments.words or ("pylock.toml",)
    if len(words) > 1:
        raise OptionConflictError("sync takes one lock file")
    with _observing(console) as observer:
        result = run_sync(settings, words[0], observer)
    _write_report(settings, result.install, console)
    verb = "Would uninstall" if settings.dry_run else "Successfully uninstalled"
    for name, version in result.removed:
        console.info(f"{verb} {name}-{version}")
    _tell_install(result.install, console, warn=arguments.flag("warn_conflicts", True))
    return 0


def _unconfirmed() -> VinstallError:
    return VinstallError(
        "Nobody is there to confirm the removal", fix="Add -y to remove without a question."
    )


def uninstall(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall uninstall``."""
    import sys

    from vinstall.workflow.uninstall import run_uninstall, summarize_removal

    if not settings.request.requirements and not settings.request.files:
        raise OptionConflictError(
            'You must give at least one requirement to uninstall (see "vinstall help uninstall")'
        )
    confirm = None
    if not arguments.flag("yes"):
        if settings.index.no_input or sys.stdin is None:
            raise _unconfirmed()

        def confirm(found: InstalledDistribution, files: Sequence[str]) -> bool:
            removed, left = summarize_removal(found.location, files)
            console.info("  Would remove:")
            for path in removed:
                console.info(f"    {path}")
            if left:
                console.info("  Would not remove (might be manually added):")
                for path in left:
                    console.info(f"    {path}")
            try:
                answer = console.ask("Proceed (Y/n)? ")
            except EOFError:
                raise _unconfirmed() from None
            return answer.lower() in ("", "y", "yes")

    with _observing(console) as observer:
        run_uninstall(settings, observer, confirm)
    return 0


def _which(arguments: Arguments) -> Which:
    from vinstall.workflow.reports import Which

    editable: bool | None = None
    if arguments.flag("editable"):
        editable = True
    elif arguments.flag("exclude_editable") or not arguments.flag("include_editable", True):
        editable = False
    return Which(
        local=arguments.flag("local"),
        user_only=arguments.flag("user_only"),
        paths=arguments.items("paths"),
        excludes=arguments.items("excludes"),
        editable=editable,
        not_required=arguments.flag("not_required"),
    )


def list_packages(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall list``."""
    from vinstall.console.tables import format_columns, format_json
    from vinstall.workflow.reports import build_of, find_installed

    outdated, uptodate = arguments.flag("outdated"), arguments.flag("uptodate")
    shape = arguments.text("format", "columns")
    if outdated and uptodate:
        raise OptionConflictError("Options --outdated and --uptodate cannot be combined.")
    if outdated and shape == "freeze":
        raise OptionConflictError("List format 'freeze' cannot be used with the --outdated option.")
    newest: dict[str, Newest] = {}
    with _context(settings, console) as context:
        found = find_installed(context, _which(arguments))
        if outdated or uptodate:
            from vinstall.workflow.releases import find_newest

            newest = {
                one.distribution.project: one
                for one in find_newest(context, found)
                if one.is_newer is outdated
            }
            found = tuple(one for one in found if one.project in newest)
    verbose = console.verbosity > 0
    if shape == "json":
        items = [_listed(one, verbose=verbose) for one in found]
        for item, one in zip(items, found, strict=True) if outdated else ():
            item["latest_version"] = newest[one.project].version
            item["latest_filetype"] = newest[one.project].kind
        console.result(format_json(items))
        return 0
    if shape == "freeze":
        for one in found:
            place = f" ({one.location})" if verbose else ""
            console.result(f"{one.name}=={one.version_text}{place}")
        return 0
    columns: list[tuple[str, list[str]]] = [
        ("Package", [one.name for one in found]),
        ("Version", [one.version_text for one in found]),
    ]
    if outdated:
        columns.append(("Latest", [newest[one.project].version for one in found]))
        columns.append(("Type", [newest[one.project].kind for one in found]))
    builds = [build_of(one) for one in found]
    if any(builds):
        columns.append(("Build", builds))
    if any(one.label for one in found):
        columns.append(("Variant", [one.shown_label for one in found]))
    if any(one.editable_location for one in found):
        columns.append(("Editable project location", [one.editable_location for one in found]))
    if verbose:
        columns.append(("Location", [one.location for one in found]))
        columns.append(("Installer", [one.installer for one in found]))
    if found:
        rows = zip(*(cells for _, cells in columns), strict=True)
        for line in format_columns([title for title, _ in columns], rows):
            console.result(line)
    return 0


def _listed(one: InstalledDistribution, *, verbose: bool) -> dict[str, str]:
    item = {"name": one.name, "version": one.version_text}
    if one.label:
        item["variant"] = one.shown_label
        if one.bridge:
            item["bridge"] = one.bridge
    if verbose:
        item["location"] = one.location
        item["installer"] = one.installer
    if one.editable_location:
        item["editable_project_location"] = one.editable_location
    return item


def freeze(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall freeze``."""
    from vinstall.workflow.reports import freeze_lines

    with _context(settings, console) as context:
        found = dict(
            freeze_lines(context, _which(arguments), everything=arguments.flag("freeze_all"))
        )
    if settings.request.files:
        for line in _in_order_of_files(settings.request.files, found, console):
            console.result(line)
        if found:
            console.result("## The following requirements were added by pip freeze:")
    for line in found.values():
        console.result(line)
    return 0


def _in_order_of_files(
    files: Sequence[str], found: dict[str, str], console: Console
) -> Iterator[str]:
    """The lines of requirements files with what is installed in their places; takes it out."""
    import re
    from pathlib import Path

    from vinstall.distributions.filename import normalize_name

    for path in files:
        try:
            lines = Path(path).read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise VinstallError(
                f"Could not open requirements file: {path}", words_of(error)
            ) from error
        for line in lines:
            text = line.strip()
            name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", text)
            if not text or name is None:
                yield line.rstrip()
                continue
            project = normalize_name(name[0])
            if project in found:
                yield found.pop(project)
            else:
                console.warning(
                    f"Requirement file [{path}] contains {text}, but package {name[0]!r} is not "
                    "installed"
                )


def show(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall show``."""
    from vinstall.workflow.reports import show_lines

    if not arguments.words:
        console.warning("Please provide a package name or names.")
        return 1
    with _context(settings, console) as context:
        lines, missing = show_lines(
            context,
            arguments.words,
            files=arguments.flag("files"),
            verbose=console.verbosity > 0,
        )
    if missing:
        console.warning(f"Package(s) not found: {', '.join(missing)}")
    for line in lines:
        console.result(line)
    return 0 if lines else 1


def check(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall check``."""
    from vinstall.workflow.reports import check_environment

    if arguments.flag("repair") and not _repair(settings, console):
        return 1

    with _context(settings, console) as context:
        conflicts, foreign = check_environment(context)
    ordered = sorted(conflicts, key=lambda conflict: bool(conflict.found))
    for line in (*map(str, ordered), *foreign):
        console.result(line)
    if conflicts or foreign:
        return 1
    console.info("No broken requirements found.")
    return 0


def _repair(settings: Settings, console: Console) -> bool:
    """Put back missing and altered files; whether nothing is wrong any more."""
    from vinstall.workflow.repair import find_damage, run_repair

    with _context(settings, console) as context:
        damages = find_damage(tuple(context.installed))
    for damage in damages:
        name = f"{damage.distribution.name} {damage.distribution.version_text}"
        for path in damage.missing:
            console.result(f"{name}: {path} is missing")
        for path in damage.altered:
            console.result(f"{name}: {path} is altered")
        if damage.hopeless:
            console.warning(f"{name} can not be repaired: {damage.hopeless}.")
    with _observing(console) as observer:
        repaired = run_repair(settings, damages, observer)
    if repaired:
        console.result(f"Repaired {' '.join(f'{one}-{version}' for one, version in repaired)}")
    return not any(damage.hopeless for damage in damages)


def inspect(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall inspect``."""
    from vinstall.console.tables import format_json
    from vinstall.workflow.reports import inspect_environment

    with _context(settings, console) as context:
        data = inspect_environment(context, _which(arguments))
    console.result(format_json(data, pretty=True))
    return 0


def hash_files(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall hash``."""
    import hashlib

    if not arguments.words:
        raise OptionConflictError('You must give at least one file (see "vinstall help hash")')
    algorithm = arguments.text("algorithm", "sha256")
    for path in arguments.words:
        digest = hashlib.new(algorithm)
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise VinstallError(f"{path} can not be read", error.strerror or str(error)) from error
        console.result(f"{path}:\n--hash={algorithm}:{digest.hexdigest()}")
    return 0


def profile(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall profile save``, ``show`` and ``check``."""
    words = arguments.words
    path = words[0] if words else settings.variants.profile
    if len(words) > 1 or (not path and arguments.action != "show"):
        raise OptionConflictError(f"profile {arguments.action} takes one file.")
    with _observing(console) as observer:
        if arguments.action == "save":
            from vinstall.workflow.profile import save_profile

            saved = save_profile(path, settings, observer)
            namespaces = ", ".join(saved.supported.namespaces) or "no namespace"
            console.info(f"Saved {path} ({namespaces})")
            return 0
        if arguments.action == "show":
            from vinstall.profile import format_profile
            from vinstall.workflow.context import read_profile
            from vinstall.workflow.profile import run_make_profile

            shown = read_profile(path) if path else run_make_profile(settings, observer)
            console.result(format_profile(shown).rstrip("\n"))
            return 0
        from vinstall.workflow.profile import check_profile

        checked = check_profile(path, settings, observer)
    for text in checked.only_profile:
        console.result(f"only in the profile: {text}")
    for text in checked.only_machine:
        console.result(f"only on this machine: {text}")
    if checked.only_profile:
        return 1
    console.info("This machine supports all that the profile claims.")
    return 0


def provider(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall provider list``, ``trust`` and ``forget``."""
    from pathlib import Path

    from vinstall.cli.config_files import Surroundings

    words = arguments.words
    if arguments.action == "list":
        if words:
            raise OptionConflictError("provider list takes no argument.")
        from vinstall.console.doctor import iter_providers
        from vinstall.console.tables import format_json
        from vinstall.workflow.providers import list_providers, providers_to_json

        with _observing(console) as observer:
            found = list_providers(settings, observer)
        if arguments.flag("json"):
            console.result(format_json(providers_to_json(found), pretty=True))
            return 0
        for line in iter_providers(found):
            console.result(line)
        return 0
    if not words:
        raise OptionConflictError(f"provider {arguments.action} takes at least one name.")
    path = str(Path(Surroundings.of_process().user_folder("vinstall"), "vinstall.toml"))
    from vinstall.workflow.providers import forget_providers, trust_providers

    if arguments.action == "trust":
        change = trust_providers(path, words)
        for name in change.changed:
            console.info(f"{name} may run from now on ({path})")
        for name in change.unchanged:
            console.info(f"{name} is trusted already")
        return 0
    change = forget_providers(path, words, settings)
    for name in change.changed:
        console.info(f"{name} is not trusted any more ({path})")
    for name in change.unchanged:
        console.info(f"{name} was not trusted in {path}")
    console.info(f"Removed {change.environments} environments and {change.answers} kept answers")
    return 0


def doctor(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall doctor``."""
    from vinstall.cli.config_files import Surroundings, sources_in_force
    from vinstall.cli.precedence import target_prefix
    from vinstall.console.doctor import iter_diagnosis
    from vinstall.console.tables import format_json
    from vinstall.workflow.doctor import diagnosis_to_json, run_doctor

    if arguments.words:
        raise OptionConflictError("doctor takes no argument.")
    surroundings = Surroundings.of_process()
    prefix = target_prefix(settings.target.python, surroundings)
    sources = sources_in_force(surroundings, prefix, isolated=settings.target.isolated)
    with _observing(console) as observer:
        diagnosis = run_doctor(settings, observer, sources)
    if arguments.flag("json"):
        console.result(format_json(diagnosis_to_json(diagnosis), pretty=True))
    else:
        for line in iter_diagnosis(diagnosis, everything=console.verbosity > 0):
            console.result(line)
    return 0 if diagnosis.is_healthy else 1


def variant(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall variant`` with one of its actions."""
    if arguments.action != "rank":
        from vinstall.cli.variant_command import run_variant

        return run_variant(arguments, console)
    if len(arguments.words) != 1:
        raise OptionConflictError("variant rank takes one metadata file.")
    from vinstall.console.tables import format_json
    from vinstall.workflow.variant import ranking_to_json, run_rank

    with _observing(console) as observer:
        ranking = run_rank(arguments.words[0], settings, observer)
    if arguments.flag("json"):
        console.result(format_json(ranking_to_json(ranking)))
        return 0
    for place, one in enumerate(ranking.ranked, start=1):
        best = ", ".join(map(str, one.best_values))
        console.result(f"{place}. {one.label}{f': {best}' if best else ''}")
    for refused in ranking.refused:
        console.result(f"-  {refused.label}: {refused.reason}")
    if not any(one.label != "null" for one in ranking.ranked):
        profile = settings.variants.profile
        whose = f"the profile {profile}" if profile else "this machine"
        console.hint(
            f"No variant fits {whose}; an install takes "
            f"{'the null variant' if ranking.ranked else 'the wheel without a label'}."
        )
    return 0


def cache(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall cache``."""
    from vinstall.cli.cache_command import run_cache

    return run_cache(settings, arguments, console)


def index(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall index versions``."""
    from vinstall.cli.index_command import run_index

    with _context(settings, console) as context:
        return run_index(context, arguments, console)


def debug(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall debug``."""
    from vinstall.cli.debug_command import run_debug

    with _context(settings, console) as context:
        return run_debug(context, console)


def config(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall config``."""
    from vinstall.cli.config_command import run_config

    return run_config(settings, arguments, console)


def completion(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall completion``."""
    from vinstall.cli.completion import format_completion

    for shell in ("bash", "zsh", "fish", "powershell"):
        if arguments.flag(shell):
            console.result(format_completion(shell))
            return 0
    console.message("ERROR: You must pass --bash or --fish or --powershell or --zsh", -3)
    return 0  # as pip


def search(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall search``, which nobody can offer."""
    raise VinstallError(
        "There is no search: PyPI closed the service that it used",
        fix="Search on https://pypi.org instead.",
    )


def _guess_command(name: str) -> str:
    """What may have been meant, as the end of a sentence."""
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    return f' - maybe you meant "{close[0]}"' if close else ""


def help_page(settings: Settings, arguments: Arguments, console: Console) -> int:
    """``vinstall help``."""
    from vinstall.cli.help import program_name, show_help
    from vinstall.cli.options import command_specs

    name, action = (*arguments.words, "", "")[:2]
    name = name or "help"
    if name not in command_specs():
        raise OptionConflictError(f'unknown command "{name}"{_guess_command(name)}')
    return show_help(console, name, program_name(), action)


COMMANDS: Mapping[str, Command] = {
    "install": install,
    "lock": lock,
    "sync": sync,
    "uninstall": uninstall,
    "list": list_packages,
    "freeze": freeze,
    "show": show,
    "check": check,
    "inspect": inspect,
    "download": download,
    "wheel": wheel,
    "index": index,
    "debug": debug,
    "explain": explain,
    "profile": profile,
    "provider": provider,
    "doctor": doctor,
    "variant": variant,
    "cache": cache,
    "config": config,
    "completion": completion,
    "hash": hash_files,
    "search": search,
    "help": help_page,
}
"""The commands that work, by name."""
