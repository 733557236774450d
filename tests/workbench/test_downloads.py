"""The workbench in headless Chromium: downloading and deleting documents, and a server with keys."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from docgraph.formats import read
from docgraph.server.limits import ApiKeys
from docgraph.server.requests import name_parts
from workbench.chromium import KNOWN, SENTENCES, Workbench, opened, running


def downloaded(workbench: Workbench, kind: str) -> tuple[str, bytes]:
    workbench.page.get_by_role("button", name="Download").click()
    with workbench.page.expect_download() as download:
        workbench.page.get_by_role("menuitem", name=kind).click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def word_document() -> bytes:
    paragraphs = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in SENTENCES[:3])
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    types = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{types}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{relation}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{namespace}"><w:body>{paragraphs}</w:body></w:document>',
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def test_the_translation_is_downloaded(workbench: Workbench, tmp_path: Path) -> None:
    workbench.open_file("harbour.docx", word_document())
    workbench.correct(1, KNOWN)
    name, content = downloaded(workbench, "Document in its own format")
    assert name.endswith(".docx")
    path = tmp_path / "harbour.docx"
    path.write_bytes(content)
    [document] = read(path)
    assert document.texts == workbench.translations()
    for kind, suffix in (("XLIFF", ".xlf"), ("TMX", ".tmx"), ("TSV", ".tsv"), ("HTML", ".html")):
        name, content = downloaded(workbench, kind)
        assert name.endswith((suffix, f"{suffix}iff"))
        assert KNOWN in content.decode()
        assert SENTENCES[1] in content.decode()


def test_the_file_of_a_pasted_text_has_a_suffix(workbench: Workbench) -> None:
    for text, file in (
        ("The harbour is closed. The seawall must be repaired.", "The harbour is closed. The seawall.fr.txt"),
        ("The harbour is closed.", "The harbour is closed.fr.txt"),
    ):
        workbench.open_text(text)
        assert downloaded(workbench, "Document in its own format")[0] == file
        assert downloaded(workbench, "TSV")[0] == file.replace(".txt", ".tsv")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("report.docx", ("report", ".docx")),
        ("report.v2.tar.gz", ("report.v2.tar", ".gz")),
        ("report", ("report", "")),
        (".hidden", (".hidden", "")),
        ("It costs 3.5 …", ("It costs 3.5", "")),
        ("…", ("…", "")),
        ("a\n.txt", ("a\n", ".txt")),
    ],
)
def test_only_letters_after_the_last_dot_are_a_suffix(name: str, parts: tuple[str, str]) -> None:
    assert name_parts(name) == parts


def test_a_saved_document_is_deleted(workbench: Workbench) -> None:
    workbench.open_text("The committee of the deleted document met.")
    workbench.page.locator(".home").click()
    item = workbench.page.locator(".job", has_text="The committee of the deleted")
    item.get_by_role("button").click()
    workbench.page.locator("dialog .danger").click()
    item.wait_for(state="detached")


def test_a_server_with_keys_asks_for_one(browser: Any, tmp_path: Path) -> None:
    with running(tmp_path, keys=ApiKeys(frozenset(["secret"]))) as address, opened(browser, address) as workbench:
        workbench.page.goto(address)
        dialog = workbench.page.get_by_role("dialog", name="A server key is needed")
        dialog.get_by_label("API key").fill("secret")
        dialog.get_by_role("button", name="Continue").click()
        workbench.page.locator(".jobs li").first.wait_for()
        assert workbench.page.locator("dialog").count() == 0
        workbench.page.locator("#text").fill(SENTENCES[0])
        workbench.page.locator(".paste button").click()
        workbench.wait_until_done()
        workbench.expect_problems("status of 401")
