"""Bridge files: what is right is read as it is, what is wrong is named with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.environments import ROOT
from vinstall.bridges.reader import fill_template, parse_family
from vinstall.errors import BridgeError

GOOD = """
schema = 1
family = "frame"
summary = "A framework."
projects = ["frame", "frame-audio"]
same-build = true

[urls]
frame = "https://host.example/whl/{label}/"

[[builds]]
label = "cu128"
how = "index"
url = "frame"
local = "cu128"
releases = ">=2.7"
platforms = ["linux-x86_64"]
properties = { nvidia = { cuda_version_lower_bound = ["12.8"] } }
agree = { cuda = "12" }
helpers = ["frame-helper"]

[[builds]]
label = "cu{major}"
how = "local"
projects = ["frame-audio"]
local = "cu(?P<major>1[23])"
properties = { nvidia = { cuda_version_lower_bound = ["{major}.0"] } }

[[plain]]
releases = ">=2.9"
properties = {}
megabytes = 10

[[libraries]]
pattern = "vendor-*-cu12"
agree = { cuda = "12" }
"""


def test_a_whole_file() -> None:
    family = parse_family(GOOD, "frame.toml")
    assert (family.name, family.same_build, family.origin) == ("frame", True, "frame.toml")
    assert family.urls == {"frame": "https://host.example/whl/{label}/"}
    first, second = family.builds
    assert first.projects == ("frame", "frame-audio")
    assert first.properties == {"nvidia": {"cuda_version_lower_bound": ("12.8",)}}
    assert (first.agree, first.helpers) == ({"cuda": "12"}, ("frame-helper",))
    assert (second.projects, second.url, second.releases) == (("frame-audio",), "", "")
    assert family.plain[0].megabytes == 10
    assert family.libraries[0].patterns == ("vendor-*-cu12",)


def test_the_example_of_the_documentation() -> None:
    text = Path(ROOT, "docs", "bridges.md").read_text("utf-8")
    found = re.search(r"## The file.*?```toml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    assert parse_family(found[1], "docs").name == "example"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("schema = 1", "schema = 2", "schema has to be 1, not 2"),
        ("schema = 1", "schema = true", "schema has to be 1, not True"),
        ("schema = 1", "", "schema has to be 1"),
        ('family = "frame"', 'family = "Frame_1"', "family: 'Frame_1' may hold only"),
        ('summary = "A framework."', "", "summary is missing"),
        ('["frame", "frame-audio"]', '["Frame"]', "'Frame' is not a normalized project name"),
        ("same-build = true", 'same-build = "yes"', "same-build has to be true or false"),
        ("{label}/", "{name}/", "may hold no braces but {label}"),
        ("https://host.example", "host.example", "urls.frame is not a URL"),
        ('label = "cu128"', 'label = "CU-128"', "builds[0].label: 'CU-128' may hold only"),
        ('label = "cu128"', 'label = "null"', "builds[0].label: 'null' is not a name"),
        ('label = "cu128"', 'label = "cu{x}"', "builds[0].label: there is no group {x}"),
        ('how = "index"', 'how = "magic"', "builds[0].how: 'magic' is none of"),
        ('url = "frame"', 'url = "other"', "builds[0].url: [urls] has no 'other'"),
        ('local = "cu128"', 'local = "CU_128"', "is not a local version in normal form"),
        ('">=2.7"', '"2.7 or so"', "builds[0].releases: '2.7 or so' is not a version specifier"),
        ('"linux-x86_64"', '"beos"', "builds[0].platforms: 'beos' does not look like"),
        ('["12.8"]', '["12-8"]', "properties.nvidia.cuda_version_lower_bound: '12-8'"),
        ('["12.8"]', '"12.8"', "cuda_version_lower_bound has to be a list"),
        ('{ cuda = "12" }\nhelpers', "{ cuda = 12 }\nhelpers", "agree.cuda is not a text"),
        ("(?P<major>1[23])", "(?P<major>", "is not a regular expression"),
        ('["{major}.0"]', '["{minor}.0"]', "there is no group {minor}"),
        ('projects = ["frame-audio"]', 'projects = ["x"]', "'x' is not in the family's projects"),
        ("megabytes = 10", 'megabytes = "10"', "plain[0].megabytes is not a number"),
        ('"vendor-*-cu12"', "[]", "libraries[0].pattern"),
        ('"vendor-*-cu12"', '"Vendor?"', "'Vendor?' is not a normalized name with '*'"),
    ],
)
def test_faults_are_named_with_their_place(old: str, new: str, words: str) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(BridgeError) as caught:
        parse_family(GOOD.replace(old, new, 1), "mine.toml")
    assert "mine.toml" in caught.value.what
    assert words in caught.value.why


def test_an_unknown_key_is_an_error_or_a_warning() -> None:
    text = GOOD.replace('how = "index"', 'how = "index"\nsister = "x"')
    with pytest.raises(BridgeError) as caught:
        parse_family(text, "mine.toml")
    assert "builds[0].sister is not known" in caught.value.why
    told: list[str] = []
    assert parse_family(text, "mine.toml", told.append).name == "frame"
    assert told == ["The bridge file mine.toml: builds[0].sister is not known"]


@pytest.mark.parametrize("text", ["x = [", "\x00", "builds = 1\nschema = 1", "urls = 1", ""])
def test_any_text_is_a_sentence(text: str) -> None:
    with pytest.raises(BridgeError):
        parse_family(text, "mine.toml", lambda sentence: None)


def test_templates() -> None:
    assert fill_template("cu{a}_{b}", {"a": "12", "b": ""}) == "cu12_"
    assert fill_template("plain", {}) == "plain"
