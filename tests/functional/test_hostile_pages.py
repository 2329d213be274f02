"""Pages of an index that mean harm: a sentence and status 1, or the harmless rest is used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.index import HTML_TYPE, JSON_TYPE
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.environments import Environment, Result
    from tests.support.index import SimpleIndex

WHEEL = make_wheel("demo")
MORE_FIELDS = (
    *("hashes", "requires-python", "yanked", "size", "upload-time"),
    *("core-metadata", "dist-info-metadata", "provenance"),
)
VALUES: tuple[object, ...] = (
    *(None, [], {}, [[]], {"a": []}),
    *(True, "\x00", -1, 1e400, 10**400),
)
LONG = "9" * 5000
ESCAPE = "\x1b]0;owned\x07\x1b[2J\u202e"


def page(**changes: Any) -> str:
    """A JSON page of one file, some of whose fields are changed."""
    entry = {
        "filename": WHEEL.filename,
        "url": f"../../files/{WHEEL.filename}",
        "hashes": {"sha256": WHEEL.sha256},
        "yanked": False,
        **changes,
    }
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "files": [entry]})


def install(environment: Environment, index: SimpleIndex, *words: str) -> Result:
    """Install demo, without a cache and without patience."""
    options = ("--no-cache-dir", "--retries", "0", "--timeout", "5")
    return environment.vinstall(
        "install", *options, "--index-url", index.simple_url, *(words or ("demo",))
    )


def check_refused(environment: Environment, result: Result) -> None:
    """A sentence, status 1, nothing written, nothing that moves a terminal's cursor."""
    result.check(1)
    assert "ERROR: " in result.stderr
    assert "fault in vinstall" not in result.stderr
    assert environment.installed() == {}
    check_clean(result)


def check_clean(result: Result) -> None:
    """No control character of somebody else comes out."""
    text = (result.stdout + result.stderr).replace("\n", "").replace("\t", "")
    assert not [one for one in text if ord(one) < 32 or one in "\x7f\u202e"]


REFUSED = {
    "deep": "[" * 200_000,
    "deeper": '{"files":' + "[" * 200_000 + "]" * 200_000 + "}",
    "deep in meta": '{"files":[],"meta":' + '{"a":' * 100_000 + "1" + "}" * 100_001,
    "no list": '{"files": {}}',
    "a digest that is none": page(hashes={"sha256": "1"}),
    "a digest that is a path": page(hashes={"sha256": "../" * 20}),
    "a digest of letters": page(hashes={"sha256": "\u00e9" * 64}),
    "a version of thousands of digits": page(filename=f"demo-{LONG}-py3-none-any.whl"),
    "a file in another folder": page(filename="../demo-1.0-py3-none-any.whl"),
    "a name with escapes": page(filename=f"demo{ESCAPE}-1.0-py3-none-any.whl"),
    "a reason with escapes": page(yanked=f"{ESCAPE}\r\nERROR: forged"),
    "a port that is none": page(url=f"http://127.0.0.1:99999/{WHEEL.filename}"),
    "an address that is none": page(url=f"http://[::1/{WHEEL.filename}"),
    "a host that is none": page(url=f"http://xn--\x7f/{WHEEL.filename}"),
    "a header in the host": page(url=f"http://127.0.0.1\r\nX-Evil: 1/{WHEEL.filename}"),
    "a program": page(url="javascript:alert(1)"),
    "the file itself": page(url=f"data:application/zip;base64,AAAA/{WHEEL.filename}"),
}
HARMLESS = {
    "an endless size": page(size=10**400),
    "a huge specifier": page(**{"requires-python": f">={LONG}"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_pages(index: SimpleIndex, environment: Environment, case: str) -> None:
    index.add(WHEEL)
    index.set_page("/simple/demo/", REFUSED[case], JSON_TYPE)
    check_refused(environment, install(environment, index))


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_no_size_and_no_specifier_is_read_over(
    index: SimpleIndex, environment: Environment, case: str
) -> None:
    index.add(WHEEL)
    index.set_page("/simple/demo/", HARMLESS[case], JSON_TYPE)
    install(environment, index).check()


@pytest.mark.parametrize(
    "tail",
    [
        "<a" + " a" * 100_000 + ">",
        "<div>" * 100_000,
        "<!DOCTYPE" + "[" * 10_000,
        f'<a href="{ESCAPE}.whl">x</a>',
        '<a href="http://[/demo-2.0-py3-none-any.whl">x</a>',
        "<![if x]>",
        "&#x110000;" * 1000,
        '<base href="javascript:x">',
    ],
    ids=range(8),
)
def test_hostile_html_beside_a_good_file(
    index: SimpleIndex, environment: Environment, tail: str
) -> None:
    index.add(WHEEL)
    href = f"/files/{WHEEL.filename}#sha256={WHEEL.sha256}"
    index.set_page("/simple/demo/", f'<a href="{href}">{WHEEL.filename}</a>{tail}', HTML_TYPE)
    result = install(environment, index)
    assert result.returncode in (0, 1), result
    assert "fault in vinstall" not in result.stderr
    check_clean(result)


def test_fields_of_another_type(index: SimpleIndex, environment: Environment) -> None:
    """One page with all of them beside a good file: that one is used."""
    index.add(WHEEL)
    good = json.loads(page())
    number = 1
    for field in ("filename", "url", *MORE_FIELDS):
        for value in VALUES:
            number += 1
            name = f"demo-{number}-py3-none-any.whl"
            good["files"].append({"filename": name, "url": f"../{name}", field: value})
    index.set_page("/simple/demo/", json.dumps(good), JSON_TYPE)
    install(environment, index, "demo==1.0").check()


@pytest.mark.parametrize(
    "line",
    [
        f"other=={LONG}",
        f"other; python_version > '{LONG}'",
        f"other @ file://{ESCAPE}",
        "other[" + "a," * 50_000 + "a]",
        "other; " + "(" * 10_000 + "os_name == 'x'" + ")" * 10_000,
    ],
    ids=["version", "marker", "url", "extras", "depth"],
)
def test_hostile_requirements(index: SimpleIndex, environment: Environment, line: str) -> None:
    index.add(make_wheel("demo", requires_dist=[line]))
    check_refused(environment, install(environment, index))
    check_refused(environment, install(environment, index, "--no-index", line))


@pytest.mark.parametrize("words", [("http://[x/a.whl",), ("-i", "http://[x", "a")])
def test_what_is_no_url(
    index: SimpleIndex, environment: Environment, words: tuple[str, ...]
) -> None:
    result = install(environment, index, *words)
    check_refused(environment, result)
    assert "is not a URL" in result.stderr


@pytest.mark.parametrize("value", ['"\u00e9"', '"\x7f"', "x" * 60_000, '"a\tb"'])
def test_validators_that_can_not_be_sent_back(
    index: SimpleIndex, environment: Environment, value: str
) -> None:
    """What a server sends as ETag comes back to it, or not at all."""
    index.add(WHEEL)
    index.page_headers = {"ETag": value, "Cache-Control": "max-age=0"}
    options = ("--retries", "0", "--timeout", "5", "--index-url", index.simple_url)
    for _ in range(2):
        result = environment.vinstall("install", *options, "--force-reinstall", "demo")
        assert result.returncode in (0, 1), result
        assert "fault in vinstall" not in result.stderr, result


def test_secrets_and_headers_from_the_environment(
    index: SimpleIndex, make_index: Callable[..., SimpleIndex], environment: Environment
) -> None:
    index.add(WHEEL)
    variables = {"PIP_USER_AGENT_USER_DATA": "a\r\nX-Evil: 1\u00e9"}
    options = ("--no-cache-dir", "--index-url", index.simple_url)
    environment.vinstall("install", *options, "demo", variables=variables).check()
    for request in index.requests:
        assert "x-evil" not in request.headers
