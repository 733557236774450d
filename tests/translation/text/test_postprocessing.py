"""Postprocessing: text restored from the source, and French typography."""

from __future__ import annotations

from functools import cache

import pytest

from docgraph.translation.text.postprocessing import (
    Postprocessor,
    french_typography,
    unify_french_apostrophes,
    unify_french_quotes,
)
from translation.translator_examples import english_to_french


@pytest.mark.parametrize(
    ("source", "text", "finished"),
    [
        ("Why? Stop!", "Pourquoi? Arrêtez !", "Pourquoi\u202f? Arrêtez\u202f!"),
        ("Note: it is; go", "Remarque: c'est; allez", "Remarque\u00a0: c'est\u202f; allez"),
        ("by 40% or 0.5%", "de 40 % ou 0,5%", "de 40\u00a0% ou 0,5\u00a0%"),
        ("“Yes. We", '"Oui. Nous', "«\u00a0Oui. Nous"),
        ("It costs €25.", "Il coûte €25.", "Il coûte 25\u00a0€."),
        ("€5 a day, $1 in code", "€5 par jour, $1 en code", "5\u00a0€ par jour, $1 en code"),
        ("200 MB, 512KB/s or 4 GiB", "200 MB, 512KB/s ou 4 GiB", "200\u00a0Mo, 512\u00a0ko/s ou 4\u00a0Gio"),
        ("a 1.2 GB file", "un fichier de 1.2 GB", "un fichier de 1,2\u00a0Go"),
        ("in 1.5 hours, 3.5 km", "en 1.5 heures, 3.5 km", "en 1,5 heures, 3,5 km"),
        ("version 1.2 of a 2.4.1 GBA", "version 1.2 d'un 2.4.1 GBA", "version 1.2 d'un 2.4.1 GBA"),
        ("go.” He", 'allez." Il', "allez.\u00a0» Il"),
        ('They do."', "Ils le font. »", "Ils le font.\u00a0»"),
        ("They do.”", "Ils le font.", "Ils le font.\u00a0»"),
        ('"They do', "Ils le font", "«\u00a0Ils le font"),
        ('"They do', "— Ils le font", "«\u00a0Ils le font"),
        ("“Yes?” he said, “no.”", '"Oui?" dit-il, "non."', "«\u00a0Oui\u202f?\u00a0» dit-il, «\u00a0non.\u00a0»"),
        ('"a", "b c"', '"un", «b c »', "«\u00a0un\u00a0», «\u00a0b c\u00a0»"),
        ("1,200 W and 3,000 m", "1,200 W et 3 000 m", "1\u202f200 W et 3\u202f000 m"),
        ("$45,000 or £149.50!", "$45,000 ou £149.50!", "45\u202f000\u00a0$ ou 149,50\u00a0£\u202f!"),
        ("$1.2 million", "$1,2 million", "1,2 million de dollars"),
        ("$140 worth", "$140 dollars", "140\u00a0$"),
        ("1.9 billion and 21 million", "1,9 milliards et 21 millions", "1,9 milliard et 21 millions"),
        ("at 11:45", "à 11 h45", "à 11\u00a0h\u00a045"),
        ("from 11:00 to 12:30", "de 11 h 00 à 12 h 30", "de 11\u00a0h à 12\u00a0h\u00a030"),
        ("the iPhone", "l' iPhone", "l'iPhone"),
        ("53,287 people", "53287 personnes", "53\u202f287 personnes"),
        ("an area (300,948 sq mi)", "une aire (300, 948 milles)", "une aire (300\u202f948 milles)"),
        ("1914–18 (or 9–11)", "1914 -- 18 ( ou 9 - 11)", "1914-18 (ou 9-11)"),
        ("the mill (c. 1320)", "le moulin (environ 1320,)", "le moulin (vers 1320)"),
        ("9,151,481 of 12,345,678", "9151,481 sur 12 345,678", "9\u202f151\u202f481 sur 12\u202f345\u202f678"),
        ("Total: £897.00", "Total :8700 livres", "Total\u00a0: 897,00 livres"),
        ("code 20-00-00, 30 days", "code 20-00, 30 jours", "code 20-00-00, 30 jours"),
    ],
)
def test_french_punctuation_spaces_and_numbers(source: str, text: str, finished: str) -> None:
    assert french_typography(source, text) == finished


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Set display: flex; here", "Définissez display: flex; ici"),
        ("Use a ? b : c", "Utilisez a ? b : c"),
        ("rgb(255,255,255) and $1 or $A$10", "rgb(255,255,255) et $1 ou $A$10"),
        ('Write "use strict" first', 'Écrivez "use strict" d\'abord'),
        ("http://a.b/c?d=e at 10:30", "http://a.b/c?d=e à 10:30"),
        ("$117.9bn, smile :)", "$117,9bn, souriez :)"),
        ("Set width: 50% here", "Définissez width: 50% ici"),
        ("from 1.25 to 1.30, or 2.50", "de 1,20 à 1,35, ou 2,50"),
        ("version 4.2.1 of 2019-2023", "version 4.2.1 de 2019 à 2023"),
        ('say "hello"', 'dites "bonjour"'),
    ],
)
def test_code_and_unclear_cases_are_unchanged(source: str, text: str) -> None:
    assert french_typography(source, text) == text


@pytest.mark.parametrize(
    ("source", "text", "finished"),
    [
        (
            "Users of 92% or 72%; it works.",
            "Les utilisateur·ice·s de 92% ou 72%; oui.",
            "Les utilisateurs de 92 % ou 72 % ; oui.",
        ),
        ("a user", "un·e utilisateur·ice", "un utilisateur"),
        ("CDNJS", "CDNJS (angl.)", "CDNJS"),
        ("The word (en anglais)", "Le mot (en anglais)", "Le mot (en anglais)"),
        ("from 16.4 to 25.6 in Python 3.11", "de 16,4 à 25.6 dans Python 3.11", "de 16,4 à 25,6 dans Python 3.11"),
        ("exports; adding", "exports; ajouter", "exports ; ajouter"),
    ],
)
def test_traces_of_other_texts_and_mixed_forms_are_removed(source: str, text: str, finished: str) -> None:
    assert french_typography(source, text).replace("\u00a0", " ").replace("\u202f", " ") == finished


@cache
def postprocessor() -> Postprocessor:
    return Postprocessor(english_to_french(), ("en", "fr"))


@pytest.mark.parametrize(
    ("source", "said", "finished"),
    [
        ("SAFETY INSTRUCTIONS", "Instructions de sécurité", "INSTRUCTIONS DE SÉCURITÉ"),
        ("Only valid here.", "valide uniquement ici.", "Valide uniquement ici."),
        ("EUR 26 billion", "26 milliards d'euros", "26 milliards d'euros"),
        ("The text-align property", "text-align est une propriété", "text-align est une propriété"),
        ("see below", "voir plus bas", "voir plus bas"),
        ("Weekend plans", "plans de week-end", "Plans de week-end"),
        ("Lunch is at 1 pm.", "Le déjeuner est à 13 h.", "Le déjeuner est à 13 h."),
        ("About 10⁶ people", "Environ 106 personnes", "Environ 10⁶ personnes"),
        ("Add 1½ cups, ¾ cup", "Ajoutez 1,5 tasse, 3/4 de tasse", "Ajoutez 1½ tasse, ¾ de tasse"),
        ("CO₂ and H₂SO₄ on 5 m²", "CO2 et H2SO4 sur 5 m2", "CO₂ et H₂SO₄ sur 5 m²"),
        ("50 m³ on 3 km²", "50 m3 sur 3 km2", "50 m³ sur 3 km²"),
        ("the M3 motorway, 50 m³", "l'autoroute M3, 50 m3", "l'autoroute M3, 50 m³"),
        ("The cat¹ is big.", "Le chat1 est grand.", "Le chat¹ est grand."),
        ("I ❤️ Paris", "J'adore Paris", "J'❤️ Paris"),
        ("I ❤️ it", "Il me plaît", "Il me plaît ❤️"),
        ("Bugs 985825 and 106", "Les bugs 9825858 et 106", "Les bugs 985825 et 106"),
        ("It opens at 6 or 7.", "Il ouvre à 18 ou à 7.", "Il ouvre à 18 ou à 7."),
        ("Two of 21", "2 sur 21", "2 sur 21"),
        ("See <a@b.org>.", "Voir <a@b.org>.", "Voir <a@b.org>."),
        ("Jane B. Smith", "Smith de Jane", "Jane B. Smith"),
        ("14 Park Road", "14 Parcs", "14 Park Road"),
        ("Leeds LS2 9JT", "Leds LS2", "Leeds LS2 9JT"),
        ("|One file", "Un fichier", "|Un fichier"),
        ("2.2 Invoices are due", "les factures sont dues", "2.2 Les factures sont dues"),
        ("A.2 List of suppliers", "Liste des fournisseurs", "A.2 Liste des fournisseurs"),
        ("(a) Check the oil.", "vérifiez l'huile.", "(a) Vérifiez l'huile."),
        ("Dear Mrs. Whitmore,", "Cher Madame,", "Chère Madame Whitmore,"),
        ("Dear Dr Okafor:", "Dr. Okafor", "Cher docteur Okafor,"),
        ("Dear Mr Smith and Mrs Brown,", "Cher,", "Cher Monsieur Smith, chère Madame Brown,"),
        ("Dear Dr. and Mrs. van der Berg,", "Cher,", "Cher docteur van der Berg, chère Madame van der Berg,"),
        ("Dear Mr. and Mrs. Jones,", "Chers,", "Chers Monsieur et Madame Jones,"),
        ("Dear Dr Watson I hope so,", "Cher docteur, j'espère,", "Cher docteur, j'espère,"),
        ("Dear Mr. President,", "Monsieur le Président,", "Monsieur le Président,"),
        ("Yours sincerely,", "Je vous prie d'agréer, Madame,", "Veuillez agréer mes salutations distinguées,"),
        ("Very truly yours", "Très vraiment à toi", "Veuillez agréer mes salutations distinguées"),
        ("12 High Street, London SW1A 1AA", "12 High Street, SW1A 1A", "12 High Street, London SW1A 1AA"),
        ("Flat 3, 45 Park Road SW, Ely, CB1 2AB", "Parc", "Flat 3, 45 Park Road SW, Ely, CB1 2AB"),
        ("PO Box 12, Springfield, IL 62701", "Boîte, 62701", "PO Box 12, Springfield, IL 62701"),
        ("To whom it may concern,", "À qui,", "Madame, Monsieur,"),
        ("TO WHOM IT MAY CONCERN", "À QUI", "À QUI DE DROIT"),
        ("Please quote reference DE 12345.", "Indiquez la référence DE 12345.", "Indiquez la référence DE 12345."),
        ("Invoice CA 12345", "Facture CA 12345", "Facture CA 12345"),
        ("New York, NY 10001", "New York", "New York, NY 10001"),
        ("Olive Oil", "Huile d'olive", "Huile d'olive"),
        ("Jack Socket", "Prise jack", "Prise jack"),
        ("Grace Kelly", "Kelly de grâce", "Grace Kelly"),
        ("Jack Black", "Jack noir", "Jack Black"),
        (
            "On Tue, Mar 4, 2025 at 10:15 AM, Jane Hill wrote:",
            "Sur Tue",
            "Le mardi 4 mars 2025 à 10\u00a0h\u00a015, Jane Hill a écrit\u00a0:",
        ),
        ("On 1 May 2025, at 12 pm, A. <X1> wrote:", "Sur", "Le 1er mai 2025 à midi, A. <X1> a écrit\u00a0:"),
        ("f", "L'élément f", "f"),
        ("Wed", "Mariés", "Mer."),
        ("Sun", "Soleil", "Soleil"),
        ("Sun", "Dimanche", "Dim."),
        ("Mon, Wed, Sun", "Mon", "Lun., mer., dim."),
        ("Jan – Mar", "Jan", "Janv. – mars"),
        ("Mon – Fri", "Du lundi au vendredi", "Du lundi au vendredi"),
        ("Dear Tom,", "Cher Tom,", "Cher Tom,"),
        ("Mark Complete", "Marquer comme terminé", "Marquer comme terminé"),
        ("fastlog", "rapide", "fastlog"),
        ('A "plan" or "set"', 'Un " plan" ou " ensemble"', 'Un "plan" ou "ensemble"'),
        ("hello", "bonjour", "bonjour"),
        ("Why?? No!!", "Pourquoi ? Non !", "Pourquoi\u202f?? Non\u202f!!"),
        ("Who is it? Why??", "Pourquoi ?", "Pourquoi\u202f??"),
        ("Is it here?? Yes.", "Oui.", "Oui."),
        ("Salt &amp; ice &lt;3", "Sel & glace <3", "Sel &amp; glace &lt;3"),
        ("Salt &amp; ice & tea", "Sel & glace & thé", "Sel & glace & thé"),
        ("SPOILER ALERT: she wins.", "Alerte : elle gagne.", "ALERTE\u00a0: elle gagne."),
        ("NASA: she wins.", "Nasa : elle gagne.", "Nasa\u00a0: elle gagne."),
        ("So glad! #sun #lake", "Si contente !", "Si contente\u202f! #sun #lake"),
        ("Prep: 20 min ·", "Préparation : 20 min", "Préparation\u00a0: 20 min ·"),
        ("Home |", "Accueil", "Accueil |"),
        ("[10:02] Tom: See you there.", "Tom : On se voit là-bas.", "[10:02] Tom\u00a0: On se voit là-bas."),
        ("[2025-03-12 10:02:15.123] Lost.", "Perdue.", "[2025-03-12 10:02:15.123] Perdue."),
        ("In Paris! ✈️ #sun #lake", "À Paris !", "À Paris\u202f! ✈️ #sun #lake"),
        ("You're welcome!", "Bienvenue !", "De rien\u202f!"),
        ("Agent: You are very welcome.", "Conseiller : Bienvenue.", "Conseiller : De rien."),
        ("You are welcome to stay.", "Restez.", "Restez."),
        ("Dear Rose and Tom,", "Chère Rose et Tom,", "Chers Rose et Tom,"),
        ("Dear Anna & Mary:", "Chère Anna,", "Chères Anna et Mary,"),
        ("Dear Friends and Family,", "Chers amis,", "Chers amis,"),
        ("From: Tom Hill <tom@example.org>", "De Tom Hill", "De\u00a0: Tom Hill <tom@example.org>"),
        ("From: the sea", "De la mer", "De la mer"),
        ("Loading…", "Chargement...", "Chargement…"),
        ("Loading...", "Chargement...", "Chargement..."),
    ],
)
def test_capitals_numbers_and_names_follow_the_source(source: str, said: str, finished: str) -> None:
    assert postprocessor().finish(source, said) == finished


GUILLEMETS = "«\u00a0Oui\u00a0», dit-il."


@pytest.mark.parametrize(
    ("sources", "texts", "unified"),
    [
        (["“Yes”", 'a "b c" d'], [GUILLEMETS, 'un "b c" de'], [GUILLEMETS, "un «\u00a0b c\u00a0» de"]),
        (['"Yes"', '"a"', '"b"'], [GUILLEMETS, '"un"', '"deux"'], ['"Oui", dit-il.', '"un"', '"deux"']),
        (['"Yes"', '"a"'], ['"Oui"', '"un"'], ['"Oui"', '"un"']),
        (['"Yes"', 'No."'], [GUILLEMETS, 'Non."'], [GUILLEMETS, "Non.\u00a0»"]),
        (["“Yes”", '"No.'], [GUILLEMETS, '"Non.'], [GUILLEMETS, "«\u00a0Non."]),
        (["“Yes”", "5 in"], [GUILLEMETS, '5"'], [GUILLEMETS, '5"']),
        (["“Yes”", 'x="a b"'], [GUILLEMETS, 'x="a b" {"key": "a"}'], [GUILLEMETS, 'x="a b" {"key": "a"}']),
        ([], [], []),
    ],
)
def test_a_document_has_one_kind_of_quotation_marks(sources: list[str], texts: list[str], unified: list[str]) -> None:
    assert unify_french_quotes(sources, texts) == unified


@pytest.mark.parametrize(
    ("source", "text", "finished"),
    [
        ("at 140,000,000 miles", "à 140 000 milles", "à 140 000 000 milles"),
        ("at 140,000,000 miles", "à 140 millions de milles", "à 140 millions de milles"),
        ("from 10,000 to 10,000,000", "de 10 000 à 10 000 000", "de 10 000 à 10 000 000"),
        ("(a) pay, (b) sign and (c) go", "(a) payer, b) signer et c) partir", "(a) payer, (b) signer et (c) partir"),
        ("Mar 2013 – May 2014", "Mars 2013 - mai 2014", "Mars 2013 – mai 2014"),
        ("at 1.15 pm", "à 13 h 15", "à 13 h 15"),
        ("by 1:30 p.m.", "avant 13:30", "avant 13 h 30"),
        ("a ratio of 13:30 by 2 p.m.", "un rapport de 13:30 à 14:00", "un rapport de 13:30 à 14 h"),
        ("¥10,000 and ₹2 million", "10 000 yens et 2 millions de yens", "10 000 ¥ et 2 millions de ₹"),
        ("¥5k", "5 000 yens", "5 000 ¥"),
        ("It costs $20k.", "Cela coûte 20 000 dollars.", "Cela coûte 20 000 dollars."),
        ("Press 'd' to delete", "Appuyez sur 'd' pour supprimer", "Appuyez sur 'd' pour supprimer"),
        ("In ten years", "Il y a une dizaine de ans", "Il y a une dizaine d'ans"),
        ("her path and the storm", "sa allée et le orage", "son allée et l'orage"),
        ("yes, eleven; give it to her", "le oui, de onze, donne-le à", "le oui, de onze, donne-le à"),
        ("sites like eBay, a de.us", "des sites tels que eBay, un de.us", "des sites tels que eBay, un de.us"),
        ("the use of aria-live", "l'ajout de aria-live", "l'ajout de aria-live"),
        ("Do this:", "Faites ceci.", "Faites ceci :"),
        ("Signed for Hale Ltd.:", "Signé pour Hale Ltd.", "Signé pour Hale Ltd. :"),
    ],
)
def test_numbers_items_and_colons_are_those_of_the_source(source: str, text: str, finished: str) -> None:
    assert french_typography(source, text).replace("\u00a0", " ").replace("\u202f", " ") == finished


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("ANNA: There is no key.", "ANNA : il n'y a pas de clé.", "ANNA\u00a0: Il n'y a pas de clé."),
        ("Lily: yep, here", "Lly : oui, ici", "Lily\u00a0: oui, ici"),
        ("Lily: we go", "on y va", "Lily\u00a0: on y va"),
        ("Peter: we go", "Pierre : on y va", "Pierre\u00a0: on y va"),
        ("Grace: the gift of God", "La grâce : le don de Dieu", "La grâce\u00a0: le don de Dieu"),
        ("Note: we go", "on y va", "On y va"),
        ("OLD MAN (sadly): No.", "VIEIL HOMME (tristement): non.", "VIEIL HOMME (tristement)\u00a0: Non."),
        ("A: Do not ask.", "R. : ne demandez pas.", "R\u00a0: Ne demandez pas."),
        ("Note: The key is lost.", "Note : la clé est perdue.", "Note\u00a0: la clé est perdue."),
        ("ANNA: and the key?", "ANNA : et la clé ?", "ANNA\u00a0: et la clé\u202f?"),
    ],
)
def test_what_a_speaker_says_begins_with_a_capital(source: str, text: str, expected: str) -> None:
    assert postprocessor().finish(source, text) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Thump. Thump.", "Boum. Boum."),
        ("SPLASH!", "PLOUF\u202f!"),
        ("[GUNSHOT]", "[COUP DE FEU]"),
        ("(Laughter)", "(Rires)"),
        ("Whack", "Texte"),
        ("[laughter and tears]", "Texte"),
    ],
)
def test_sounds_have_a_french_form(source: str, expected: str) -> None:
    assert postprocessor().finish(source, "Texte") == expected


@pytest.mark.parametrize(
    ("text", "french"),
    [
        ("4,200", "4\u202f200"),
        ("1,234.50", "1\u202f234,50"),
        ("€25", "25\u00a0€"),
        ("2.3%", "2,3\u00a0%"),
        ("2.3", "2.3"),
        ("$20k", "20\u202f000\u00a0$"),
        ("$1", "$1"),
        ("10 a.m.", "10\u00a0h"),
        ("12:30 PM", "12\u00a0h\u00a030"),
        ("9:00 AM – 5:30 PM", "9\u00a0h – 17\u00a0h\u00a030"),
        ("9-5 p.m.", "9\u00a0h-17\u00a0h"),
        ("24/7", "24/7"),
        ("1:30:25", "1:30:25"),
        ("1,2", "1,2"),
        ("10:30", "10:30"),
    ],
)
def test_numbers_without_words_have_french_form(text: str, french: str) -> None:
    assert postprocessor().without_words(text) == french


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["It’s late.", "The dog's and cat’s water."], "L’eau d’ici, qu’« il » boit 'là'."),
        (["It's late.", "Don't say “no”."], "L'eau d'ici, qu'« il » boit 'là'."),
        (["“Water.”"], "L’eau d’ici, qu’« il » boit 'là'."),
        (["Water."], "L'eau d'ici, qu'« il » boit 'là'."),
    ],
)
def test_apostrophes_follow_the_source(sources: list[str], expected: str) -> None:
    texts = ["L'eau d’ici, qu'« il » boit 'là'."] * len(sources)
    assert unify_french_apostrophes(sources, texts) == [expected] * len(sources)
