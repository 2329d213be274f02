"""Scripts that complete commands and options in shells.

The words are written into the script: completing costs no start of Python.
"""

from __future__ import annotations

from vinstall.cli.options import command_specs, options_of

_BASH = """\
_vinstall() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" command="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in
            {commands_bar}) command="$word"; break ;;
        esac
    done
    local words
    case "$command" in
{cases}
        *) words="{commands} {install}" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ "${{#COMPREPLY[@]}}" -eq 0 ] && COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _vinstall vinstall"""

_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"

_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName vinstall -ScriptBlock {{
    param($word, $line, $position)
    $options = @{{
{table}
    }}
    $command = $line.CommandElements | ForEach-Object {{ "$_" }} |
        Where-Object {{ $options.ContainsKey($_) }} | Select-Object -First 1
    if (-not $command) {{ $command = '' }}
    $options[$command].Split(' ') | Where-Object {{ $_ -like "$word*" }}
}}"""


def format_completion(shell: str) -> str:
    """The script for ``bash``, ``zsh``, ``fish`` or ``powershell``."""
    words = _words()
    if shell == "fish":
        return _fish(words)
    if shell == "powershell":
        table = {"": [*words, *words["install"]], **words}
        rows = (f"        '{name}' = '{' '.join(some)}'" for name, some in table.items())
        return _POWERSHELL.format(table="\n".join(rows))
    cases = "\n".join(
        f'        {name}) words="{" ".join(some)}" ;;' for name, some in words.items()
    )
    script = _BASH.format(
        commands_bar="|".join(words),
        commands=" ".join(words),
        install=" ".join(words["install"]),
        cases=cases,
    )
    return _ZSH + script if shell == "zsh" else script


def _words() -> dict[str, list[str]]:
    """Command → its actions and the long names of its options."""
    return {
        name: [
            *spec.actions,
            *(option.name for option in options_of(spec) if not option.hidden),
        ]
        for name, spec in command_specs().items()
    }


def _fish(words: dict[str, list[str]]) -> str:
    specs = command_specs()
    lines = [
        f"complete -c vinstall -n __fish_use_subcommand -a {name} -d {_quote(spec.summary)}"
        for name, spec in specs.items()
    ]
    for name, spec in specs.items():
        condition = f"'__fish_seen_subcommand_from {name}'"
        lines.extend(f"complete -c vinstall -n {condition} -a {word}" for word in spec.actions)
        lines.extend(
            f"complete -c vinstall -n {condition} -l {option.name[2:]} -d {_quote(option.help)}"
            for option in options_of(spec)
            if option.name in words[name]
        )
    return "\n".join(lines)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
