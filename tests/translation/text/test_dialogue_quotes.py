"""Tests of the quotation marks of French dialogue."""

from __future__ import annotations

import pytest

from docgraph.translation.text.dialogue_quotes import restore_quotes, without_outer_quotes


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        # A dash becomes guillemets.
        ('"The kettle is on."', "— La bouilloire chauffe.", "«La bouilloire chauffe.»"),
        ("“Come in. ", "— Entrez.", "«Entrez."),
        ('"Is it far?" asked Rose.', "— C'est loin ? demanda Rose.", "«C'est loin ?» demanda Rose."),
        (
            '"It is," said Rose, and left.',
            "— Oui, dit Rose, et il partit.",
            "«Oui», dit Rose, et il partit.",
        ),
        ("“Two,” I answered.", "— Deux, ai-je répondu.", "«Deux», ai-je répondu."),
        ('"So," he said, "we wait."', "— Alors, dit-il, on attend.", "«Alors, dit-il, on attend.»"),
        ("“She said ‘never’ twice.”", "— Elle a dit « jamais » deux fois.", "«Elle a dit “jamais” deux fois.»"),
        ('"So," he said, "we wait.', "— Alors, dit-il, on attend.", "«Alors, dit-il, on attend."),
        ("‘So,’ he said, ‘we can’t wait.’", "— Alors, dit-il, on attend.", "«Alors, dit-il, on attend.»"),
        ("'It is,' said Rose, and left.", "— Oui, dit Rose, et il partit.", "«Oui», dit Rose, et il partit."),
        ("‘I’m cold.", "— J'ai froid.", "«J'ai froid."),
        ("It’s far,’ Rose said.", "C'est loin, dit Rose.", "C'est loin», dit Rose."),
        ("It isn’t far.’", "Ce n'est pas loin.", "Ce n'est pas loin.»"),
        ("The ‘new’ one of the boys’ dogs.", "— Le nouveau.", "— Le nouveau."),
        # Its end is not certain.
        ('"If you can, go," he muttered.', "— Si tu peux, va-t'en.", "— Si tu peux, va-t'en."),
        ("He left — at last.", "— Il est parti.", "— Il est parti."),
        # Missing marks are added.
        ('"Put the box down.', "Posez la boîte.", "«Posez la boîte."),
        ('It is heavy."', "Elle est lourde.", "Elle est lourde.»"),
        ('"I am cold," whispers Ana.', "« J'ai froid, chuchote Ana.", "« J'ai froid», chuchote Ana."),
        ('And it rains," Rose said.', "Et il pleut, dit Rose.", "Et il pleut», dit Rose."),
        ('Rose wrote, "Come home."', "Rose écrivit : « Rentre.", "Rose écrivit : « Rentre.»"),
        ("He wrote: 'Stay.'\"", "Il a écrit : « Reste. »", "Il a écrit : “Reste.”»"),
        (
            "\"He shouted: 'Stay!'\" Ana added.",
            "« Il a crié : « Restez ! » a ajouté Ana.",
            "« Il a crié : “Restez !”» a ajouté Ana.",
        ),
        (
            '"It is late," he said, calling it "a pity."',
            "« Il est tard, a-t-il dit en parlant d'« un malheur. »",
            "« Il est tard», a-t-il dit en parlant d'« un malheur. »",
        ),
        # Single marks are marks of dialogue.
        ("'You are late,' said Ned.", "— Vous êtes en retard, dit Ned.", "«Vous êtes en retard», dit Ned."),
        ("‘Put the box down.", "Posez la boîte.", "«Posez la boîte."),
        ("It's heavy.'", "Elle est lourde.", "Elle est lourde.»"),
        ("'So,' he said, 'we wait.'", "— Alors, dit-il, on attend.", "«Alors, dit-il, on attend.»"),
        # They may be apostrophes.
        ("'Tis the boys' box.", "C'est la boîte des garçons.", "C'est la boîte des garçons."),
        ("'Yes' ends it.", "« Oui » y met fin.", "« Oui » y met fin."),
        ("It had no [‘key,’ he wrote].", "Il n'avait pas de [clé, écrit-il].", "Il n'avait pas de [clé, écrit-il]."),
        ("They fear 'all-nighters.'", "Ils ont peur des « nuits blanches ».", "Ils ont peur des « nuits blanches »."),
        ("'M'e Mary came.", "M'e Mary est venue.", "M'e Mary est venue."),
        # Marks that the source does not have are removed.
        ('"I lost my key.', "« J'ai perdu ma clé. »", "« J'ai perdu ma clé."),
        ('Can you open?"', "« Pouvez-vous ouvrir ? »", "Pouvez-vous ouvrir ? »"),
        # The translation has all marks.
        ('Can you open?"', 'Pouvez-vous ouvrir ?"', 'Pouvez-vous ouvrir ?"'),
        ('We wait here."', 'Nous attendons ici".', 'Nous attendons ici".'),
        ('"Say ‘no’ now."', '"Dites "non" maintenant".', '"Dites "non" maintenant".'),
        ('"We wait here".', '"Nous attendons ici".', '"Nous attendons ici".'),
        ('"I lost my key.', "«\u00a0J'ai perdu ma clé.", "«\u00a0J'ai perdu ma clé."),
        ("“Yes,” he said.", "« Oui », dit-il.", "« Oui », dit-il."),
        ('A "good" one.', 'Un "bon".', 'Un "bon".'),
        ('The 27" screen.', "L'écran de 27 pouces.", "L'écran de 27 pouces."),
        ('A screen of 27"', "Un écran de 27 pouces", "Un écran de 27 pouces"),
    ],
)
def test_a_translation_has_the_quotation_marks_of_its_source(source: str, text: str, expected: str) -> None:
    assert restore_quotes(source, text) == expected


def test_only_marks_around_a_whole_quotation_are_left_out() -> None:
    assert without_outer_quotes("'Put it down.'") == "Put it down."
    assert without_outer_quotes("They fear 'all-nighters.'") == "They fear 'all-nighters.'"


@pytest.mark.parametrize("text", ["— Oui, fit le tour.", "— Il ajouta, puis le vent tomba."])
def test_only_verbs_of_speech_end_a_quotation(text: str) -> None:
    expected = text.replace("— Oui,", "«Oui»,") if "fit" in text else text
    assert restore_quotes('"Yes," said the tower.', text) == expected
