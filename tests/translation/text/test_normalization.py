"""What the model reads: characters and words that it knows, without text that it cannot read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.model.config import TransformerConfig
from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.text.capitals import is_all_caps
from docgraph.translation.text.postprocessing import Postprocessor
from docgraph.translation.text.preprocessing import (
    Preprocessor,
)
from docgraph.translation.text.protected_text import TextProtector
from model.subword_examples import processor
from translation.translator_examples import embedded, english_to_french


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return english_to_french()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SAFETY INSTRUCTIONS", "Safety instructions"),
        ("CHAPTER 12", "Chapter 12"),
        ("UNICEF", "UNICEF"),
        ("DO NOT USE HTML ON NATO SERVERS.", "Do not use HTML on NATO servers."),
        ("The desk is 7′ 2″.", "The desk is 7' 2\"."),
        ("IT IS A TEST OF THE US.", "It is a test of the US."),
        ("NEVER touch it. You MUST NOT go, says the WHO.", "Never touch it. You must not go, says the WHO."),
        ("Analysts expected $117.9bn and £3m.", "Analysts expected $117.9 billion and £3 million."),
        ("Open Mon–Fri, on Sat from 10 a.m.", "Open from Monday to Friday, on Saturday from 10:00."),
        ("The Monday to Friday train (Mon-Fri)", "The Monday to Friday train (from Monday to Friday)"),
        ("We work Monday-Friday.", "We work from Monday to Friday."),
        ("COME ON ENGLAND!", "Come on England!"),
        ("MEETING IN LONDON WITH PETER", "Meeting in London with Peter"),
        ("The doors open at 6 p.m. and close at 11:45 PM.", "The doors open at 18:00 and close at 23:45."),
        ("Prices in the U.K. and the U.S., too, rose.", "Prices in the UK and the US, too, rose."),
        ("Go (e.g. at 10:30 p.m.).", "Go (e.g. at 22:30)."),
        ("Updated: January 5, 2024.", "Updated: 5 January 2024."),
        ("On Tuesday, March 19th, or by May 7, 2024, we meet.", "On Tuesday, 19 March, or by 7 May 2024, we meet."),
        ("On April 29 and May 6, may 5 come.", "On 29 April and 6 May, may 5 come."),
        ("It is 12 am. It was 12:30 p.m.", "It is midnight. It was 12:30."),
        ("It is 12 p.m. or 12 noon.", "It is noon or noon."),
        ("Open 9 a.m.-5 p.m. or from 1 to 5 pm.", "Open from 9:00 to 17:00 or from 13:00 to 17:00."),
        ("We met between 11 and 1 p.m. in rooms 1 and 2 p.m.", "We met between 11:00 and 13:00 in rooms 1 and 14:00."),
        ("9:00 AM – 5:30 PM", "9:00 – 17:30"),
        ("On Wed, Jan 15 at 3pm, Sat from 10 a.m.", "On Wednesday, 15 January at 15:00, Saturday from 10:00."),
        ("Tue, 4 Mar 2025, Sept. 2024 and on 1 Jan.", "Tuesday, 4 March 2025, September 2024 and on 1 January."),
        ("From Jan 21-23, 2024, on Mon and Fri.", "From 21 to 23 January 2024, on Monday and Friday."),
        ("Mon-Fri 9am-5pm", "From Monday to Friday from 9:00 to 17:00"),
        ("It is at 14:00–15:30 (9:00-10:30).", "It is from 14:00 to 15:30 (9:00 to 10:30)."),
        (
            "Come between 10:00–18:00, 21:19–21:15, not 1:20-2:47.",
            "Come between 10:00 and 18:00, 21:19–21:15, not 1:20-2:47.",
        ),
        ("12:00 – 13:00", "12:00 – 13:00"),
        ("In March 20 people died.", "In March, 20 people died."),
        ("By December 15 countries had joined.", "By December, 15 countries had joined."),
        ("It costs $20k, $1.5M or £50-60k.", "It costs $20,000, $1.5 million or £50,000 to £60,000."),
        ("It is $5–$10, not £60 - £90 or $1-$2.", "It is $5 to $10, not £60 to £90 or $1-$2."),
        ("They cost between $1.5m–$2m.", "They cost between $1.5 million to $2 million."),
        ("Most cost between $300–$600.", "Most cost between $300 and $600."),
        (
            "It is $9/month, $20k/yr or €2 / GB, see $1/x/y/z.",
            "It is $9 per month, $20,000 per year or €2 per GB, see $1/x/y/z.",
        ),
        ("From A$25 to US$3.2 million, or $A2.", "From 25 Australian dollars to 3.2 million US dollars, or $A2."),
        ("They paid ¥10,000, ₹2 million and CHF 20.", "They paid 10,000 yen, 2 million yen and 20 CHF."),
        ("Add 1½ cups and ¾ cup of H₂O at 10⁶ m³.", "Add 1.5 cups and 3/4 cup of H2O at 106 m3."),
        ('A 27" monitor, 3½" wide, or a 32" TV', "A 27-inch monitor, 3.5 inches wide, or a 32-inch TV"),
        ("1 ft, 5 lbs at a 30-mph wind", "1 foot, 5 pounds at a 30 miles per hour wind"),
        ("5 sq mi, 1,500 sq ft and 1 sq. km", "5 square miles, 1,500 square feet and 1 square kilometre"),
        ("A 20m high wall, a 4x100m relay", "A 20 metres high wall, a 4x100-metre relay"),
        (
            "Lt. Gen. Ann Fox, Sen. J.B. Hill and Sgt Lee",
            "Lieutenant General Ann Fox, Senator J.B. Hill and Sergeant Lee",
        ),
        ("Lt Col Ann Fox and Maj Gen Lee", "Lieutenant Colonel Ann Fox and Major General Lee"),
        ("grave means a pit. (tombe des morts)", "grave means a pit. (tombe des morts)"),
        ("Ulm (German: Ulm; Latin: Ulma), c. 1320", "Ulm (in German: Ulm; in Latin: Ulma), about 1320"),
        ('A "bold" or "ASC" plan ("x=1"), "left(a)", "a {b}".', 'A " bold" or "ASC" plan ("x=1"), "left(a)", "a {b}".'),
        ('Her "The Salt Road" is "Salt and sand".', 'Her "The Salt Road" is " Salt and sand".'),
        ("'I don't know': the players' 'big day'", '" I don\'t know": the players\' " big day"'),
        ("The then-president and a then-unknown poet", "The then president and a then unknown poet"),
        ("I ❤️ Paris.", "I love Paris."),
        ("“Guess.”", "Guess."),
        ('"I lost my key.', "I lost my key."),
        ('Can you open?"', "Can you open?"),
        ('"No," he said.', '" No," he said.'),
        ('"Salt" and "oil"', '" Salt" and " oil"'),
        ('It is called "oil"', 'It is called " oil"'),
        ("Please KEEP YOUR HANDS OFF, says the USB LAMP.", "Please keep your hands off, says the USB LAMP."),
        ("This is the BEST TEA IN TOWN and SOLD OUT.", "This is the best tea in town and sold out."),
        ("READ THIS NOW: the DVD is REALLY good.", "Read this now: the DVD is really good."),
        ("SPOILER ALERT: she wins.", "Spoiler alert: she wins."),
        ("STOP IT!", "Stop it!"),
        ("WE DIDNT GET IT, THANK U", "We didn't get it, thank you"),
        ("Why?? No!!! What?!", "Why? No! What?"),
        ("Salt &amp; pepper &lt;3 it&#39;s", "Salt & pepper <3 it's"),
        ("A. It is in the box.", "It is in the box."),
        ("a) open the box", "open the box"),
        ("2. open the box", "open the box"),
        ("So glad! #sun #lake", "So glad!"),
        ("It was over--Mr. Hill left,--and so on.", "It was over—Mr. Hill left,—and so on."),
        ("2.1 Installing it", "Installing it"),
        ("(a) Check the oil.", "Check the oil."),
    ],
)
def test_text_is_normalised_to_characters_that_the_model_knows(
    preprocessor: Preprocessor, text: str, shown: str
) -> None:
    assert preprocessor.normalize(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "NATO",
        "HTML DOM",
        "Choose Tools - Protect Sheet.",
        "European Parliament",
        "He met Mary Byrne at Mount Etna.",
        "I am 12.",
        "The March 19-21 meeting and in July 2024, May 12 of them?",
        "In May 2021 we met, by December we had met.",
        "The Sun and Jan sat, the Mon people too.",
        'He said "27" and left.',
        "Maroon 5 ft. Rihanna ran 5k.",
        "Rooms 5 and 6, Article 2 I",
        "He left the U.K.",
        "The boys' rock 'n' roll of the '90s: the players' 'a_b' or 'AMJ'.",
        "Gen. 3:16 and Col. B say so, Gen Z and Rep 5, too.",
        "It sold 20m copies, and 3m people saw the 5m.",
        "A. B. Smith has a B.Sc. of e.g. York.",
        "The ECOFIN Council has met.",
        "The functions AND, OR and NOT of the US are here.",
        "A LEFT OUTER JOIN with IS NOT NULL and GROUP BY, by GET, PUT, DELETE or W, A, S.",
        "Press PAGE DOWN in THE HAGUE with IBM AI and EU US UK.",
        "2.1 million people and (a) and (b) met M. Petit.",
        "M. Petit saw it.",
        "The #lake is a ?? b and AT&T &c.",
    ],
)
def test_names_and_prose_are_not_changed(preprocessor: Preprocessor, text: str) -> None:
    assert preprocessor.normalize(text) == text


def test_known_characters_and_other_languages_are_not_changed() -> None:
    other = Preprocessor(embedded().source, None, 100)
    assert Postprocessor(other, None).finish("Why?", "Pourquoi?") == "Pourquoi?"
    assert other.normalize("« café » at 6 p.m.") == "« café » at 6 p.m."


def test_a_heading_is_all_caps_and_an_abbreviation_is_not() -> None:
    assert all(map(is_all_caps, ["INVOICE NO. 12", "INVOICE", "CHAPTER 1"]))
    assert not any(map(is_all_caps, ["UNICEF", "JSON", "CSS DOM", "A B C", "Invoice NUMBER TWELVE", "42", ""]))


@given(
    st.lists(st.sampled_from(["A.B.", "6 p.m.", "“", '"', "12,000", "$1.50", " ", "NO WAY", "no", "?", ":", "«", "é"]))
)
def test_rules_keep_text_and_never_fail(parts: list[str]) -> None:
    preprocessor = english_to_french()
    text = "".join(parts)
    assert bool(preprocessor.normalize(text).strip()) == bool(text.strip())
    assert bool(Postprocessor(preprocessor, ("en", "fr")).finish(text, text).strip()) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "shown", "said", "finished"),
    [
        ("The harbour report 🚢", "The harbour report", "Le rapport", "Le rapport 🚢"),
        ("✅ Well done 🎉!", "Well done!", "Bravo !", "✅ Bravo 🎉\u202f!"),
        ("👩‍💻 works ❤️ here.", "works here.", "travaille ici.", "👩‍💻 travaille ❤️ ici."),
        ("Use Word™ with Core®.", "Use Word with Core.", "Avec Core, utilisez Word.", "Avec Core®, utilisez Word™."),
        ("Word™ helps.", "Word helps.", "Le mot aide.", "Le mot™ aide."),
        ("* Star fruit", "Star fruit", "Carambole", "* Carambole"),
        ("*** WARNING ***", "Warning", "Attention", "*** ATTENTION ***"),
        ("-----Original Message-----", "Original Message", "Message d'origine", "-----Message d'origine-----"),
        ("--Yes, he said", "--Yes, he said", "--Oui, dit-il", "--Oui, dit-il"),
        ("He said so.² We agreed.", "He said so. We agreed.", "Il l'a dit. Oui.", "Il l'a dit.² Oui."),
        ("1️⃣ First step", "First step", "Première étape", "1️⃣ Première étape"),
        ("• First item", "First item", "Premier point", "• Premier point"),
        ("مرحبا بالعالم. This is peace (שלום) now.", "This is peace now.", "C'est la paix maintenant.",
         "مرحبا بالعالم. C'est la paix (שלום) maintenant."),
        ("Hello, 東京, old friend", "Hello, old friend", "Bonjour, vieil ami", "Bonjour, 東京, vieil ami"),
        ("Ito (東京, Ito) and Ai (東京 Ai)", "Ito (Ito) and Ai (Ai)", "Ito (Ito) et Ai (Ai)",
         "Ito (東京, Ito) et Ai (東京 Ai)"),
        ("It won. [1] [12]", "It won.", "Il a gagné.", "Il a gagné. [1] [12]"),
        ("See note [1]", "See note [1]", "Voir la note [1]", "Voir la note [1]"),
        ("Choose File → Open.", "Choose File → Open.", "Choisissez Fichier → Ouvrir.", "Choisissez Fichier → Ouvrir."),
        ("Łukasz saw α-rays at 20 °C.", "Łukasz saw α-rays at 20 °C.", "Łukasz vit.", "Łukasz vit."),
        ("co\u00adoperation at −5", "cooperation at -5", "coopération à -5", "coopération à -5"),
        ("The key (" + 9 * "aGVsbG8gd" + ") is old.", "The key is old.", "La clé est usée.",
         "La clé (" + 9 * "aGVsbG8gd" + ") est usée."),
        ("שלום עולם!", "", "", ""),
    ],
)  # fmt: skip
def test_unreadable_text_is_removed_and_put_back(
    preprocessor: Preprocessor, text: str, shown: str, said: str, finished: str
) -> None:
    assert preprocessor.normalize(text) == shown
    assert Postprocessor(preprocessor, ("en", "fr")).finish(text, said) == finished


def test_letters_are_readable_if_a_longer_piece_has_them() -> None:
    # Versions of SentencePiece differ in whether the piece has the space.
    table = {"</s>": 2, "<unk>": 3, "▁": 4, "港口": 5, "▁港口": 6, "旧": 7}
    config = TransformerConfig(source_vocabulary=8, target_vocabulary=8)
    coder = SubwordCoder(processor(["港口 港口 旧港口"], 12), table, config)
    protector = TextProtector(coder)
    assert protector.is_unknown("港")
    assert protector.remove("港口") == ("港口", [])
    assert protector.remove("港")[0] == ""


@pytest.mark.parametrize("part", [" ", "a ", "dont ", "1,000,", "‘Yes,’ ", "=A(", "put it "])
def test_very_long_texts_are_read(preprocessor: Preprocessor, part: str) -> None:
    """A rule whose time grows with the square of the length would not end here."""
    assert isinstance(preprocessor.normalize(f"Yes{part * (300_000 // len(part))}"), str)
