"""scripts/make_pronoun_pairs.py: pairs that only the hint tells apart, and hints that the reference contradicts."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from corpus.script_examples import read_corpus, run_script, store_of, write_corpus
from docgraph.corpus.hints import CorpusHints, write_hints
from docgraph.model.hints import REFERRING, Hint
from make_pronoun_pairs import draw_evenly
from pronouns.clauses import with_object
from pronouns.conjugation import agree, conjugate, join
from pronouns.french import Lexicon, with_gender
from pronouns.objects import find_impersonal, find_objects
from pronouns.pairs import HintWriter, PronounPair, as_pairs, find_pairs, twin
from pronouns.sentences import SentenceWriter

PAIR = PronounPair("It won.", "Elle a gagné.", "f", plural=False, words="it")
TEXT = ["Le port dort.", "La ville dort.", "Il est vendu, elle est vendue, ils sont vendus, elles sont vendues."] * 20


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon(TEXT)


def test_gender_of_phrases(lexicon: Lexicon) -> None:
    assert lexicon.gender("la chose inconnue") == "f"
    assert lexicon.gender("port.") == "m"
    assert lexicon.gender("villes") == "f"
    assert lexicon.gender("inconnu") is None
    assert lexicon.gender("?!") is None


@pytest.mark.parametrize(
    ("sentence", "gender", "expected"),
    [
        ("Elle a reçu le prix.", "m", "Il a reçu le prix."),
        ("Il n'est pas vendu.", "f", "Elle n'est pas vendue."),
        ("Elles ont été vendues.", "m", "Ils ont été vendus."),
        ("S'ils viennent, tant mieux.", "f", "Si elles viennent, tant mieux."),
        ("Elle est facile.", "m", "Il est facile."),
        ("Il reste à voir.", "f", None),
        ("Elle est la première.", "m", None),
        ("Elle est grande et forte.", "m", None),
        ("Elles continuaient, parfaitement droites, et s'arrêtaient.", "m", None),
        ("Il dit qu'il vient.", "f", None),
    ],
)
def test_a_sentence_in_the_other_gender(lexicon: Lexicon, sentence: str, gender: str, expected: str | None) -> None:
    assert with_gender(sentence, gender, lexicon) == expected  # type: ignore[arg-type]


def test_pairs_and_twins(lexicon: Lexicon) -> None:
    pairs = [
        ("It has won.", "Elle a gagné."),
        ("It is important to win.", "Il est important de gagner."),
        ("She says it has won.", "Elle dit qu'il a gagné."),
        ("The boat says it won.", "Le bateau dit qu'il a gagné."),
        ("They have won.", "Ils ont gagné."),
    ]
    found = list(find_pairs(pairs))
    assert [(pair.source, pair.gender, pair.plural) for pair in found] == [
        ("It has won.", "f", False),
        ("The boat says it won.", "m", False),
        ("They have won.", "m", True),
    ]
    twins = [twin(pair, lexicon) for pair in found]
    assert [pair and pair.target for pair in twins] == ["Il a gagné.", None, "Elles ont gagné."]
    assert twins[0] is not None
    assert (twins[0].source, twins[0].gender) == ("It has won.", "m")


def test_drawn_hints_have_the_gender_and_are_not_excluded(lexicon: Lexicon) -> None:
    writer = HintWriter(lexicon, frozenset(), random.Random(1))
    assert {lexicon.gender(writer.draw("f", plural=False)) for _ in range(50)} == {"f"}
    assert all(lexicon.gender(writer.draw("m", plural=True)) == "m" for _ in range(50))
    excluding = HintWriter(Lexicon([*TEXT, *["La gare dort."] * 20]), frozenset({"ville"}), random.Random(1))
    assert not any("ville" in excluding.draw("f", plural=False).lower() for _ in range(50))


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("acheter", "achète achètes achète achetons achetez achètent achetions achètera acheté"),
        ("manger", "mange manges mange mangeons mangez mangent mangions mangera mangé"),
        ("lancer", "lance lances lance lançons lancez lancent lancions lancera lancé"),
        ("jeter", "jette jettes jette jetons jetez jettent jetions jettera jeté"),
        ("préférer", "préfère préfères préfère préférons préférez préfèrent préférions préférera préféré"),
        ("nettoyer", "nettoie nettoies nettoie nettoyons nettoyez nettoient nettoyions nettoiera nettoyé"),
        ("finir", "finis finis finit finissons finissez finissent finissions finira fini"),
        ("vendre", "vends vends vend vendons vendez vendent vendions vendra vendu"),
        ("prendre", "prends prends prend prenons prenez prennent prenions prendra pris"),
        ("ouvrir", "ouvre ouvres ouvre ouvrons ouvrez ouvrent ouvrions ouvrira ouvert"),
    ],
)
def test_conjugation(infinitive: str, forms: str) -> None:
    verb = conjugate(infinitive)
    assert " ".join((*verb.present, verb.imperfect[3], verb.future[2], verb.participle)) == forms


def test_words_elide_and_agree() -> None:
    assert join("je~", "le~", "ai") == "je l'ai"
    assert join("ne~", "la~", "vends", "pas") == "ne la vends pas"
    assert [agree("pris", f, p) for f in (False, True) for p in (False, True)] == ["pris", "pris", "prise", "prises"]
    assert (with_object("pick up", plural=False), with_object("paid for", plural=True)) == (
        "pick it up",
        "paid for them",
    )
    assert conjugate("donner").imperative(1) == "donne"


@pytest.mark.parametrize(
    ("source", "masculine", "feminine"),
    [
        ("I've already sold it.", "Je l'ai déjà vendu.", "Je l'ai déjà vendue."),
        ("She put it there.", "Elle le mit là.", "Elle la mit là."),
        ("Sell it.", "Vends-le.", "Vends-la."),
        ("We want to sell them.", "Nous voulons les vendre.", "Nous voulons les vendre."),
        ("He has sold them.", "Il les a vendus.", "Il les a vendues."),
    ],
)
def test_objects_in_both_genders(lexicon: Lexicon, source: str, masculine: str, feminine: str) -> None:
    for target in (masculine, feminine):
        (found,) = find_objects([(source, target)], lexicon)
        assert found.targets == (masculine, feminine)


def test_objects_keep_the_gender_of_a_referent_in_their_sentence(lexicon: Lexicon) -> None:
    (found,) = find_objects([("The door? He sold it.", "La porte ? Il l'a vendue.")], lexicon)
    assert found.targets == (None, "La porte ? Il l'a vendue.")
    assert [pair.gender for pair in as_pairs(found)] == ["f"]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("I know it.", "Je le sais."),  # le is a clause
        ("He finds it.", "Il le trouve beau."),  # beau agrees, too
        ("She had it sold.", "Elle l'a fait vendre."),  # the participle does not agree
        ("He says it is sold.", "Il dit que c'est vendu."),
        ("She sold it and he bought it.", "Elle l'a vendu et il l'a vendu."),
    ],
)
def test_uncertain_objects_are_left_out(lexicon: Lexicon, source: str, target: str) -> None:
    assert not list(find_objects([(source, target)], lexicon))


def test_impersonal_pairs_do_not_follow_the_hint() -> None:
    (found,) = find_impersonal([("It is time to go.", "Il est temps de partir."), ("It won.", "Il a gagné.")])
    assert {pair.target for pair in as_pairs(found)} == {"Il est temps de partir."}
    assert [pair.gender for pair in as_pairs(found)] == ["m", "f"]


def test_written_sentences_follow_the_hint_only_where_it_refers() -> None:
    sentences = list(SentenceWriter(random.Random(1)).sentences(4000))
    assert {"object", "gift", "order", "question", "feeling", "prep", "which", "both", "mine"} <= {
        sentence.kind for sentence in sentences
    }
    for sentence in sentences:
        masculine, feminine = sentence.targets
        assert masculine
        assert feminine
        assert not re.search(r"[~@<>{}|]|  ", sentence.source + masculine + feminine)
        assert set(sentence.words.split()) <= set(re.findall(r"[a-z]+", sentence.source.lower())) & REFERRING
        if sentence.kind in ("object", "gift", "adverb") and sentence.source.startswith(("He ", "She ")):
            person = "Il " if sentence.source.startswith("He ") else "Elle "
            assert masculine.startswith(person)
            assert feminine.startswith(person)
        if sentence.kind == "adverb":
            assert masculine == feminine
        if sentence.kind in ("feeling", "which"):
            assert masculine != feminine


def test_kinds_are_drawn_evenly() -> None:
    kinds = {kind: [(pair,)] * count for kind, pair, count in (("a", PAIR, 5), ("b", PAIR, 100), ("c", PAIR, 90))}
    drawn = draw_evenly(kinds, 65, random.Random(1))
    assert {kind: len(groups) for kind, groups in drawn.items()} == {"a": 5, "b": 30, "c": 30}


def run(*arguments: str | Path) -> str:
    done = run_script("make_pronoun_pairs.py", *arguments)
    assert done.returncode == 0
    return done.stdout


def test_pairs_and_hints_from_the_command_line(tmp_path: Path) -> None:
    source = ["It has won.", "It has won it all again.", *["x"] * 60]
    target = ["Elle a gagné.", "Elle a encore tout gagné.", *TEXT]
    corpus = write_corpus(tmp_path / "in", "\n".join(source) + "\n", "\n".join(target) + "\n")
    held_out = tmp_path / "held_out.txt"
    held_out.write_text("It has won it all again.\n", encoding="utf-8")
    printed = run("pairs", corpus, "--out", tmp_path / "out", "--written", "0", "--held-out", held_out)
    assert printed.startswith("subject, twins: 2 of 2 pairs")
    texts = read_corpus(tmp_path / "out")
    assert texts[0] == "It has won.\n\nIt has won.\n"
    assert sorted(texts[1].strip().split("\n\n")) == ["Elle a gagné.", "Il a gagné."]
    store = store_of(tmp_path, *texts)
    run("hints", store.folder, tmp_path / "out" / "train.hints.txt")
    hints = CorpusHints(store.folder, "train", ("coreference",))
    expected = (tmp_path / "out" / "train.hints.txt").read_text("utf-8").splitlines()
    for index, text in enumerate(expected):
        (hint,) = hints.document(index)
        assert f"it\t{store.tokenizer.target.decode(hint.ids)}" == text
        assert store.tokenizer.source.decode(store.sentences(index, "source")[0][0][: hint.place]) == "It"


def test_contradicted_hints_are_removed(tmp_path: Path) -> None:
    store = store_of(tmp_path, "It won.\nIt lost.\nIt ran.\n", "Elle a gagné.\nIl a perdu.\nOn a couru.\n")
    phrase = tuple(store.tokenizer.target.encode("la ville")[0][:-1].tolist())
    write_hints(store, [[Hint(sentence, 1, phrase, "coreference") for sentence in range(3)]])
    printed = run("mend", store.folder, "--agreeing", tmp_path / "agreeing")
    assert "contradicted: 1" in printed
    kept = CorpusHints(store.folder, "train", ("coreference",)).document(0)
    assert [hint.sentence for hint in kept] == [0, 2]
    assert (tmp_path / "agreeing" / "train.hints.txt").read_text("utf-8") == "it\tla ville\n" * 4
