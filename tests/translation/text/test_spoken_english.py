"""Tests of spoken English in words that a model knows."""

from __future__ import annotations

import pytest

from docgraph.translation.text.spoken_english import with_stutter, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Contractions and abbreviations of chats.
        ("D'you think y’all can swim?", "Do you think you all can swim?"),
        ("You shoulda seen 'em, c'mon!", "You should have seen them, come on!"),
        ("'Twas cold. 'Cause of the wind?", "It was cold. Because of the wind?"),
        ("How'd you find it? How'd you like some tea?", "How did you find it? How'd you like some tea?"),
        ("A jug o' milk at nine o'clock", "A jug of milk at nine o'clock"),
        ("Ya know I love ya.", "You know I love you."),
        # Dropped letters.
        ("Mornin', Joe. Nothin’ is workin'.", "Morning, Joe. Nothing is working."),
        # Stutters, lengthened words, and broken-off sentences.
        ("W-wait, I-I can't l-look.", "Wait, I can't look."),
        ("I only wanted to—", "I only wanted to..."),
        ("Now, Mrs.--", "Now, Mrs..."),
        # Other text.
        ("the basin' 'cabin' Ms. Bellin' u = 3", "the basin' 'cabin' Ms. Bellin' u = 3"),
        ("an S-shaped T-tube, a D-dimer test, t-tests", "an S-shaped T-tube, a D-dimer test, t-tests"),
        ("www.example.com, #aaaaaa, the nnn-list, Swooop", "www.example.com, #aaaaaa, the nnn-list, Swooop"),
        ("The talk by Lotta Berg on Ya Ali and beat 'em ups", "The talk by Lotta Berg on Ya Ali and beat 'em ups"),
        ("The captain answered,—", "The captain answered,—"),
    ],
)
def test_spoken_forms_are_written_out(text: str, expected: str) -> None:
    assert written(text) == expected


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("W-wait!", "Attendez !", "A-attendez !"),
        ('"I-I saw it."', "« Je l'ai vu. »", "« J-je l'ai vu. »"),
        ("N-no.", "N-non.", "N-non."),
        ("Wait, I-I saw it.", "Attendez, je l'ai vu.", "Attendez, je l'ai vu."),
        ("T-tubes are blue.", "Les tubes sont bleus.", "Les tubes sont bleus."),
    ],
)
def test_a_stutter_of_the_first_word_is_kept(source: str, translation: str, expected: str) -> None:
    assert with_stutter(source, translation) == expected
