"""Clients of LibreTranslate and DeepL work with docgraph serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from docgraph.server.limits import ApiKeys
from docgraph.translation.terms.formality import formality_of
from server.live_server import live_server
from server.server_examples import EXAMPLES, embedded_translator

TEXT = "The harbour is closed.\n\nThe seawall is old. It will be replaced in March."


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with live_server(tmp_path_factory.mktemp("server"), keys=ApiKeys(frozenset({"secret"}))) as address:
        yield address


def post(address: str, path: str, fields: dict[str, Any]) -> Any:
    return httpx.post(f"{address}{path}", json={**fields, "api_key": "secret"}, timeout=60).raise_for_status().json()


def test_the_client_from_pypi(address: str) -> None:
    client = LibreTranslateAPI(address, api_key="secret")
    assert client.translate(TEXT, "en", "fr") == embedded_translator().translate(TEXT).document.source
    assert client.detect("The harbour is closed, and it will not open again.")[0]["language"] == "en"
    assert client.detect("Le port est fermé, et il ne sera pas ouvert pour nous.")[0]["language"] == "fr"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["fr"]},
        {"code": "fr", "name": "French", "targets": []},
    ]


def test_the_client_needs_the_key(address: str) -> None:
    for key in (None, "wrong"):
        with pytest.raises(Exception, match="401"):
            LibreTranslateAPI(address, api_key=key).translate("Hello", "en", "fr")


def test_several_texts_html_and_detection(address: str) -> None:
    texts = ["The harbour is closed.", "", "It will open."]
    answer = post(address, "/translate", {"q": texts, "source": "auto", "target": "fr"})
    assert answer["translatedText"] == [embedded_translator().translate(text).document.source for text in texts]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "en", "en"]
    page = "<p>The <b>harbour</b> is closed.</p>"
    answer = post(address, "/translate", {"q": page, "source": "en", "target": "fr", "format": "html"})
    assert answer["translatedText"] == "<p>Le <b>port</b> est fermé.</p>"


def test_other_languages_are_refused_in_the_shape_of_libretranslate(address: str) -> None:
    fields = {"q": "Hallo", "source": "de", "target": "fr", "api_key": "secret"}
    answer = httpx.post(f"{address}/translate", json=fields)
    assert answer.status_code == 400
    assert answer.json() == {"error": "this server translates from en to fr only"}


def test_a_file_is_translated_and_downloaded_without_a_key(address: str) -> None:
    content = (EXAMPLES / "harbour_report.md").read_bytes()
    fields = {"source": "en", "target": "fr", "api_key": "secret"}
    answer = httpx.post(
        f"{address}/translate_file", data=fields, files={"file": ("report.md", content)}, timeout=60
    ).raise_for_status()
    translated = httpx.get(answer.json()["translatedFileUrl"])
    assert translated.status_code == 200
    assert "# Rapport sur" in translated.text


def test_deepl(address: str) -> None:
    headers = {"Authorization": "DeepL-Auth-Key secret"}
    body = {"text": ["The harbour is closed.", "It will open."], "target_lang": "FR"}
    answer = httpx.post(f"{address}/v2/translate", json=body, headers=headers, timeout=60).raise_for_status().json()
    expected = [embedded_translator().translate(text).document.source for text in body["text"]]
    assert [each["text"] for each in answer["translations"]] == expected
    assert answer["translations"][0]["detected_source_language"] == "EN"
    refused = httpx.post(f"{address}/v2/translate", json={**body, "target_lang": "DE"}, headers=headers)
    assert (refused.status_code, refused.json().keys()) == (400, {"message"})


@pytest.mark.parametrize(("name", "formality"), [("more", "formal"), ("prefer_less", "informal")])
def test_deepl_formality(address: str, name: str, formality: str) -> None:
    body = {"text": "You forgot your coat.", "target_lang": "FR", "formality": name}
    headers = {"Authorization": "DeepL-Auth-Key secret"}
    answer = httpx.post(f"{address}/v2/translate", json=body, headers=headers, timeout=60).raise_for_status().json()
    assert formality_of(answer["translations"][0]["text"]) == formality


def test_a_deepl_form_may_repeat_the_text(address: str) -> None:
    fields = [("text", "The harbour is closed."), ("text", "It will open."), ("target_lang", "FR")]
    content = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in fields)
    headers = {"Authorization": "DeepL-Auth-Key secret", "Content-Type": "application/x-www-form-urlencoded"}
    answer = httpx.post(f"{address}/v2/translate", content=content, headers=headers, timeout=60).raise_for_status()
    assert len(answer.json()["translations"]) == 2
