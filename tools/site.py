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

LOADED = {  # what a browser fetches by itself
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "input": ("src",),
    "use": ("href",),
}
LINKED_FILES = ("stylesheet", "icon", "preload", "modulepreload", "prefetch", "manifest")
EMPTY_HASH = ("", "#", "top")


class Page(HTMLParser):
    """The ids, links and loads of one page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.styles = ""
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self.styles += given.get("style", "") + "\n"
        self._in_style = tag == "style"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and any(kind in given.get("rel", "") for kind in LINKED_FILES):
            self.loads.append(given.get("href", ""))
        elif tag == "link":
            self.links.append(given.get("href", ""))
        for name in LOADED.get(tag, ()):
            if name == "srcset":
                self.loads += [part.split()[0] for part in given.get(name, "").split(",") if part]
            elif name in given:
                self.loads.append(given[name])

    def handle_endtag(self, tag: str) -> None:
        """A style sheet may end."""
        self._in_style &= tag != "style"

    def handle_data(self, data: str) -> None:
        """A style sheet inside the page."""
        if self._in_style:
            self.styles += data


def html_files(root: Path) -> list[Path]:
    """The pages; among the theme's own files is a template, which is none."""
    return [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]


def read(path: Path) -> Page:
    """A page, parsed."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def style_loads(text: str) -> list[str]:
    """What a style sheet loads."""
    found = re.findall(r"url\(\s*['\"]?([^'\")]+)", text)
    return [*found, *re.findall(r"@import\s+['\"]([^'\"]+)", text)]


def is_elsewhere(link: str) -> bool:
    """Whether a link leaves the site."""
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def broken_links(root: Path) -> list[str]:
    """Every link to a file or a heading that is not there."""
    pages = {path.resolve(): read(path) for path in html_files(root)}
    wrong = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            if is_elsewhere(link) or link.startswith("data:"):
                continue
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            hash_ = unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(root.resolve()):
                wrong.append(f"{path.relative_to(root.resolve())}: {link}: no such file")
            elif hash_ not in EMPTY_HASH and target in pages and hash_ not in pages[target].ids:
                wrong.append(f"{path.relative_to(root.resolve())}: {link}: no such heading")
    return wrong


def foreign_loads(root: Path) -> list[str]:
    """Everything that a page or a style sheet would fetch from another place."""
    wrong = []
    for path in html_files(root):
        page = read(path)
        loads = [*page.loads, *style_loads(page.styles)]
        wrong += [f"{path.relative_to(root)}: loads {link}" for link in loads if is_elsewhere(link)]
    for path in sorted(root.rglob("*.css")):
        for link in style_loads(path.read_text(encoding="utf-8")):
            if is_elsewhere(link):
                wrong.append(f"{path.relative_to(root)}: loads {link}")
            elif not link.startswith(("data:", "#")):
                target = path.parent / unquote(urlsplit(link).path)
                if not target.is_file():
                    wrong.append(f"{path.relative_to(root)}: loads {link}: no such file")
    return wrong


def thin_pages(root: Path) -> list[str]:
    """Pages of the reference without parameters, returns or an example where there should be."""
    wrong = []
    for path in sorted((root / "reference" / "generated").glob("weightnorm.*.html")):
        text = path.read_text(encoding="utf-8")
        main = text[text.index("<article") : text.index("</article>")]
        needs = [">Examples<"]
        if '<dl class="py function">' in main:
            takes_any = "sig-param" in main[: main.index("</dt>")]
            needs += [">Returns", *([">Parameters"] if takes_any else [])]
        wrong += [f"{path.name}: no {need[1:]}" for need in needs if need not in main]
        if '<dl class="py class">' in main and not re.search(">(Parameters|Attributes)", main):
            wrong.append(f"{path.name}: neither parameters nor attributes")
    return wrong


def main(root: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    pages = len(html_files(root))
    if not pages:
        print(f"{root} has no pages: run make docs")
        return 1
    wrong = [*broken_links(root), *foreign_loads(root), *thin_pages(root)]
    for line in wrong:
        print(line)
    names = len(list((root / "reference" / "generated").glob("weightnorm.*.html")))
    print(
        f"{pages} pages, {names} of them of public names: "
        + (
            f"{len(wrong)} faults"
            if wrong
            else "every link leads somewhere, nothing from elsewhere"
        )
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
