"""Help pages: of commands, and of their actions."""

from __future__ import annotations

import pytest

from vinstall.cli.help import ACTIONS, format_command_help
from vinstall.cli.options import command_specs


def test_every_action_is_described() -> None:
    known = {(spec.name, action) for spec in command_specs().values() for action in spec.actions}
    assert set(ACTIONS) == known


def test_the_page_of_a_command_lists_its_actions() -> None:
    page = format_command_help("provider", "vinstall", 100)
    start = page.index("Actions:")
    assert [line.split()[0] for line in page[start + 1 :] if line[2:3].strip()][:3] == [
        "list",
        "trust",
        "forget",
    ]


def test_the_page_of_an_action_speaks_of_it_alone() -> None:
    page = "\n".join(format_command_help("provider", "vinstall", 100, "trust"))
    assert page.startswith(ACTIONS["provider", "trust"][:40])
    assert "  vinstall provider trust NAME" in page
    assert "provider forget NAME" not in page
    assert "--variant" not in page
    assert "--help" in page


@pytest.mark.parametrize("action", ["", "nothing"])
def test_other_words_change_nothing(action: str) -> None:
    whole = format_command_help("cache", "vinstall", 100)
    assert format_command_help("cache", "vinstall", 100, action) == whole
