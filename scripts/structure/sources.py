"""The table of real files: packages, versions, licences and which of their files are tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from everyday.sources import Package

MAX_BYTES = 400_000
"""Larger files take too long for a check of hundreds."""


@dataclass(frozen=True)
class RealFiles:
    """The first `count` files of a package that match a pattern, in the order of their paths."""

    package: Package
    licence: str
    pattern: str
    count: int

    def find(self, folder: Path) -> list[Path]:
        """Return the files in the folder of unpacked packages; raises if the package is missing."""
        place = folder / self.package.folder
        if not place.is_dir():
            raise FileNotFoundError(f"{place}: there is no such folder; fetch the packages first (--list)")
        return list(self._files(place))[: self.count]

    def _files(self, place: Path) -> Iterator[Path]:
        for path in sorted(place.rglob("*")):
            if path.is_symlink() or not path.is_file() or not 0 < path.stat().st_size <= MAX_BYTES:
                continue
            if fnmatch(path.relative_to(place).as_posix(), self.pattern):
                yield path


def _npm(name: str, version: str, licence: str, pattern: str = "*.md", count: int = 4) -> RealFiles:
    return RealFiles(Package("npm", name, version), licence, pattern, count)


def _pypi(name: str, version: str, licence: str, pattern: str, count: int) -> RealFiles:
    return RealFiles(Package("PyPI", name, version), licence, pattern, count)


def _sdist(name: str, version: str, licence: str, pattern: str, count: int) -> RealFiles:
    return RealFiles(Package("PyPI source", name, version), licence, pattern, count)


def _debian(name: str, version: str, licence: str, pattern: str, count: int) -> RealFiles:
    return RealFiles(Package("Debian binary", name, version), licence, pattern, count)


_MARKDOWN = (
    _npm("async", "3.2.6", "MIT"),
    _npm("ava", "6.1.3", "MIT"),
    _npm("axios", "1.7.4", "MIT"),
    _npm("bootstrap-table", "1.23.2", "MIT"),
    _npm("chalk", "5.3.0", "MIT"),
    _npm("commander", "12.1.0", "MIT"),
    _npm("docusaurus", "1.14.7", "MIT", count=20),
    _npm("docx-templates", "4.13.0", "MIT"),
    _npm("eslint", "9.9.0", "MIT"),
    _npm("express", "4.19.2", "MIT"),
    _npm("fastify", "4.28.1", "MIT", count=30),
    _npm("glob", "11.0.0", "ISC"),
    _npm("got", "14.4.2", "MIT"),
    _npm("helmet", "7.1.0", "MIT"),
    _npm("jquery-ui", "1.14.0", "MIT"),
    _npm("karma", "6.4.4", "MIT"),
    _npm("knex", "3.1.0", "MIT"),
    _npm("koa", "2.15.3", "MIT"),
    _npm("lerna", "8.1.8", "MIT"),
    _npm("markdownlint", "0.35.0", "MIT", "doc/*.md", 30),
    _npm("mocha", "10.7.3", "MIT"),
    _npm("mongoose", "8.5.3", "MIT"),
    _npm("node-fetch", "3.3.2", "MIT"),
    _npm("npm", "10.8.0", "Artistic-2.0", "docs/*.md", 40),
    _npm("pm2", "5.4.2", "AGPL-3.0"),
    _npm("rollup", "4.21.0", "MIT"),
    _npm("semver", "7.6.3", "ISC"),
    _npm("socket.io", "4.7.5", "MIT"),
    _npm("undici", "6.19.8", "MIT", count=30),
    _npm("uuid", "10.0.0", "MIT"),
    _npm("webpack", "5.93.0", "MIT"),
    _npm("winston", "3.14.2", "MIT"),
    _npm("ws", "8.18.0", "MIT"),
    _npm("yargs", "17.7.2", "MIT"),
)
_HTML = (
    _npm("npm", "10.8.0", "Artistic-2.0", "docs/output/*.html", 15),
    _npm("reveal.js", "5.1.0", "MIT", "*.html", 3),
    _debian("debian-faq", "11.1", "GPL-2+", "*.en.html", 15),
    _debian("debian-policy", "4.6.2.0", "GPL-2+", "*.html", 15),
    _debian("debmake-doc", "1.17-7", "MIT", "*.en.html", 10),
    _debian("developers-reference", "12.18", "GPL-2+", "*.html", 10),
    _debian("exim4-doc-html", "4.96-1", "GPL-2+", "*.html", 15),
    _debian("git-doc", "1:2.39.5-0+deb12u3", "GPL-2", "*.html", 20),
    _debian("r-cran-rmarkdown", "2.20+dfsg-1", "GPL-3", "*.html", 6),
)
_CATALOGUES = (
    _pypi("Django", "5.1", "BSD-3-Clause", "*/admin/locale/[a-f]*/*/django.po", 15),
    _pypi("Flask-Admin", "1.6.1", "BSD-3-Clause", "*.po", 8),
    _pypi("Sphinx", "8.0.2", "BSD-2-Clause", "*.po", 8),
    _pypi("WTForms", "3.1.2", "BSD-3-Clause", "*.po", 8),
    _pypi("django-allauth", "65.13.0", "MIT", "*.po", 8),
    _pypi("django-cms", "4.1.2", "BSD-3-Clause", "*.po", 8),
    _pypi("django-filter", "24.3", "BSD-3-Clause", "*.po", 5),
    _pypi("wagtail", "6.2", "BSD-3-Clause", "wagtail/admin/locale/[a-d]*/*/django.po", 8),
    _debian("php-symfony-form", "5.4.53+dfsg-0+deb12u1", "MIT", "*.xlf", 5),
    _debian("php-symfony-security-core", "5.4.53+dfsg-0+deb12u1", "MIT", "*.xlf", 5),
    _debian("php-symfony-validator", "5.4.53+dfsg-0+deb12u1", "MIT", "*.xlf", 10),
)
_OFFICE = (
    _npm("mammoth", "1.8.0", "BSD-2-Clause", "*.docx", 17),
    _debian("r-cran-officer", "0.6.0+dfsg-1", "MIT", "*.docx", 5),
    _pypi("python-docx", "1.1.2", "MIT", "*.docx", 1),
    _sdist("odfpy", "1.4.1", "Apache-2.0", "*.odt", 16),
    _sdist("relatorio", "0.10.1", "GPL-3+", "*.odt", 5),
    _debian("debian-policy", "4.6.2.0", "GPL-2+", "*.epub", 1),
    _debian("debmake-doc", "1.17-7", "MIT", "*.epub", 3),
    _debian("developers-reference", "12.18", "GPL-2+", "*.epub", 1),
    _debian("r-cran-officer", "0.6.0+dfsg-1", "MIT", "*.pptx", 5),
    _pypi("python-pptx", "1.0.2", "MIT", "*.pptx", 1),
    _debian("r-cran-openxlsx", "4.2.5.2-1", "MIT", "*.xlsx", 13),
    _debian("r-cran-readxl", "1.4.2-1", "MIT", "*.xlsx", 5),
)
_SUBTITLES = (
    _sdist("pysrt", "1.1.2", "GPL-3", "*.srt", 11),
    _sdist("srt", "3.5.3", "MIT", "*.srt", 2),
    _sdist("webvtt-py", "0.5.1", "MIT", "*.srt", 9),
    _sdist("webvtt-py", "0.5.1", "MIT", "*.vtt", 19),
)
_RST = (
    _sdist("flask", "3.0.3", "BSD-3-Clause", "*.rst", 40),
    _sdist("werkzeug", "3.0.3", "BSD-3-Clause", "*.rst", 30),
    _sdist("jinja2", "3.1.4", "BSD-3-Clause", "*.rst", 20),
    _sdist("click", "8.1.7", "BSD-3-Clause", "*.rst", 30),
)
REAL_FILES = (*_MARKDOWN, *_HTML, *_CATALOGUES, *_OFFICE, *_SUBTITLES, *_RST)
