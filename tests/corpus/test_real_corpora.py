"""Released corpora: WIT3 XML, blank-line files, speakers."""

from __future__ import annotations

import pytest
from corpus_examples import read_documents, texts

from docgraph.corpus.readers import Problems
from shared_data import SHARED, needs_data

pytestmark = needs_data
CORPORA = SHARED / "corpora"


@pytest.mark.parametrize(
    ("name", "source", "target", "documents", "sentences"),
    [
        ("IWSLT13.TED.tst2010.en-fr", "en", "fr", 11, 1664),
        ("IWSLT16.TED.dev2010.de-en", "de", "en", 8, 887),
        ("IWSLT16.TED.tst2010.de-en", "de", "en", 11, 1565),
    ],
)
def test_wit3_xml(name: str, source: str, target: str, documents: int, sentences: int) -> None:
    paths = {
        side: str(CORPORA / "ted" / "xml" / f"{name}.{code}.xml")
        for side, code in (("source", source), ("target", target))
    }
    found = read_documents(**paths)
    assert (len(found), sum(map(len, found))) == (documents, sentences)
    assert all(document.id.isdecimal() for document in found)
    assert not any("<" in text or "&amp;" in text for document in found for text in document.source)


def test_wit3_xml_equals_the_blank_line_release() -> None:
    xml, plain = (
        read_documents(**{side: str(CORPORA / "ted" / path.format(code)) for side, code in codes})
        for path, codes in (
            ("xml/IWSLT13.TED.tst2010.en-fr.{}.xml", (("source", "en"), ("target", "fr"))),
            ("en-fr/tst2010.{}.txt.xz", (("source", "src"), ("target", "tgt"))),
        )
    )
    assert texts(xml) == texts(plain)
    assert xml[0].lines[0] == 10


def test_europarl_with_speakers() -> None:
    folder = CORPORA / "europarl_en-fr"
    paths = {
        name: str(folder / f"dev.{part}.txt.xz")
        for name, part in (("source", "src"), ("target", "tgt"), ("speakers", "spk"))
    }
    problems = Problems(skip=True)
    documents = read_documents(problems, **paths)
    assert (len(documents), sum(map(len, documents))) == (21, 2009)
    assert not problems.dropped
    assert all(document.speakers is not None for document in documents)
