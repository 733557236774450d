"""Rule-based annotators, jieba and simplemma; Stanza, fastcoref and coreferee as fakes with their documented API."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotate.optional_packages import CorefereeAnnotator, FastcorefAnnotator, StanzaAnnotator
from docgraph.annotate.rule_based import JiebaAnnotator, SimplemmaAnnotator, WordAnnotator, unicode_words
from docgraph.annotation import Annotation, Strings, chains, int_array
from docgraph.document import Document
from docgraph.errors import DocgraphError


def slices(document: Document, annotation: Annotation) -> list[str]:
    spans = zip(annotation.sentence_of, annotation.starts, annotation.ends, strict=True)
    return [document.texts[sentence][start:end] for sentence, start, end in spans]


def test_jieba_finds_chinese_words() -> None:
    document = Document.from_sentences(["我来到北京清华大学。", "", "他用 Python 写代码"])
    annotation = JiebaAnnotator()(document, None)
    annotation.check(document)
    assert annotation.forms.to_list() == ["我", "来到", "北京", "清华大学", "。", "他", "用", "Python", "写", "代码"]
    assert slices(document, annotation) == annotation.forms.to_list()
    assert annotation.offsets.tolist() == [0, 5, 5, 10]


def test_jieba_takes_no_argument() -> None:
    with pytest.raises(DocgraphError, match="'jieba' takes no argument"):
        JiebaAnnotator("big")


def test_simplemma_adds_lemmas_to_the_words_found() -> None:
    document = Document.from_sentences(["Les chevaux mangeaient.", "Le cheval mange."])
    words = WordAnnotator("fr")(document, None)
    annotation = SimplemmaAnnotator("fr")(document, words)
    assert annotation.lemmas is not None
    assert annotation.lemmas.to_list() == ["le", "cheval", "manger", ".", "le", "cheval", "manger", "."]
    assert len(set(annotation.lemmas.table)) == len(annotation.lemmas.table) == 4
    assert annotation.forms is words.forms


def test_simplemma_without_a_dictionary_or_words() -> None:
    with pytest.raises(DocgraphError, match="no dictionary for 'zu'"):
        SimplemmaAnnotator("zu")
    with pytest.raises(DocgraphError, match="'simplemma:fr' needs words"):
        SimplemmaAnnotator("fr")(Document.from_sentences(["a"]), None)


def test_words_take_the_rules_of_the_language() -> None:
    document = Document.from_sentences(["L'eau d'ici coûte 3,50 €."])
    assert WordAnnotator("fr")(document, None).forms.to_list() == ["L'", "eau", "d'", "ici", "coûte", "3,50", "€", "."]
    assert "spacy" in WordAnnotator("fr").version
    assert "regex" in WordAnnotator("qu").version, "no rules for Quechua: Unicode classes"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Allin p'unchay, 3.5%!", ["Allin", "p'unchay", ",", "3.5", "%", "!"]),
        ("漢字とカタカナ", ["漢", "字", "とカタカナ"]),
        ("สวัสดี ok", ["สวัสดี", "ok"]),
        ("👩‍👩‍👧!", ["👩‍👩‍👧", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        (" \t", []),
    ],
)
def test_unicode_words(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in unicode_words(text)] == words


@given(st.text(max_size=40))
def test_unicode_words_lose_nothing_but_space(text: str) -> None:
    spans = unicode_words(text)
    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    covered = {index for start, end in spans for index in range(start, end)}
    assert all(text[index].isspace() for index in set(range(len(text))) - covered)


@pytest.mark.parametrize(
    ("factory", "command"),
    [
        (lambda: StanzaAnnotator("fr"), r"pip install 'docgraph\[stanza\]'"),
        (FastcorefAnnotator, "pip install fastcoref"),
        (CorefereeAnnotator, "pip install coreferee && python -m coreferee install en"),
        (JiebaAnnotator, r"pip install 'docgraph\[zh\]'"),
    ],
)
def test_a_missing_package_gives_the_command(monkeypatch: pytest.MonkeyPatch, factory: Any, command: str) -> None:
    for name in ("stanza", "fastcoref", "coreferee", "jieba"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DocgraphError, match=command):
        factory()


# Stanza: Pipeline(lang, processors=..., tokenize_no_ssplit=...)(text) -> sentences -> tokens -> words.


@dataclass
class StanzaPipeline:
    """White-space tokens, two multiword tokens, the first word as head; no_ssplit splits at blank lines."""

    lang: str
    processors: str
    tokenize_no_ssplit: bool
    download_method: None
    verbose: bool
    seen: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> SimpleNamespace:
        assert self.tokenize_no_ssplit
        self.seen.append(text)
        sentences, start = [], 0
        for paragraph in text.split("\n\n"):
            sentences.append(SimpleNamespace(tokens=self.tokens(paragraph, start)))
            start += len(paragraph) + 2
        return SimpleNamespace(sentences=sentences)

    def tokens(self, text: str, base: int) -> list[SimpleNamespace]:
        tokens, cursor, count = [], 0, 0
        for surface in text.split():
            start = text.index(surface, cursor)
            cursor = start + len(surface)
            words = []
            for form in {"du": ["de", "le"], "don't": ["do", "n't"]}.get(surface, [surface]):
                count += 1
                head, deprel = (0, "root") if count == 1 else (1, "dep")
                lemma = None if form == "X" else form
                words.append(
                    SimpleNamespace(id=count, text=form, lemma=lemma, upos="NOUN", feats=None, head=head, deprel=deprel)
                )
            tokens.append(SimpleNamespace(text=surface, start_char=base + start, end_char=base + cursor, words=words))
        return tokens


def install(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: Any) -> None:
    module = ModuleType(name)
    vars(module).update(attributes)
    monkeypatch.setitem(sys.modules, name, module)


def test_stanza(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "stanza", Pipeline=StanzaPipeline)
    document = Document.from_sentences(["Pain  du jour", "", " ", "X don't"])
    annotator = StanzaAnnotator("fr")
    annotation = annotator(document, None)
    annotation.check(document)
    assert annotation.offsets.tolist() == [0, 4, 4, 4, 7]
    assert annotation.forms.to_list() == ["Pain", "de", "le", "jour", "X", "do", "n't"]
    assert slices(document, annotation) == ["Pain", "du", "du", "jour", "X", "do", "n't"]
    assert annotation.heads is not None
    assert annotation.heads.tolist() == [0, 0, 0, 0, 4, 4, 4]
    assert annotation.lemmas is not None
    assert annotation.lemmas[4] == "x"
    empty = annotator(Document.from_sentences(["", " "]), None)
    assert empty.num_words == 0


def test_stanza_cuts_a_long_line(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "stanza", Pipeline=StanzaPipeline)
    document = Document.from_sentences(["word " * 5000, "end"])
    annotation = StanzaAnnotator("fr")(document, None)
    annotation.check(document)
    assert annotation.offsets.tolist() == [0, 5000, 5001]
    assert set(slices(document, annotation)) == {"word", "end"}
    assert annotation.heads is not None
    assert sum(int(h) == w for w, h in enumerate(annotation.heads[:5000])) == 1


def test_stanza_without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: Any, **options: Any) -> None:
        raise FileNotFoundError("resources.json")

    install(monkeypatch, "stanza", Pipeline=missing)
    with pytest.raises(DocgraphError, match=r"import stanza; stanza.download\('fr'\)"):
        StanzaAnnotator("fr")


# fastcoref: FCoref(...).predict(texts=[...])[0].get_clusters(as_strings=False) -> character spans.


@dataclass
class FCoref:
    model_name_or_path: str
    nlp: Any
    enable_progress_bar: bool

    def predict(self, texts: list[str]) -> list[SimpleNamespace]:
        assert self.nlp is not None
        spans = [[(0, 7), (17, 19)], [(8, 15), (20, 22), (16, 17)]]

        def get_clusters(as_strings: bool = True) -> Any:
            return spans if not as_strings else [[texts[0][a:b] for a, b in cluster] for cluster in spans]

        return [SimpleNamespace(get_clusters=get_clusters)]


def parsed(document: Document, heads: list[int]) -> Annotation:
    words = WordAnnotator("en")(document, None)
    return replace(words, heads=int_array(heads), deprels=Strings.of(["dep"] * len(heads)))


DOCUMENT = Document.from_sentences(["The dog saw red.", "He it"])


def test_fastcoref_spans_become_links_of_head_words(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "fastcoref", FCoref=FCoref)
    annotation = parsed(DOCUMENT, [1, 2, 2, 2, 2, 5, 5])
    # "The dog" is headed by dog (1), "saw red" by saw (2); a span of white space alone is no mention.
    found = FastcorefAnnotator()(DOCUMENT, annotation)
    found.check(DOCUMENT)
    assert found.coreference is not None
    assert found.coreference.tolist() == [[1, 5], [2, 6]]
    assert found.heads is annotation.heads


def test_fastcoref_without_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**options: Any) -> None:
        raise OSError("no such model")

    install(monkeypatch, "fastcoref", FCoref=missing)
    with pytest.raises(DocgraphError, match="huggingface-cli download biu-nlp/f-coref"):
        FastcorefAnnotator()


# coreferee: a spaCy component that sets doc._.coref_chains, chains of mentions, each a list of token indexes.


def test_coreferee_mentions_become_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from spacy.language import Language
    from spacy.tokens import Doc

    install(monkeypatch, "coreferee")
    if not Doc.has_extension("coref_chains"):
        Doc.set_extension("coref_chains", default=None)

    @Language.component("coreferee")
    def coreferee(doc: Doc) -> Doc:
        where = {token.text: token.i for token in doc}
        chain = [[where[word]] for word in ("dog", "He") if word in where]
        doc._.coref_chains = [chain] if chain else None
        return doc

    spacy.blank("en").to_disk(tmp_path / "en_toy")
    annotator = CorefereeAnnotator(str(tmp_path / "en_toy"))
    found = annotator(DOCUMENT, parsed(DOCUMENT, [1, 2, 2, 2, 2, 5, 5]))
    assert chains(found) == [[1, 5]]
    silent = Document.from_sentences(["Nothing"])
    assert chains(annotator(silent, parsed(silent, [0]))) == []


def test_coreferee_on_a_pipeline_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "coreferee")
    with pytest.raises(DocgraphError, match="python -m spacy download de_no_such && python -m coreferee install de"):
        CorefereeAnnotator("de_no_such")
