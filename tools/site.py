"""Check the built site: every link inside it leads somewhere, nothing is loaded from elsewhere, and
every page of the reference says what it must.

python tools/site.py docs/_build/html
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = ("src", "srcset", "imagesrcset", "poster", "data", "background", "xlink:href")
# what leads a reader elsewhere, and is fetched only when it is followed
FOLLOWED = ("a", "area")
STRANGERS = ("http", "https", "mailto")  # schemes a reader may be sent to
TOP = ("", "top")
STYLE_LOAD = re.compile(r"(?:url\(|@import|image-set\()\s*['\"]?([^'\")\s]+)", re.I)
# how a script asks for something from elsewhere: only names of hosts in quotes count
SCRIPT_LOAD = re.compile(
    r"(?:import|fetch|importScripts|XMLHttpRequest|\.src\s*=|\.href\s*=|open)\b[^;\n]{0,80}?"
    r"['\"`]((?:https?:)?//[^'\"`\s]+)"
)
LONGEST_SIGNATURE = 1500  # characters: more is the repr of a default


class Page(HTMLParser):
    """The ids, links and loads of one page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        given = {name: value or "" for name, value in attrs}
        self._inside = tag if tag in ("style", "script") else ""
        self.ids |= {given["id"]} if "id" in given else set()
        self.ids |= {given["name"]} if tag == "a" and "name" in given else set()
        self.loads += STYLE_LOAD.findall(given.get("style", ""))
        for name in LOADING:
            value = given.get(name, "")
            several = [part.split()[0] for part in value.split(",") if part.strip()]
            self.loads += several if name.endswith("srcset") else [value] if value else []
        if "href" in given and tag in FOLLOWED:
            self.links.append(given["href"])
        elif "href" in given:  # of link, base, image, use …
            rel = given.get("rel", "").lower().split()
            followed = {"canonical", "next", "prev", "index", "search", "author", "license"}
            (self.links if followed & set(rel) else self.loads).append(given["href"])
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.loads.append(given.get("content", "").partition("=")[2])
        if tag == "form":
            self.links.append(given.get("action", ""))

    def handle_endtag(self, tag: str) -> None:
        """A style or a script may end."""
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        """A style or a script inside the page."""
        if self._inside == "style":
            self.loads += STYLE_LOAD.findall(data)
        elif self._inside == "script":
            self.loads += SCRIPT_LOAD.findall(data)


def html_files(root: Path) -> list[Path]:
    """The pages; among the theme's own files is a template, which is none."""
    return [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]


def read(path: Path) -> Page:
    """A page, parsed."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def leaves(link: str) -> bool:
    """Whether a link leads out of the site."""
    parts = urlsplit(link)
    return bool(parts.netloc or parts.scheme) and parts.scheme != "data"


class Site:
    """All pages of a folder, and what is wrong with them."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.pages = {path: read(path) for path in html_files(self.root)}
        self.faults: list[str] = []

    def check(self) -> list[str]:
        """Everything that is wrong."""
        for path, page in self.pages.items():
            for link in page.links:
                self._link(path, link)
            for load in page.loads:
                self._load(path, load)
        for path in sorted(self.root.rglob("*.css")):
            for load in STYLE_LOAD.findall(path.read_text(encoding="utf-8")):
                self._load(path, load)
        for path in sorted(self.root.rglob("*.js")):
            for load in SCRIPT_LOAD.findall(path.read_text(encoding="utf-8")):
                self._load(path, load)
        for path in sorted((self.root / "reference" / "generated").glob("weightnorm.*.html")):
            self._reference(path)
        return self.faults

    def _link(self, path: Path, link: str) -> None:
        if not leaves(link):
            self._inside(path, link)
        elif urlsplit(link).scheme not in STRANGERS:
            self._fault(path, f"{link}: a link that works on one machine only")

    def _load(self, path: Path, load: str) -> None:
        if leaves(load):
            self._fault(path, f"loads {load} from elsewhere")
        elif not load.startswith(("data:", "#")):
            self._inside(path, load)

    def _inside(self, path: Path, link: str) -> None:
        """A file of the site, and a heading in it."""
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        heading = unquote(parts.fragment)
        if not target.is_file() or not target.is_relative_to(self.root):
            self._fault(path, f"{link}: no such file")
        elif heading not in TOP and target in self.pages and heading not in self.pages[target].ids:
            self._fault(path, f"{link}: no such heading")

    def _reference(self, path: Path) -> None:
        """The page of a public name: parameters, returns and an example."""
        text = path.read_text(encoding="utf-8")
        main = text[text.index("<article") : text.index("</article>")]
        head = re.sub(r"<[^>]+>", "", main[: main.find("</dt>")])
        wanted = {"an example": ">Examples<"}
        if '<dl class="py function">' in main:
            wanted["what it returns"] = ">Returns"
            if "sig-param" in main[: main.find("</dt>")]:
                wanted["its parameters"] = ">Parameters"
        for name, mark in wanted.items():
            if mark not in main:
                self._fault(path, f"without {name}")
        if '<dl class="py class">' in main and not re.search(">(Parameters|Attributes)", main):
            self._fault(path, "without parameters or attributes")
        if len(head) > LONGEST_SIGNATURE:
            self._fault(path, f"has a signature of {len(head)} characters")

    def _fault(self, path: Path, text: str) -> None:
        self.faults.append(f"{path.relative_to(self.root)}: {text}")


def main(root: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    site = Site(root)
    if not site.pages:
        print(f"{root} has no pages: run make docs")
        return 1
    faults = site.check()
    for fault in faults:
        print(fault)
    names = len(list((root / "reference" / "generated").glob("weightnorm.*.html")))
    print(
        f"{len(site.pages)} pages, {names} of them of public names: "
        + (
            f"{len(faults)} faults"
            if faults
            else "every link leads somewhere, nothing from elsewhere"
        )
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
