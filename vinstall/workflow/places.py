"""Where files are looked for, told as pip does: tools read these lines."""

from __future__ import annotations

from vinstall.events import Noted
from vinstall.settings import PYPI_URL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vinstall.events import Observer
    from vinstall.settings import IndexSettings


def tell_places(index: IndexSettings, observer: Observer) -> None:
    """Say where files are looked for, unless that is PyPI alone."""
    urls = () if index.no_index else (index.index_url, *index.extra_index_urls)
    for title, places in (
        ("indexes", () if urls == (PYPI_URL,) else urls),
        ("links", index.find_links),
    ):
        if any(places):
            from vinstall.index.address import redact_url

            listed = ", ".join(redact_url(place) for place in places if place)
            observer.receive(Noted(f"Looking in {title}: {listed}", verbosity=0))
