"""Glossaries: files, terms in texts, forms, and translations that use them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from docgraph.annotate.inflection import Lexicon, french_plural
from docgraph.cli import app
from docgraph.errors import DocgraphError
from docgraph.translation.checks.repair import Attempt
from docgraph.translation.corrections import translate_sentences
from docgraph.translation.decoding.constraints import Constraint
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.terms.glossary_files import MAX_TERM, read_entries
from docgraph.translation.terms.term import Term, are_used, find_all
from docgraph.translation.terms.term_enforcement import is_cut, is_padded
from docgraph.translation.translator import Translator

PAIR = ("en", "fr")
TBX = """<?xml version="1.0"?>
<martif type="TBX"><text><body>
<termEntry id="1"><langSet xml:lang="en-US"><tig><term>engine</term></tig></langSet>
<langSet xml:lang="fr"><tig><term>propulseur</term></tig><tig><term>moteur</term></tig></langSet></termEntry>
<termEntry id="2"><langSet xml:lang="de"><tig><term>Rad</term></tig></langSet></termEntry>
</body></text></martif>"""
TBX_2019 = """<tbx type="TBX-Core"><text><body><conceptEntry id="1">
<langSec xml:lang="en"><termSec><term>wheel &amp; axle</term></termSec></langSec>
<langSec xml:lang="fr"><termSec><term>roue et essieu</term></termSec></langSec></conceptEntry></body></text></tbx>"""


def entries(tmp_path: Path, name: str, content: str) -> list[tuple[str, tuple[str, ...]]]:
    (tmp_path / name).write_text(content, "utf-8")
    return [(entry.source, entry.targets) for entry in read_entries(tmp_path / name, PAIR)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.tsv", "engine\tmoteur\n", [("engine", ("moteur",))]),
        (
            "t.tsv",
            "\ufeffsource\ttarget\n# note\n\nengine\tmoteur|propulseur\tnote\n",
            [("engine", ("moteur", "propulseur"))],
        ),
        ("t.tsv", 'a "b" c\td\nAcme\t\nBolt\tBolt\n', [('a "b" c', ("d",)), ("Acme", ()), ("Bolt", ())]),
        ("t.csv", 'fr,en\n"moteur, gros",big engine\n', [("big engine", ("moteur, gros",))]),
        ("t.csv", "engine;moteur\n", [("engine", ("moteur",))]),
        ("t.tbx", TBX, [("engine", ("propulseur", "moteur"))]),
        ("t.tbx", TBX_2019, [("wheel & axle", ("roue et essieu",))]),
    ],
)
def test_files(tmp_path: Path, name: str, content: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert entries(tmp_path, name, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.tsv", "\n# nothing\n", "no terms"),
        ("t.tsv", f"{'x' * (MAX_TERM + 1)}\ty\n", "characters"),
        ("t.csv", 'engine,"moteur\n', "quotation marks"),
        ("t.tbx", "<tbx><text>", "well-formed"),
        ("t.tbx", "<html/>", "not TBX"),
        ("t.tbx", '<!DOCTYPE tbx [<!ENTITY x "y">]><tbx/>', "entity"),
        ("t.tbx", "<tbx>" + "<a>" * 200, "nested"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DocgraphError, match=message):
        entries(tmp_path, name, content)


@given(st.binary(max_size=200), st.sampled_from([".tsv", ".csv", ".tbx"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    with contextlib.suppress(DocgraphError):
        Glossary.read([path], PAIR)


def found(glossary: Glossary, text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(term.source, term.targets) for term in glossary.find(text)]


def test_terms_are_found_in_any_form_and_case() -> None:
    glossary = Glossary.of([("hard drive", "disque dur"), ("engine", "moteur"), ("Apple", None), ("IT", None)], PAIR)
    assert found(glossary, "Hard drives and ENGINES") == [
        ("Hard drives", ("disques durs",)),
        ("ENGINES", ("moteurs",)),
    ]
    assert found(glossary, "It is an apple, not Apple's IT.") == [("Apple", ("Apple",)), ("IT", ("IT",))]
    assert found(glossary, "the engine's noise") == [("engine", ("moteur", "moteurs"))]
    assert found(glossary, "the engineer") == []


def test_a_lone_possessive_is_no_word() -> None:
    glossary = Glossary.of([("tray", "bac")], ("en", "fr"))
    assert [term.source for term in glossary.find("the 's of the tray's lid, and ' alone")] == ["tray"]


def test_the_longest_term_is_taken() -> None:
    glossary = Glossary.of([("drive", "lecteur"), ("hard drive", "disque dur"), ("drive belt", "courroie")], PAIR)
    assert [source for source, _ in found(glossary, "a hard drive belt, a drive belt, a drive")] == [
        "hard drive",
        "drive belt",
        "drive",
    ]


def test_verb_forms_belong_to_verbs() -> None:
    glossary = Glossary.of([("drive", "lecteur"), ("send", "transmettre")], PAIR)
    assert found(glossary, "She is driving.") == []
    [(source, targets)] = found(glossary, "He sends it, sending none.")[:1]
    assert source == "sends"
    assert {"transmettre", "transmet", "transmis"} <= set(targets)


def test_contradicting_entries_are_noted_and_joined() -> None:
    glossary = Glossary.of([("user", "usager"), ("user", "utilisateur"), ("bolt", "vis"), ("bolt", "vis")], PAIR)
    [note] = glossary.notes
    assert "user" in note
    assert {"usager", "utilisateur"} <= set(found(glossary, "the user")[0][1])


def test_forms_of_phrases() -> None:
    lexicon = Lexicon("fr", ["carte", "rapide"])
    assert lexicon.inflected("carte mère", plural=True) == ["cartes mères"]
    assert lexicon.inflected("carte de crédit", plural=True) == ["cartes de crédit"]
    assert lexicon.inflected("Acme Cloud") == ["Acme Cloud"]
    assert [french_plural(word) for word in ("bateau", "cheval", "prix", "clé")] == [
        "bateaux",
        "chevaux",
        "prix",
        "clés",
    ]
    assert Lexicon("xx").inflected("kitu") == ["kitu"]


def term(source: str, *targets: str, start: int = 0) -> Term:
    return Term(source, start, start + len(source), targets, "glossary")


def test_use_of_terms() -> None:
    moteur, acme = term("engine", "moteur", "moteurs"), term("Acme", "Acme")
    assert are_used([moteur, acme], "Les Moteurs d’Acme") == [True, True]
    assert are_used([moteur, acme], "le motoriste d'acme") == [False, False]
    assert are_used([moteur, moteur], "le moteur") == [True, False]
    assert are_used([moteur, acme], "LE MOTEUR D'ACME") == [True, True]
    assert are_used([term("it", "retour d'expérience")], "le retour d’expérience") == [True]


def test_an_earlier_finder_wins() -> None:
    first, second = Glossary.of([("big engine", "a")]), Glossary.of([("engine", "b"), ("wheel", "c")])
    assert [each.target for each in find_all([first, second], "wheel of a big engine")] == ["c", "a"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr")


SENTENCES = ["The engine of the ship exploded.", "The printer supports duplex printing.", "The harbour is open."]
TERMS = [("engine", "machine"), ("duplex printing", "impression recto verso")]


def test_translations_use_the_terms(translator: Translator) -> None:
    plain = translator.translate(SENTENCES)
    glossary = Glossary.of(TERMS, translator.languages)
    [(_, translation)] = translator.translate_requests([TranslationRequest(plain.source, glossary=glossary)])
    assert translation.texts[0].startswith("La machine du navire ")
    assert translation.texts[1] == "L'imprimante prend en charge l'impression recto verso."
    assert translation.texts[2] == plain.texts[2]
    assert [use.used for use in translation.terms] == [True, True]
    assert not translation.doubtful
    assert translation.sentences[0].to_json()["glossary"] == [
        {"source": "engine", "translation": "machine", "used": True}
    ]


def test_names_are_kept_and_elided(translator: Translator) -> None:
    glossary = Glossary.of([("Netherfield", None), ("Amberly", None)], translator.languages)
    document = Translator.translate(translator, ["They came from Netherfield.", "The owner of Amberly slept."]).source
    [(_, translation)] = translator.translate_requests([TranslationRequest(document, glossary=glossary)])
    assert "Netherfield" in translation.texts[0]
    assert "d'Amberly" in translation.texts[1]


def test_a_known_translation_without_the_term_is_reported(translator: Translator) -> None:
    glossary = Glossary.of(TERMS, translator.languages)
    document = translator.translate(SENTENCES[:1]).source
    request = TranslationRequest(document, ["Le moteur du navire a explosé."], glossary=glossary)
    [(_, translation)] = translator.translate_requests([request])
    assert translation.texts == ["Le moteur du navire a explosé."]
    assert [use.used for use in translation.terms] == [False]


def test_command(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n".join(SENTENCES) + "\n", "utf-8")
    (tmp_path / "terms.tsv").write_text("engine\tpropulseur\nengine\tmoteur\n", "utf-8")
    arguments = ["translate", str(tmp_path / "in.txt"), "--glossary", str(tmp_path / "terms.tsv"), "--jsonl"]
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "out.jsonl")])
    assert result.exit_code == 0, result.output
    assert "2 translations of 'engine'" in result.output
    assert "1 of 1 glossary term used" in result.output
    first = json.loads((tmp_path / "out.jsonl").read_text("utf-8").splitlines()[0])
    assert first["glossary"][0]["used"]


def test_terms_are_enforced_beside_known_translations(translator: Translator) -> None:
    glossary = Glossary.of(TERMS, translator.languages)
    document = translator.translate(SENTENCES).source
    request = TranslationRequest(document, [None, None, "Le port de plaisance est ouvert."], glossary=glossary)
    [(_, translation)] = translator.translate_requests([request])
    assert translation.texts[2] == "Le port de plaisance est ouvert."
    assert [use.used for use in translation.terms] == [True, True]
    some = translate_sentences(translator, TranslationRequest(document, request.known), [2])
    assert some[2].text == translation.texts[2]


def test_a_term_does_not_double_its_sentence(translator: Translator) -> None:
    """With an unlikely term, the search preferred a translation without it, and a second one with it."""
    glossary = Glossary.of([("damage report", "état des lieux"), ("committee", "comité")], translator.languages)
    texts = ["You must read the damage report.", "The committee presented the damage report."]
    plain = translator.translate(texts)
    [(_, translation)] = translator.translate_requests([TranslationRequest(plain.source, glossary=glossary)])
    for text, first, sentence in zip(translation.texts, plain.texts, translation.sentences, strict=True):
        assert text.count(".") == 1
        assert len(text) < 1.5 * len(first)
        assert all(term.used for term in sentence.terms) or sentence.doubts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Vous devez lire l'état des lieux.", False),
        ("Vous devez lire le rapport. état des lieux.", True),
        ("Vous devez lire le rapport, que vous devez lire le plus vite, vous devez lire le rapport.", True),
        ("Vous devez lire le rapport sur les dégâts du bâtiment dans un état des lieux complet.", True),
    ],
)
def test_padded_translations(text: str, expected: bool) -> None:
    first = Attempt("Vous devez lire le rapport de dégâts.", -1.0, -5.0, ())
    assert is_padded(Attempt(text, -2.0, -9.0, ()), first, [Constraint(())]) == expected


@pytest.mark.parametrize(
    ("first", "text", "expected"),
    [
        ("Au loin, vers Knapille, je vis des arbres et des maisons prendre feu.", "Au loin, vers Knaphill, j", True),
        (
            "Au loin, vers Knapille, je vis des arbres prendre feu.",
            "Loin vers Knaphill, je vis flamber des arbres.",
            False,
        ),
        ("C'est un morceau de gâteau.", "C'est du gâteau.", False),
        ("Je le vis partir vite, je le vis partir vite, je le vis partir vite.", "Je vis partir Knaphill.", False),
    ],
)
def test_cut_translations(first: str, text: str, expected: bool) -> None:
    attempts = [Attempt(each, -1.0, -5.0, ()) for each in (text, first)]
    assert is_cut(*attempts, [Constraint(())]) == expected
