"""What bridges show, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import MARKERS, FakeLookup, FakeSource, supports
from tests.unit.bridges.test_reader import GOOD
from vinstall.bridges.reader import parse_family
from vinstall.bridges.source import BridgedSource, Places
from vinstall.distributions.link import Link
from vinstall.errors import ProjectNotFoundError
from vinstall.settings import Names, VariantSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vinstall.bridges.model import Family

FRAME = parse_family(
    GOOD
    + """
[[builds]]
label = "cpu"
how = "index"
url = "frame"
local = "cpu"
properties = {}

[[builds]]
label = "sister"
how = "sister"
sister = "{project}-cu12"
properties = { nvidia = { cuda_version_lower_bound = ["12.0"] } }

[[builds]]
label = "extra"
how = "extra"
extra = "cuda12,more"
properties = { nvidia = { cuda_version_lower_bound = ["12.0"] } }
""",
    "frame.toml",
)
GPU = supports(nvidia={"cuda_version_lower_bound": ["12.8", "12.0"]})
URL = "https://host.example/whl/"


def wheel(name: str, version: str, where: str = "https://own.example/") -> Link:
    filename = f"{name}-{version}-py3-none-any.whl"
    return Link(f"{where}{filename}", filename, index=where)


class World:
    """A source of the user and pages elsewhere; remembers which pages were read."""

    def __init__(self, **own: Sequence[Link]) -> None:
        self.source = FakeSource(
            {name.replace("_", "-"): list(links) for name, links in own.items()}
        )
        self.pages: dict[tuple[str, str], list[Link]] = {}
        self.read: list[tuple[str, str]] = []
        self.begun: list[tuple[str, str]] = []
        self.told: list[str] = []

    def read_pages(self, wanted: Sequence[tuple[str, str]]) -> list[list[Link]]:
        self.read += wanted
        return [self.pages.get(one, []) for one in wanted]

    def bridged(
        self,
        lookup: FakeLookup = GPU,
        variants: VariantSettings | None = None,
        places: Places | None = None,
        locals_: frozenset[str] = frozenset(),
        family: Family = FRAME,
    ) -> BridgedSource:
        return BridgedSource(
            self.source,
            [family],
            places or Places({("frame", "frame"): f"{URL}{{label}}/"}),
            lookup,
            variants or VariantSettings(),
            frozenset(),
            locals_,
            MARKERS,
            self.read_pages,
            self.begun.extend,
            self.told.append,
            Names(),
        )


def names(links: Sequence[Link]) -> list[str]:
    return [link.filename for link in links]


def test_files_of_another_index_are_shown_as_variants() -> None:
    world = World(frame=[wheel("frame", "2.9.0")])
    real = wheel("frame", "2.9.0+cu128", f"{URL}cu128/")
    world.pages[f"{URL}cu128/", "frame"] = [real, wheel("frame", "2.6.0+cu128", URL)]
    world.pages[f"{URL}cpu/", "frame"] = [wheel("frame", "2.9.0+cpu", f"{URL}cpu/")]
    source = world.bridged(family=replace(FRAME, builds=FRAME.builds[:3]))
    links = source.find_links("frame")
    assert names(links) == [
        "frame-2.9.0-py3-none-any.whl",
        "frame-2.9.0+cu128-py3-none-any.whl",
        "frame-2.9.0+cpu-py3-none-any.whl",
        "frame-2.9.0-py3-none-any-cu128.whl",
        "frame-2.9.0-py3-none-any-null.whl",
    ]
    plain, pinned, _, shown, null = links
    assert plain.bridge is None
    assert pinned.bridge is not None
    assert pinned.bridge.pinned_only
    assert shown.bridge is not None
    assert (shown.index, shown.url, shown.bridge.real) == ("bridge:frame", real.url, real)
    assert shown.bridge.version_text == "2.9.0+cu128"
    assert shown.bridge.agree == {"cuda": "12", "frame": "cu128"}
    assert null.bridge is not None
    assert (null.bridge.label, null.bridge.agree) == ("cpu", {"frame": "cpu"})
    metadata = source.read_variant_metadata([], [shown, null])
    assert metadata.namespaces == ("nvidia",)
    assert metadata.variants == {"cu128": {"nvidia": {"cuda_version_lower_bound": ("12.8",)}}}
    assert metadata.providers is None


def test_a_releases_specifier_limits_what_is_shown() -> None:
    world = World(frame=[wheel("frame", "2.9.0")])
    world.pages[f"{URL}cu128/", "frame"] = [wheel("frame", "2.6.0+cu128", URL)]
    assert names(
        world.bridged(family=replace(FRAME, builds=FRAME.builds[:1])).find_links("frame")
    ) == ["frame-2.9.0-py3-none-any.whl"]


def test_only_pages_of_builds_that_fit_are_read() -> None:
    world = World(frame=[wheel("frame", "2.9.0")])
    world.bridged(supports(nvidia={})).find_links("frame")
    assert world.read == [(f"{URL}cpu/", "frame")]
    named = World(frame=[wheel("frame", "2.9.0")])
    named.bridged(supports(nvidia={}), VariantSettings(labels={"frame": "cu128"})).find_links(
        "frame"
    )
    assert (f"{URL}cu128/", "frame") in named.read
    local = World(frame=[wheel("frame", "2.9.0")])
    local.bridged(supports(nvidia={}), locals_=frozenset({"cu128"})).find_links("frame")
    assert (f"{URL}cu128/", "frame") in local.read


def test_a_closed_place_is_not_read_and_told_once() -> None:
    world = World(frame=[wheel("frame", "2.9.0")])
    places = Places({}, {("frame", "frame"): "--index-url is set"})
    source = world.bridged(places=places)
    source.find_links("frame")
    source.find_links("frame")
    assert world.read == []
    assert len(world.told) == 1
    assert "--index-url is set" in world.told[0]


def test_sisters_and_extras_come_from_the_users_own_index() -> None:
    world = World(
        frame=[wheel("frame", "2.9.0")],
        frame_cu12=[wheel("frame_cu12", "2.9.0"), wheel("frame_cu12", "2.8.0")],
    )
    links = world.bridged(places=Places({}, {("frame", "frame"): "closed"})).find_links("frame")
    shown = {
        (link.filename, link.bridge.real_project, link.bridge.requirements)
        for link in links
        if link.bridge is not None
    }
    assert shown == {
        ("frame-2.9.0-py3-none-any-sister.whl", "frame-cu12", ()),
        ("frame-2.8.0-py3-none-any-sister.whl", "frame-cu12", ()),
        ("frame-2.9.0-py3-none-any-extra.whl", "frame", ("frame[cuda12,more]==2.9.0",)),
    }


def test_a_pattern_fills_templates() -> None:
    world = World(frame_audio=[wheel("frame_audio", "1.0+CU12"), wheel("frame_audio", "1.0+cu11")])
    source = world.bridged(places=Places({}, {("frame", "frame"): "closed"}))
    links = source.find_links("frame-audio")
    (shown,) = [link for link in links if link.filename.endswith("-cu12.whl")]
    assert shown.bridge is not None
    assert shown.bridge.properties == {"nvidia": {"cuda_version_lower_bound": ("12.0",)}}
    # what no pattern knows would beat all builds that are known: only who names it gets it
    (unknown,) = [link for link in links if "cu11" in link.filename]
    assert unknown.bridge is not None
    assert unknown.bridge.pinned_only
    assert not unknown.bridge.label


@pytest.mark.parametrize(
    "real",
    [
        "frame-2.9.0-py3-none-any-real.whl",
        "frame-2.9.0-1-py3-none-any-real.whl",
        "frame-2.9.0-variants.json",
    ],
)
def test_real_variants_win(real: str) -> None:
    world = World(frame=[Link("https://own.example/x", real), wheel("frame", "2.9.0")])
    world.pages[f"{URL}cu128/", "frame"] = [
        wheel("frame", "2.9.0+cu128", URL),
        wheel("frame", "2.8.0+cu128", URL),
    ]
    family = replace(FRAME, builds=FRAME.builds[:1])
    assert [
        name for name in names(world.bridged(family=family).find_links("frame")) if "cu128" in name
    ] == ["frame-2.8.0+cu128-py3-none-any.whl", "frame-2.8.0-py3-none-any-cu128.whl"]


def test_helpers_come_from_their_index_alone() -> None:
    world = World(frame_helper=[wheel("frame_helper", "99.0")])
    world.pages[f"{URL}cu128/", "frame-helper"] = [wheel("frame_helper", "1.0", URL)]
    assert names(world.bridged().find_links("frame-helper")) == [
        "frame_helper-1.0-py3-none-any.whl"
    ]
    # a machine that takes no such build sees the user's own index
    assert names(world.bridged(supports(nvidia={})).find_links("frame-helper")) == [
        "frame_helper-99.0-py3-none-any.whl"
    ]
    empty = World()
    with pytest.raises(ProjectNotFoundError):
        empty.bridged().find_links("frame-helper")


def test_what_is_switched_off_is_left_alone() -> None:
    world = World(frame=[wheel("frame", "2.9.0+cu128")])
    source = world.bridged(variants=VariantSettings(disabled=Names(True)))
    assert [link.bridge for link in source.find_links("frame")] == [None]
    assert world.read == []


def test_a_project_that_nobody_knows() -> None:
    with pytest.raises(ProjectNotFoundError):
        World().bridged(places=Places({}, {("frame", "frame"): "closed"})).find_links("frame")


def test_other_projects_are_the_users_own() -> None:
    links = [wheel("other", "1.0")]
    world = World(other=links)
    assert world.bridged().find_links("other") == links


def test_pages_are_begun_ahead_once_for_each_index() -> None:
    world = World(frame=[wheel("frame", "2.9.0")])
    source = world.bridged()
    source.prefetch_links(["frame", "other"])
    assert world.begun == [(f"{URL}cu128/", "frame"), (f"{URL}cpu/", "frame")]
    closed = World(frame=[wheel("frame", "2.9.0")])
    closed.bridged(places=Places({}, {("frame", "frame"): "closed"})).prefetch_links(["frame"])
    assert closed.begun == []
