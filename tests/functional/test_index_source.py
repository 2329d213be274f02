"""Indexes, folders and pages as one source, on servers that are well, broken or lying."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faults import (
    BasicAuth,
    HtmlPage,
    IgnoreRange,
    Redirect,
    Replaced,
    Reset,
    Status,
    Truncated,
)
from tests.support.index import JSON_TYPE, SimpleIndex
from tests.support.sdist import make_sdist
from tests.support.wheels import make_variant_wheels, make_wheel
from vinstall.distributions.core_metadata import CoreMetadata
from vinstall.errors import (
    BuildError,
    HashMismatchError,
    IndexAccessError,
    ProjectNotFoundError,
    VariantMetadataError,
    WheelFormatError,
)
from vinstall.events import RecordingObserver, Warned
from vinstall.index.client import HttpClient, Patience
from vinstall.index.source import IndexSource
from vinstall.settings import IndexSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vinstall.distributions.link import Link

PAGE = "/simple/sample/"
WHEEL = "sample-1.0-py3-none-any.whl"
VARIANTS = {"v3": "x86_64 :: level :: v3", "v4": "x86_64 :: level :: v4", "null": ""}
V3 = {"x86_64": {"level": ("v3",)}}
V4 = {"x86_64": {"level": ("v4",)}}


@pytest.fixture
def observer() -> RecordingObserver:
    return RecordingObserver()


@pytest.fixture
def make_source(
    tmp_path: Path, observer: RecordingObserver
) -> Iterator[Callable[..., IndexSource]]:
    """A factory of sources: indexes in order, then settings as keywords."""
    with contextlib.ExitStack() as stack:

        def make(
            *indexes: SimpleIndex | str,
            cache: bool = True,
            environment: dict[str, str] | None = None,
            build_metadata: Callable[[Link], CoreMetadata] | None = None,
            **settings: Any,
        ) -> IndexSource:
            urls = [one if isinstance(one, str) else one.simple_url for one in indexes]
            values: dict[str, Any] = {"timeout": 2.0, "retries": 1, "no_input": True, **settings}
            values.setdefault("index_url", urls[0] if urls else "")
            values.setdefault("extra_index_urls", tuple(urls[1:]))
            made = IndexSettings(**values)
            client = HttpClient(
                made,
                observer,
                environment=environment or {},
                patience=Patience(sleep=lambda seconds: None),
            )
            stack.callback(client.close)
            source = IndexSource(
                made,
                client,
                str(tmp_path / "cache") if cache else "",
                observer,
                build_metadata=build_metadata,
            )
            stack.callback(source.close)
            return source

        yield make


def names(links: Sequence[Link]) -> list[str]:
    return [link.filename for link in links]


def faults(observer: RecordingObserver) -> list[Warned]:
    """The warnings, but for those that say that something is tried again."""
    return [warning for warning in observer.warnings() if warning.code != "retry"]


def only(links: Sequence[Link], filename: str) -> Link:
    (found,) = (link for link in links if link.filename == filename)
    return found


# Links


@pytest.mark.parametrize("json_form", [True, False], ids=["json", "html"])
def test_page_gives_its_links(
    make_source: Callable[..., IndexSource], index: SimpleIndex, json_form: bool
) -> None:
    index.json = json_form
    wheel = make_wheel("sample", "1.0", requires_python=">=3.9")
    index.add(wheel, make_sdist("sample", "0.9"), yanked="broken")
    links = make_source(index).find_links("sample")
    assert set(names(links)) == {WHEEL, "sample-0.9.tar.gz"}
    link = only(links, WHEEL)
    assert link.url == index.file_url(WHEEL)
    assert link.index == index.simple_url
    assert link.hashes == {"sha256": wheel.sha256}
    assert link.requires_python == ">=3.9"
    assert link.yanked == "broken"
    assert link.metadata_hashes is not None
    assert link.size == (len(wheel.content) if json_form else None)


def test_page_is_asked_for_once_a_run(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample"))
    source = make_source(index, cache=False)
    assert source.find_links("sample") == source.find_links("sample")
    assert index.count(PAGE) == 1


def test_all_indexes_are_merged_in_their_order(
    make_source: Callable[..., IndexSource], make_index: Callable[..., SimpleIndex]
) -> None:
    first, second = make_index(), make_index()
    first.add(make_wheel("sample", "1.0"))
    second.add(make_wheel("sample", "2.0"), make_wheel("sample", "1.0"))
    links = make_source(first, second).find_links("sample")
    assert next((link.index, link.filename) for link in links) == (first.simple_url, WHEEL)
    assert {link.index for link in links[1:]} == {second.simple_url}
    assert len(links) == 3


def test_first_index_that_has_it_wins_if_wanted(
    make_source: Callable[..., IndexSource], make_index: Callable[..., SimpleIndex]
) -> None:
    first, second, third = make_index(), make_index(), make_index()
    second.add(make_wheel("sample", "1.0"))
    third.add(make_wheel("sample", "2.0"))
    source = make_source(first, second, third, first_index=True)
    assert names(source.find_links("sample")) == [WHEEL]
    assert third.requests == []


def test_ranked_index_that_fails_is_not_passed_over(
    make_source: Callable[..., IndexSource], make_index: Callable[..., SimpleIndex]
) -> None:
    first, second = make_index(), make_index()
    first.fail("*", Status(503))
    second.add(make_wheel("sample", "9.0"))
    with pytest.raises(IndexAccessError, match="503"):
        make_source(first, second, first_index=True).find_links("sample")


def test_pinned_project_comes_from_one_index(
    make_source: Callable[..., IndexSource],
    make_index: Callable[..., SimpleIndex],
    tmp_path: Path,
) -> None:
    public, private = make_index(), make_index()
    public.add(make_wheel("sample", "9.0"), make_wheel("other", "9.0"))
    private.add(make_wheel("sample", "1.0"), make_wheel("other", "1.0"))
    make_wheel("sample", "8.0").write_to(tmp_path)
    source = make_source(public, pins={"sample": private.simple_url}, find_links=(str(tmp_path),))
    assert names(source.find_links("sample")) == [WHEEL]
    assert names(source.find_links("other")) == ["other-9.0-py3-none-any.whl"]
    private.fail("*", Status(404))
    again = make_source(public, cache=False, pins={"sample": private.simple_url})
    with pytest.raises(ProjectNotFoundError, match=str(private.port)):
        again.find_links("sample")


def test_nobody_knows_the_project(
    make_source: Callable[..., IndexSource], make_index: Callable[..., SimpleIndex]
) -> None:
    first, second = make_index(), make_index()
    with pytest.raises(ProjectNotFoundError) as caught:
        make_source(first, second).find_links("sample")
    assert first.simple_url in caught.value.why
    assert second.simple_url in caught.value.why


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (Status(500), "500"),
        (Status(403), "403"),
        (Reset(), "127.0.0.1"),
        (HtmlPage(), "not a page"),
        (Replaced(b"{broken", JSON_TYPE), "not valid JSON"),
        (Replaced(b'{"meta": {"api-version": "9.0"}, "files": []}', JSON_TYPE), "version 9"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_index_that_can_not_be_read(
    make_source: Callable[..., IndexSource],
    make_index: Callable[..., SimpleIndex],
    observer: RecordingObserver,
    fault: Any,
    word: str,
) -> None:
    broken, good = make_index(), make_index()
    broken.add(make_wheel("sample", "1.0"))
    broken.fail(PAGE, fault)
    with pytest.raises(IndexAccessError, match=word) as caught:
        make_source(broken, good, cache=False).find_links("sample")
    assert not isinstance(caught.value, ProjectNotFoundError)
    assert faults(observer) == []
    good.add(make_wheel("sample", "0.5"))
    links = make_source(broken, good, cache=False).find_links("sample")
    assert names(links) == ["sample-0.5-py3-none-any.whl"]
    (warning,) = faults(observer)
    assert warning.code == "index-unusable"
    assert word in warning.what


def test_truncated_page_is_noticed(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample", "1.0"), make_wheel("sample", "2.0"))
    index.fail(PAGE, Truncated(100, with_length=False), times=1)
    with pytest.raises(IndexAccessError):
        make_source(index).find_links("sample")
    assert len(make_source(index).find_links("sample")) == 2


def test_credentials_of_the_index_serve_its_files_and_stay_secret(
    make_source: Callable[..., IndexSource],
    index: SimpleIndex,
    tmp_path: Path,
    observer: RecordingObserver,
) -> None:
    index.fail("*", BasicAuth("user", "top-secret"))
    index.add(make_wheel("sample", "1.0"))
    url = index.url_with_credentials("user", "top-secret")
    source = make_source(url)
    (link,) = source.find_links("sample")
    assert source.read_core_metadata(link).version == "1.0"
    assert "top-secret" not in repr((link, observer.events))
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            assert b"top-secret" not in path.read_bytes()
    with pytest.raises(IndexAccessError):
        make_source(index).find_links("sample")


def test_plain_http_elsewhere_is_refused_unless_trusted(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample", "1.0"))
    proxy = {"proxy": index.url}  # reaches the index under any name
    with pytest.raises(IndexAccessError, match="without TLS"):
        make_source("http://index.test/simple", **proxy).find_links("sample")
    assert index.requests == []


def test_uploaded_prior_to(make_source: Callable[..., IndexSource], index: SimpleIndex) -> None:
    index.add(make_wheel("sample", "1.0"), upload_time="2026-01-01T00:00:00Z")
    index.add(make_wheel("sample", "2.0"), upload_time="2026-01-02T00:00:00.5Z")
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS, plain=False))

    def find(moment: str) -> list[str]:
        links = make_source(index, uploaded_prior_to=moment).find_links("sample")
        return [name for name in names(links) if name.endswith("any.whl")]

    assert find("2026-01-02") == [WHEEL]
    assert find("2026-01-02T01:00:00+01:00") == [WHEEL]
    assert len(find("2026-01-02T00:00:01Z")) == 2


def test_uploaded_prior_to_needs_times(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample", "1.0"), upload_time="")
    with pytest.raises(IndexAccessError, match="does not tell when"):
        make_source(index, uploaded_prior_to="2026-01-02").find_links("sample")


# Folders and flat pages


def test_folder(make_source: Callable[..., IndexSource], tmp_path: Path) -> None:
    folder = tmp_path / "my wheels"
    folder.mkdir()
    wheels = make_variant_wheels("sample", "1.0", {"v3": VARIANTS["v3"]})
    for wheel in (*wheels, make_wheel("other")):
        wheel.write_to(folder)
    make_sdist("sample", "0.9").write_to(folder)
    (folder / "sample-1.0-variants.json").write_text("{}")
    (folder / "notes.txt").write_text("x")
    for place in (str(folder), folder.as_uri()):
        source = make_source(no_index=True, find_links=(place,))
        links = source.find_links("sample")
        assert names(links) == [
            "sample-0.9.tar.gz",
            "sample-1.0-py3-none-any-v3.whl",
            "sample-1.0-py3-none-any.whl",
            "sample-1.0-variants.json",
        ]
        assert all(link.is_file for link in links)
        assert source.read_core_metadata(only(links, WHEEL)).name == "sample"


@pytest.mark.parametrize("place", ["nowhere", "file://other.test/wheels", "file:///nowhere"])
def test_missing_folder_is_a_warning(
    make_source: Callable[..., IndexSource],
    index: SimpleIndex,
    observer: RecordingObserver,
    tmp_path: Path,
    place: str,
) -> None:
    index.add(make_wheel("sample", "1.0"))
    place = place if ":" in place else str(tmp_path / place)
    assert names(make_source(index, find_links=(place,)).find_links("sample")) == [WHEEL]
    assert [warning.code for warning in observer.warnings()] == ["find-links"]
    with pytest.raises(ProjectNotFoundError):
        make_source(no_index=True, find_links=(place,)).find_links("sample")


def test_flat_page(
    make_source: Callable[..., IndexSource], index: SimpleIndex, tmp_path: Path
) -> None:
    index.add(make_wheel("sample", "1.0"), make_wheel("other", "1.0"))
    anchors = f'<a href="/files/{WHEEL}">a</a><a href="/files/other-1.0-py3-none-any.whl">b</a>'
    index.set_page("/flat", anchors)
    source = make_source(no_index=True, find_links=(f"{index.url}/flat",))
    assert names(source.find_links("sample")) == [WHEEL]
    assert names(source.find_links("other")) == ["other-1.0-py3-none-any.whl"]
    assert index.count("/flat") == 1
    page = tmp_path / "page.html"
    page.write_text(f'<a href="{index.file_url(WHEEL)}">a</a>')
    local = make_source(no_index=True, find_links=(str(page),))
    assert names(local.find_links("sample")) == [WHEEL]


def test_index_that_is_a_folder(make_source: Callable[..., IndexSource], tmp_path: Path) -> None:
    project = tmp_path / "simple" / "sample"
    project.mkdir(parents=True)
    make_wheel("sample", "1.0").write_to(project)
    source = make_source((tmp_path / "simple").as_uri())
    assert names(source.find_links("sample")) == [WHEEL]
    with pytest.raises(ProjectNotFoundError):
        source.find_links("other")


def test_no_place_at_all(make_source: Callable[..., IndexSource]) -> None:
    with pytest.raises(ProjectNotFoundError, match="no place at all"):
        make_source(no_index=True).find_links("sample")


# The cache


def test_fresh_page_needs_no_request(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.page_headers = {"Cache-Control": "max-age=600"}
    index.add(make_wheel("sample", "1.0"))
    before = make_source(index).find_links("sample")
    assert make_source(index).find_links("sample") == before
    assert index.count(PAGE) == 1


def test_stale_page_is_revalidated(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample", "1.0"))
    before = make_source(index).find_links("sample")
    assert make_source(index).find_links("sample") == before
    assert [request.status for request in index.matching(PAGE)] == [200, 304]
    index.add(make_wheel("sample", "2.0"))
    assert len(make_source(index).find_links("sample")) == 2
    assert [request.status for request in index.matching(PAGE)] == [200, 304, 200]


def test_no_store_is_obeyed(make_source: Callable[..., IndexSource], index: SimpleIndex) -> None:
    index.page_headers = {"Cache-Control": "no-store"}
    index.add(make_wheel("sample", "1.0"))
    for _ in range(2):
        make_source(index).find_links("sample")
    assert [request.status for request in index.matching(PAGE)] == [200, 200]


def test_broken_cache_is_as_good_as_none(
    make_source: Callable[..., IndexSource], index: SimpleIndex, tmp_path: Path
) -> None:
    index.page_headers = {"Cache-Control": "max-age=600"}
    index.add(make_wheel("sample", "1.0"))
    source = make_source(index)
    links = source.find_links("sample")
    metadata = source.read_core_metadata(links[0])
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\x00broken")
    again = make_source(index)
    assert again.find_links("sample") == links
    assert again.read_core_metadata(links[0]) == metadata


def test_warm_answers_open_no_socket_and_import_no_http(
    make_source: Callable[..., IndexSource], index: SimpleIndex, tmp_path: Path
) -> None:
    index.page_headers = {"Cache-Control": "max-age=600"}
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS))
    source = make_source(index)
    links = source.find_links("sample")
    source.read_core_metadata(only(links, WHEEL))
    source.read_variant_metadata([only(links, "sample-1.0-variants.json")], [])
    index.clear()
    script = """
import sys
from vinstall.events import SilentObserver
from vinstall.index.client import HttpClient
from vinstall.index.source import IndexSource
from vinstall.settings import IndexSettings
settings = IndexSettings(index_url=sys.argv[1])
client = HttpClient(settings, SilentObserver(), environment={})
source = IndexSource(settings, client, sys.argv[2], SilentObserver())
links = source.find_links("sample")
wheel = next(link for link in links if link.filename.endswith("any.whl"))
files = [link for link in links if link.filename.endswith(".json")]
labels = source.read_variant_metadata(files, []).variants
print(source.read_core_metadata(wheel).version, len(labels))
heavy = {"httpx", "ssl", "socket", "msgspec", "concurrent.futures", "email", "zipfile", "rich"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, index.simple_url, str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    version, modules = done.stdout.splitlines()
    assert version.startswith("1.0 ")
    assert modules == "[]"
    assert index.requests == []


# Core metadata


def test_metadata_file_beside_the_wheel(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample", "1.0", requires_dist=["other>=2"]))
    source = make_source(index)
    (link,) = source.find_links("sample")
    assert source.read_core_metadata(link).requires_dist == ("other>=2",)
    assert index.count("/files/*.metadata") == 1
    assert index.count(f"/files/{WHEEL}") == 0


def test_wrong_metadata_file_is_refused(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_wheel("sample", "1.0"), metadata_hashes={"sha256": "0" * 64})
    source = make_source(index)
    (link,) = source.find_links("sample")
    with pytest.raises(HashMismatchError) as caught:
        source.read_core_metadata(link)
    assert WHEEL in caught.value.what
    assert "Expected sha256 " + "0" * 64 in caught.value.why


@pytest.mark.parametrize("status", [403, 404])
def test_promised_metadata_file_may_be_missing(
    make_source: Callable[..., IndexSource], index: SimpleIndex, status: int
) -> None:
    index.add(make_wheel("sample", "1.0"))
    index.fail("/files/*.metadata", Status(status))
    source = make_source(index)
    (link,) = source.find_links("sample")
    assert source.read_core_metadata(link).version == "1.0"


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("ranges", [True, False])
def test_metadata_out_of_the_wheel(
    make_source: Callable[..., IndexSource], index: SimpleIndex, ranges: bool, cache: bool
) -> None:
    index.ranges = ranges
    index.metadata_files = False
    big = {"sample.bin": bytes(range(256)) * 4000}
    index.add(make_wheel("sample", "1.0", files=big, compress=False, requires_dist=["other"]))
    source = make_source(index, cache=cache)
    (link,) = source.find_links("sample")
    assert source.read_core_metadata(link).requires_dist == ("other",)
    assert (index.bytes_sent > 1_000_000) is not ranges
    again = make_source(index, cache=cache)
    index.clear()
    again.read_core_metadata(link)
    assert (index.requests == []) is cache


def test_no_range_and_a_hidden_refusal(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.metadata_files = False
    index.add(make_wheel("sample", "1.0", files={"x": bytes(400_000)}, compress=False))
    index.fail(f"/files/{WHEEL}", IgnoreRange())
    source = make_source(index)
    (link,) = source.find_links("sample")
    assert source.read_core_metadata(link).version == "1.0"


@pytest.mark.parametrize("fault", ["wrong-name", "wrong-version", "no-metadata", "not-a-zip"])
@pytest.mark.parametrize("local", [True, False])
def test_wheels_that_are_none(
    make_source: Callable[..., IndexSource],
    index: SimpleIndex,
    tmp_path: Path,
    fault: Any,
    local: bool,
) -> None:
    wheel = make_wheel("sample", "1.0", fault=fault)
    if local:
        folder = tmp_path / "wheels"
        folder.mkdir()
        wheel.write_to(folder)
        source = make_source(no_index=True, find_links=(str(folder),))
    else:
        index.metadata_files = False
        index.add(wheel, metadata=False)
        source = make_source(index)
    (link,) = source.find_links("sample")
    with pytest.raises(WheelFormatError) as caught:
        source.read_core_metadata(link)
    assert wheel.filename in caught.value.what


def test_source_distributions_are_built(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(make_sdist("sample", "1.0"))
    (link,) = make_source(index).find_links("sample")
    with pytest.raises(BuildError, match=r"sample-1\.0\.tar\.gz"):
        make_source(index).read_core_metadata(link)
    built = make_source(index, build_metadata=lambda link: CoreMetadata("Sample", "1.0.0"))
    assert built.read_core_metadata(link).version == "1.0.0"
    lying = make_source(index, build_metadata=lambda link: CoreMetadata("sample", "2.0"))
    with pytest.raises(WheelFormatError, match=r"sample 2\.0"):
        lying.read_core_metadata(link)


# Variant metadata


def variants_of(index: SimpleIndex, source: IndexSource) -> tuple[list[Link], list[Link]]:
    """The variants files and the variant wheels of version 1.0."""
    links = source.find_links("sample")
    files = [link for link in links if link.filename.endswith("-variants.json")]
    wheels = [link for link in links if link.filename.endswith(("v3.whl", "v4.whl", "null.whl"))]
    return files, wheels


def plain(variants: Any) -> dict[str, dict[str, dict[str, tuple[str, ...]]]]:
    return {
        label: {
            namespace: {feature: tuple(values) for feature, values in features.items()}
            for namespace, features in properties.items()
        }
        for label, properties in variants.items()
        if label != "null"
    }


def test_file_of_the_index_is_enough(
    make_source: Callable[..., IndexSource], index: SimpleIndex, observer: RecordingObserver
) -> None:
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS))
    source = make_source(index)
    found = source.read_variant_metadata(*variants_of(index, source))
    assert plain(found.variants) == {"v3": V3, "v4": V4}
    assert found.namespaces == ("x86_64",)
    assert index.count("/files/*.whl") == 0
    assert observer.warnings() == []


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (Status(404), "404"),
        (Replaced(b"{broken"), "JSON"),
        (Replaced(b"{}" + b" " * (16 * 1024 * 1024)), "16 MiB"),
        (Replaced(b'{"variants": {}, "default-priorities": {"namespace": []}}'), "Expected"),
        (HtmlPage(), "Expected"),
        (Reset(), "127.0.0.1"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_file_of_the_index_is_replaced_by_the_wheels(
    make_source: Callable[..., IndexSource],
    index: SimpleIndex,
    observer: RecordingObserver,
    fault: Any,
    word: str,
) -> None:
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS))
    if word == "Expected":
        index.change("sample-1.0-variants.json", hashes={"sha256": "0" * 64})
    elif word in ("JSON", "16 MiB"):
        index.change("sample-1.0-variants.json", hashes={})
    source = make_source(index)
    files, wheels = variants_of(index, source)
    index.fail("/files/*-variants.json", fault)
    found = source.read_variant_metadata(files, wheels)
    assert plain(found.variants) == {"v3": V3, "v4": V4}
    (warning,) = faults(observer)
    assert warning.code == "variant-metadata"
    assert "sample-1.0-variants.json" in warning.what
    assert f"127.0.0.1:{index.port}" in warning.what
    assert word in warning.what
    assert "wheels" in warning.what


def test_no_file_on_the_index_is_no_warning(
    make_source: Callable[..., IndexSource], index: SimpleIndex, observer: RecordingObserver
) -> None:
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS), variants_json=False)
    source = make_source(index)
    files, wheels = variants_of(index, source)
    assert files == []
    found = source.read_variant_metadata(files, wheels)
    assert plain(found.variants) == {"v3": V3, "v4": V4}
    assert observer.warnings() == []
    index.clear()
    again = make_source(index)
    assert plain(again.read_variant_metadata(files, wheels).variants) == {"v3": V3, "v4": V4}
    assert index.requests == []


def test_label_whose_wheel_is_unreadable_is_refused(
    make_source: Callable[..., IndexSource], index: SimpleIndex, observer: RecordingObserver
) -> None:
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS), variants_json=False)
    index.fail("/files/*-v4.whl", Status(404))
    source = make_source(index)
    found = source.read_variant_metadata(*variants_of(index, source))
    assert plain(found.variants) == {"v3": V3}
    assert list(found.refused) == ["v4"]
    assert "404" in found.refused["v4"]
    assert [warning.code for warning in observer.warnings()] == ["variant-metadata"]


def test_nothing_usable_is_an_error_that_tells_every_way(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    index.add(*make_variant_wheels("sample", "1.0", VARIANTS))
    source = make_source(index)
    files, wheels = variants_of(index, source)
    index.fail("/files/*", Status(404))
    with pytest.raises(VariantMetadataError) as caught:
        source.read_variant_metadata(files, wheels)
    for part in ("sample-1.0-variants.json", "404", "v3", "v4"):
        assert part in caught.value.why


def test_bad_entry_of_the_index_is_read_from_its_wheel(
    make_source: Callable[..., IndexSource], index: SimpleIndex, observer: RecordingObserver
) -> None:
    wheels = make_variant_wheels("sample", "1.0", VARIANTS)
    index.add(*wheels)
    document = {
        "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
        "default-priorities": {"namespace": ["x86_64"]},
        "variants": {"v3": {"x86_64": {"level": ["v3"]}}, "v4": {}, "null": {}},
    }
    index.set_variants_json("sample", "1.0", document)
    source = make_source(index)
    found = source.read_variant_metadata(*variants_of(index, source))
    assert plain(found.variants) == {"v3": V3, "v4": V4}
    assert "v4" not in found.refused
    (warning,) = observer.warnings()
    assert "v4" in warning.what


def test_variants_of_a_folder(
    make_source: Callable[..., IndexSource], tmp_path: Path, index: SimpleIndex
) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for wheel in make_variant_wheels("sample", "1.0", VARIANTS):
        wheel.write_to(folder)
    source = make_source(no_index=True, find_links=(str(folder),))
    files, wheels = variants_of(index, source)
    assert plain(source.read_variant_metadata(files, wheels).variants) == {"v3": V3, "v4": V4}
    document = {
        "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
        "default-priorities": {"namespace": ["x86_64"]},
        "variants": {"v3": {"x86_64": {"level": ["v2"]}}},
    }
    (folder / "sample-1.0-variants.json").write_text(json.dumps(document))
    again = make_source(no_index=True, find_links=(str(folder),))
    files, wheels = variants_of(index, again)
    assert len(files) == 1
    found = again.read_variant_metadata(files, wheels).variants
    assert plain(found) == {"v3": {"x86_64": {"level": ("v2",)}}}


# Prefetching


def test_prefetched_answers_are_asked_for_once(
    make_source: Callable[..., IndexSource], index: SimpleIndex
) -> None:
    projects = [f"sample-{number}" for number in range(20)]
    for project in projects:
        index.add(make_wheel(project))
    source = make_source(index)
    source.prefetch_links(projects)
    links = [source.find_links(project)[0] for project in projects]
    source.prefetch_metadata(links)
    assert [source.read_core_metadata(link).name for link in links] == projects
    assert index.count("/simple/sample-*") == 20
    assert index.count("/files/*.metadata") == 20


def test_failed_prefetch_is_told_to_who_asks(
    make_source: Callable[..., IndexSource], index: SimpleIndex, observer: RecordingObserver
) -> None:
    index.add(make_wheel("sample"), make_wheel("other"))
    source = make_source(index)
    links = [*source.find_links("sample"), *source.find_links("other")]
    index.fail("*", Status(404))
    source.prefetch_links(["nothing", "missing"])
    source.prefetch_metadata(links)
    with pytest.raises(ProjectNotFoundError):
        source.find_links("missing")
    with pytest.raises(IndexAccessError, match="404"):
        source.read_core_metadata(links[0])
    source.prefetch_links(["after"])
    source.close()
    source.prefetch_links(["later", "still later"])
    assert observer.warnings() == []


def test_moved_page_keeps_relative_links_right(
    make_source: Callable[..., IndexSource],
    make_index: Callable[..., SimpleIndex],
    index: SimpleIndex,
) -> None:
    mirror = make_index()
    index.add(make_wheel("sample", "1.0"))
    mirror.fail(PAGE, Redirect(f"{index.simple_url}sample/"))
    (link,) = make_source(mirror).find_links("sample")
    assert link.url == index.file_url(WHEEL)
    assert link.index == mirror.simple_url
    assert replace(link, index="") == replace(make_source(index).find_links("sample")[0], index="")
