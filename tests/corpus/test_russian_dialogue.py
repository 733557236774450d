"""scripts/make_russian_dialogue.py: its tables, Russian grammar, versions of a dialogue, and held-out sentences."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from corpus.corpus_examples import read_documents
from corpus.script_examples import SCRIPTS, read_corpus, run_script

sys.path.insert(0, str(SCRIPTS))

from make_russian_dialogue import KINDS, groups, is_held_out, suite_sentences
from russian_dialogue import english, formality, names, nouns, russian, verbs
from russian_dialogue.persons import HE, SHE, YOU_ALL, first_person, second_person
from russian_dialogue.tables import Dialogue

SUITE = {
    "src": "We 're late . Don 't wait for us here . _eos No . _eos Yes . _eos He will .",
    "dst": ["Да . _eos Нет . _eos Мы ещё подождём вас здесь . _eos Будет ."] * 2,
    "true_ind": 0,
    "ctx_dist": 1,
}


def drawn(kind: str, count: int, seed: int = 1) -> list[tuple[Dialogue, ...]]:
    return list(groups(KINDS[kind].draw, random.Random(seed), count))


def test_the_tables_are_well_formed() -> None:
    assert len(formality.read_lines()) == 30
    assert len(names.read_names()) > 700
    assert len(names.read_frames()) > 900
    assert len(verbs.read_verbs()) > 250
    assert len(nouns.read_nouns()) > 250
    assert len(nouns.read_adjectives()) > 50
    assert len(nouns.read_counts()) > 30
    assert len(nouns.read_frames()) > 200
    assert min(map(len, nouns.read_leads().values())) > 15


@pytest.mark.parametrize(
    ("read", "row", "message"),
    [
        (formality.read_lines, "marked\thome\tGo.\tИди.", "expected 5 cells"),
        (formality.read_lines, "marked\thome\tWe go.\tИдём.\tИдём.", "marked lines only"),
        (names.read_names, "Otto\tman\tОтто\tOtto", "'Otto' is not a capitalised Russian name"),
        (names.read_names, "Otto\tman\tОтто\tОтто", "equal in the case nom"),
        (names.read_frames, "man\thome\t{name} sleeps.\t{name} спит.", "one of nom, gen"),
        (verbs.read_verbs, "home\tmop\tthe floor\tпол\t-\tмыть мыл\tP\t-", "5 or 8 Russian forms"),
        (verbs.read_verbs, "home\tmop\tthe floor\tпол\tмыть мыл мою моет моют\t-\tP\t-", "need a perfective verb"),
        (nouns.read_nouns, "thing\ttap\tc\tm\tкран крана крану", "expected six cases"),
        (nouns.read_adjectives, "thing\tblunt\tтупая\tis", "no masculine nominative"),
        (nouns.read_frames, "question\thome\tdragon\tnom\t-\ta\tWho?\tКто?", "no noun is of one of the kinds"),
    ],
)
def test_a_wrong_row_is_reported(read: object, row: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text(f"# comment\n{row}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"table\.tsv, line 2: ") as caught:
        read(path)  # type: ignore[operator]
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_dialogues(kind: str) -> None:
    assert drawn(kind, 40) == drawn(kind, 40)
    assert drawn(kind, 40) != drawn(kind, 40, seed=2)


@pytest.mark.parametrize("kind", KINDS)
def test_dialogues_are_complete(kind: str) -> None:
    for versions in drawn(kind, 600):
        for dialogue in versions:
            assert len(dialogue) == 4
            for source, target in dialogue:
                assert source[-1] in ".?!"
                assert target[-1] in ".?!"
                assert source[0].isupper()
                assert target[0].isupper() or target[0] == "«"
                assert not set("{}[]|_") & set(source + target)
                assert "  " not in source + target


@pytest.mark.parametrize("kind", ["formality", "names"])
def test_versions_differ_in_the_russian_of_the_last_sentence(kind: str) -> None:
    for first, second in drawn(kind, 600):
        assert [source for source, _ in first] == [source for source, _ in second]
        assert first[-1][1] != second[-1][1]
        assert any(one[1] != other[1] for one, other in zip(first[:-1], second[:-1], strict=True))


@pytest.mark.parametrize("kind", ["verb_phrases", "inflections"])
def test_the_last_english_sentence_has_several_translations(kind: str) -> None:
    translations: dict[str, set[str]] = {}
    for (dialogue,) in drawn(kind, 600):
        translations.setdefault(dialogue[-1][0], set()).add(dialogue[-1][1])
    assert max(map(len, translations.values())) > 5


@pytest.mark.parametrize(
    ("name", "case", "role", "expected"),
    [
        ("Уотсон", "gen", "mister", "Уотсона"),
        ("Уотсон", "gen", "lady", "Уотсон"),
        ("Джордж", "ins", "man", "Джорджем"),
        ("Гарри", "dat", "man", "Гарри"),
        ("Джулия", "loc", "woman", "Джулии"),
        ("Ольга", "gen", "woman", "Ольги"),
        ("Наташа", "ins", "woman", "Наташей"),
        ("Андреа", "acc", "woman", "Андреа"),
        ("Якобь", "loc", "man", "Якобе"),
        ("Винчестер", "acc", "place", "Винчестер"),
        ("Бейкер-стрит", "loc", "street", "Бейкер-стрит"),
    ],
)
def test_names_are_declined(name: str, case: str, role: str, expected: str) -> None:
    assert names.decline(name, case, role) == expected


@pytest.mark.parametrize(
    ("word", "gender", "case", "expected"),
    [
        ("красный", "f", "acc", "красную"),
        ("синий", "n", "gen", "синего"),
        ("большой", "m", "loc", "большом"),
        ("хороший", "n", "nom", "хорошее"),
        ("дорогой", "p", "ins", "дорогими"),
        ("маленький", "m", "acc", "маленький"),
    ],
)
def test_adjectives_agree(word: str, gender: str, case: str, expected: str) -> None:
    assert russian.adjective(word, gender, case) == expected


def test_animate_nouns_have_the_genitive_as_accusative() -> None:
    assert russian.adjective("новый", "m", "acc", animate=True) == "нового"
    assert russian.determiner("мой", "p", "acc", animate=True) == "моих"
    assert russian.determiner("этот", "m", "acc") == "этот"


@pytest.mark.parametrize(
    ("preposition", "word", "expected"),
    [
        ("с", "Стивеном", "со"),
        ("С", "мной", "Со"),
        ("с", "Сарой", "с"),
        ("о", "Анне", "об"),
        ("о", "мне", "обо"),
        ("о", "ёлке", "о"),
        ("в", "Франции", "во"),
        ("к", "мне", "ко"),
        ("за", "мной", "за"),
    ],
)
def test_prepositions_fit_the_word_behind(preposition: str, word: str, expected: str) -> None:
    assert russian.preposition_before(preposition, word) == expected


def test_verbs_agree_with_their_subject() -> None:
    paradigm = russian.read_paradigm("бояться боялся боюсь боится боятся")
    assert [paradigm.past_of(gender) for gender in "mfp"] == ["боялся", "боялась", "боялись"]
    assert paradigm.persons == ("боюсь", "боишься", "боится", "боимся", "боитесь", "боятся")
    sign = next(verb for verb in verbs.read_verbs() if verb.base == "sign")
    assert verbs.conjugated(sign, "past", SHE, "p") == "подписала"
    assert verbs.conjugated(sign, "future", second_person("m"), "p") == "подпишешь"
    assert verbs.conjugated(sign, "future", YOU_ALL, "i") == "будете подписывать"
    assert verbs.conjugated(sign, "conditional", first_person("f"), "p") == "подписала бы"
    assert russian.predicate("Никто", "подписал бы", "не") == "Никто бы не подписал"
    assert [russian.plural_imperative(verb) for verb in ("подпиши", "сдавайся")] == ["подпишите", "сдавайтесь"]


def test_english_forms() -> None:
    assert [english.past(verb) for verb in ("stop", "try", "tie up", "answer")] == [
        "stopped",
        "tried",
        "tied up",
        "answered",
    ]
    assert [english.gerund(verb) for verb in ("lie", "make", "kidnap", "see")] == [
        "lying",
        "making",
        "kidnapping",
        "seeing",
    ]
    assert [english.third_person(verb) for verb in ("go", "cry", "wash", "play")] == [
        "goes",
        "cries",
        "washes",
        "plays",
    ]
    assert english.auxiliary("perfect", HE) == ("has", "hasn't")
    assert english.written(("i am not  ready.", "нет.")) == ("I'm not ready.", "Нет.")


def test_sentences_of_suites_are_held_out(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text(json.dumps([SUITE]), encoding="utf-8")
    held_out = {sentence.replace("ё", "е") for sentence in suite_sentences([path])}
    assert is_held_out([("Don't wait for us here!", "Не ждите!")], held_out)
    assert is_held_out([("Wait.", "Мы еще подождем вас здесь.")], held_out)
    assert is_held_out([("Wait.", "Мы ещё подождём вас здесь.")], held_out)
    assert not is_held_out([("He will.", "Будет."), ("We're late.", "Мы опоздали.")], held_out)


def test_prepare_reads_what_the_script_writes(tmp_path: Path) -> None:
    run = run_script("make_russian_dialogue.py", "--out", tmp_path / "all", "--count", "30")
    assert run.stdout == "120 dialogues written, 0 left out\n"
    source, target = (str(tmp_path / "all" / f"train.{side}.txt.xz") for side in ("src", "tgt"))
    documents = read_documents(source=source, target=target)
    assert [len(document.source) for document in documents] == [4] * 120
    assert any("ё" in sentence for document in documents for sentence in document.target)


def test_the_script_leaves_out_held_out_sentences(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps([SUITE]), encoding="utf-8")
    run_script("make_russian_dialogue.py", "--out", tmp_path / "all", "--count", "8")
    documents = read_corpus(tmp_path / "all")[0].split("\n\n")
    longest = max((line for document in documents for line in document.split("\n")), key=len)
    (tmp_path / "test.txt").write_text(longest.upper() + "\n", encoding="utf-8")
    held_out = ["--held-out", tmp_path / "test.txt", "--suites", tmp_path / "suite.json"]
    run = run_script("make_russian_dialogue.py", "--out", tmp_path / "fewer", "--count", "8", *held_out)
    left_out = sum(longest in document for document in documents)
    assert run.stdout == f"{32 - left_out} dialogues written, {left_out} left out\n"
    assert longest not in read_corpus(tmp_path / "fewer")[0]
