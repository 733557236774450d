from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Alignment, InlineMarkup, Link, Sentence
from docgraph.formats import read, render
from docgraph.formats.markup_alignment import needs_alignment
from docgraph.formats.markup_transfer import transfer_markup

TAG = re.compile(r"</?[a-z]>")
LINKS = st.lists(st.builds(Link, st.integers(0, 29), st.integers(0, 40), st.floats(0.02, 1.0)), max_size=20)


def sentence(raw: str) -> Sentence:
    """Make a sentence from a raw form with tags such as `<b>` and line breaks."""
    markup, text, end = [], "", 0
    for mark in re.finditer(r"</?[a-z]>|\n", raw):
        text += raw[end : mark.start()]
        markup.append(InlineMarkup(len(text), mark[0]))
        text += " " if mark[0] == "\n" else ""
        end = mark.end()
    return Sentence(text + raw[end:], 0, len(raw), markup=tuple(markup))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the <b>cat</b> sat", "le <b>chat</b> dort"),
        ("a <b>cat</b>, sat", "un <b>chat</b>, assis"),
        ("a <b>c</b> d", "<b>x</b>"),
        ("a <b>c</b> d", "<b></b>"),
        ("one two <b>three <i>four</i></b> five", "<b><i>un</i></b>"),
        ("un<b>believ</b>able", "<b>pas croyable</b>"),
        ("one two\nthree four", "un deux\ntrois quatre"),
        ("one\ntwo\nthree", "un"),
        ("我<b>爱</b>你", "我们<b>喜</b>欢你"),
        ("see the <b>documentation</b> for a list", "voir la <b>documentation</b> pour une liste"),
        ("long ago at <b>A, B</b> he wrote this all", "<b>A, B</b> écrit par lui il y a longtemps"),
        ("a big <b>cat</b>, Acme, Rome (1999): it was there", "un <b>chat</b>, Acme, Rome (1999) : il y est resté"),
        ("I have added the log (<b>).", "J'ai joint le fichier de journal (<b>)."),
        ("we talk of them,\nand why they explode", "ici, nous parlons de\npourquoi ils explosent"),
        ("it is so\nreally?", "c'est\u00a0ainsi\nvraiment\u00a0?"),
        ('he said "<i>No</i>" again', 'il redit "<i>Non</i>" encore'),
    ],
)
def test_markup_goes_to_the_matching_word(old: str, new: str) -> None:
    assert transfer_markup(sentence(old), TAG.sub("", new), str) == new


@given(
    st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "\n", "word ", "a, ", "中", "x"]), max_size=15),
    st.text("ab ,中.", max_size=30),
    LINKS,
)
def test_all_markup_is_kept_in_order_and_no_word_is_cut_or_lost(tokens: list[str], new: str, links: list[Link]) -> None:
    old = sentence("go" + "".join(tokens) + "on")
    written = transfer_markup(old, new, str, tuple(sorted(links)))
    marks = re.compile(r"</?[a-z]>|\n")
    kept = [markup.raw for markup in old.markup if markup.raw != "\n"]
    assert TAG.findall(written) == kept
    assert "\n\n" not in written
    assert written.count("\n") <= sum(markup.raw == "\n" for markup in old.markup)
    assert marks.sub("", written).replace(" ", "") == new.replace(" ", "")
    words = re.findall(r"[ab]+", new)
    assert re.findall(r"[ab]+", TAG.sub("", written).replace("\n", " ")) == words


def test_only_text_is_escaped() -> None:
    assert (
        transfer_markup(sentence("one <b>two</b> three"), "x < y", lambda text: text.replace("<", "&lt;"))
        == "x <b>&lt;</b> y"
    )


def alignment(old: str, new: str, pairs: str) -> Alignment:
    """Return links between words, each found by its first occurrence: `cat=chat the=le`."""
    links = []
    for pair in pairs.split():
        source, target = pair.split("=")
        links.append(Link(new.index(target) + len(target) - 1, old.index(source) + len(source) - 1, 1.0))
    return tuple(sorted(links))


@pytest.mark.parametrize(
    ("old", "pairs", "new"),
    [
        (
            "Open **Settings** and click **Save**.",
            "Open=Ouvrez Settings=Paramètres and=et click=cliquez click=sur Save=Enregistrer",
            "Ouvrez **Paramètres** et cliquez sur **Enregistrer**.",
        ),
        (
            "It has an [open governance model](g.md).",
            "It=Il has=utilise an=un open=ouvert governance=gouvernance governance=de model=modèle",
            "Il utilise un [modèle de gouvernance ouvert](g.md).",
        ),
        (
            'See the ["Writing" section](w.html) of the text.',
            "See=Voir the=la section=section Writing=Rédaction of=du text=texte",
            "Voir la [section « Rédaction »](w.html) du texte.",
        ),
        ("Take the **note:** now.", "Take=Prenez the=la note=remarque now=ici", "Prenez ici la **remarque :**"),
        ("Take the *image* now.", "Take=Prenez the=l' image=image now=vite", "Prenez vite l'*image*."),
        ("A *big [red](r) cat* sat.", "A=Un big=gros red=rouge cat=chat sat=dort", "Un *gros chat [rouge](r)* dort."),
    ],
)
def test_markup_goes_around_the_words_that_translate_the_marked_words(old: str, pairs: str, new: str) -> None:
    [document] = read(io.StringIO(old), "markdown")
    [text] = read(io.StringIO(new), "markdown")[0].texts
    assert render([document], [[text]], None, [[alignment(document.texts[0], text, pairs)]]) == new


def test_no_line_break_goes_between_an_elided_article_and_its_noun() -> None:
    old, text = sentence("Take the\n<i>image</i>."), "Prenez l'image."
    links = alignment(old.text, text, "Take=Prenez the=l' image=image")
    assert transfer_markup(old, text, str, links) == "Prenez\nl'<i>image</i>."


def test_links_that_would_change_the_order_are_given_up() -> None:
    [document] = read(io.StringIO("The [red](r) and [blue](b) cats."), "markdown")
    text = "Les chats bleus et rouges."
    links = alignment(document.texts[0], text, "The=Les cats=chats blue=bleus and=et red=rouges")
    written = render([document], [[text]], None, [[links]])
    assert isinstance(written, str)
    assert re.sub(r"\[|\]\(.\)", "", written) == text
    assert re.findall(r"\]\((.)\)", written) == ["r", "b"]
    assert "[]" not in written


def test_an_alignment_that_links_nothing_with_the_marked_words_changes_nothing() -> None:
    [document] = read(io.StringIO("Open the **small** door."), "markdown")
    text = "Ouvrez la petite porte."
    links = alignment(document.texts[0], text, "Open=Ouvrez the=la door=porte")
    assert render([document], [[text]], None, [[links]]) == render([document], [[text]])


@pytest.mark.parametrize(
    ("markdown", "text", "is_needed"),
    [
        ("The *cat* sat.", "Le chat dort.", True),
        ("The *cat* sat.", "The cat sat.", False),
        ("The *Acme* car and *its* door.", "La voiture Acme et sa porte.", True),
        ("The *Acme* car.", "La voiture Acme.", False),
        ("The cat sat.", "Le chat dort.", False),
        ("*The cat sat.*", "Le chat dort.", False),
        ("The `code` sat.", "Le dort.", False),
    ],
)
def test_only_markup_around_some_words_that_change_needs_an_alignment(
    markdown: str, text: str, is_needed: bool
) -> None:
    [document] = read(io.StringIO(markdown), "markdown")
    assert [needs_alignment(each, text) for each in document] == [is_needed]


@pytest.mark.parametrize(
    ("old", "text", "new"),
    [
        (
            "H<sub>2</sub>O is water, and CO<sub>2</sub> a gas.",
            "H2O est l'eau, et CO2 un gaz.",
            "H<sub>2</sub>O est l'eau, et CO<sub>2</sub> un gaz.",
        ),
        ("In all, 20 m<sup>2</sup> are left.", "Il reste 20 m2.", "Il reste 20 m<sup>2</sup>."),
        (
            "About 10<sup>6</sup> people live.",
            "Environ 106 personnes vivent.",
            "Environ 10<sup>6</sup> personnes vivent.",
        ),
        ("About 10<sup>12</sup> cells die.", "Environ 1\u00a0012 meurent.", "Environ 1\u00a00<sup>12</sup> meurent."),
        ("It is 5 km<sup>2</sup>.", "C'est 5 kilomètres carrés.", "C'est 5 kilomètres carrés<sup></sup>."),
        ("The 19<sup>th</sup> century.", "Le XIXe siècle.", "Le XIX<sup>e</sup> siècle."),
        ("On the 1<sup>st</sup> of May.", "Le 1er mai.", "Le 1<sup>er</sup> mai."),
        ("The 18<sup>th</sup>-century house.", "La maison du XVIIIe siècle.", "La maison du XVIII<sup>e</sup> siècle."),
        ("It is 10<sup>−6</sup> J.", "C'est 10-6 J.", "C'est 10<sup>-6</sup> J."),
        ("A Ca<sup>2+</sup> ion.", "Un ion Ca2+.", "Un ion Ca<sup>2+</sup>."),
        ('<p><b class="d">O</b>nce a king</p>', "Il y avait un roi", '<p><b class="d">I</b>l y avait un roi</p>'),
        ("A note<sup>1</sup>.", "Un petit mot.", "Un petit mot<sup>1</sup>."),
        ("It ended,<sup>2</sup> at last.", "Ce fut fini, enfin.", "Ce fut fini,<sup>2</sup> enfin."),
    ],
)
@pytest.mark.parametrize("format", ["html", "markdown"])
def test_markup_inside_words_stays_there(old: str, text: str, new: str, format: str) -> None:
    [document] = read(io.StringIO(old), format)
    assert render([document], [[text]]) == new


@pytest.mark.parametrize(
    ("old", "pairs", "new"),
    [
        (
            "He had a note<sup>1</sup> in his hand.",
            "He=Il had=avait a=un note=mot in=à hand=main",
            "Il avait un mot<sup>1</sup> à la main.",
        ),
        (
            'The red house<a epub:type="noteref" href="#n">1</a> is old.',
            "The=La red=rouge house=maison is=est old=vieille",
            'La maison<a epub:type="noteref" href="#n">1</a> rouge est vieille.',
        ),
        (
            'The red house<sup class="r"><a href="#n">[12]</a></sup> is old.',
            "The=La red=rouge house=maison is=est old=vieille",
            'La maison<sup class="r"><a href="#n">[12]</a></sup> rouge est vieille.',
        ),
        (
            "It is 5 km<sup>2</sup> in all.",
            "It=Ce is=sont 5=5 km=kilomètres in=au all=total",
            "Ce sont 5 kilomètres<sup></sup> carrés au total.",
        ),
    ],
)
def test_marks_go_to_the_end_of_the_word_that_translates_theirs(old: str, pairs: str, new: str) -> None:
    [document] = read(io.StringIO(old), "html")
    text = re.sub(r"<[^<>]*>|\[?\d\d?\]?(?=<)", "", new)
    assert needs_alignment(document.sentences[0], text)
    assert render([document], [[text]], None, [[alignment(document.texts[0], text, pairs)]]) == new


def test_the_mark_of_a_note_is_no_text() -> None:
    html = "A note<sup>1</sup> on km<sup>2</sup> and 10<sup>6</sup> in 2019<sup>2–3</sup>, x<sup>n</sup>.<sup>4,5</sup>"
    [document] = read(io.StringIO(html), "html")
    assert document.texts == ["A note on km2 and 106 in 2019, xn."]
