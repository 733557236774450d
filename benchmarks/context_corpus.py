"""A made-up parallel corpus in which some target words are decided by an earlier sentence alone.

By the source: *The artist lost her hat.* is *L'artiste a perdu son chapeau.*, so only the English tells that the artist
of a later *Then the artist was tired.* is *fatiguée*. By the target: *cars* are *voitures* or *autos* as the translator
of the document pleased, so only the earlier French tells what they are later. `variants` are documents in fours that
differ in nothing but these two choices: whoever reads sentences alone is right in exactly half of the questions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from docgraph.corpus.store import PreparedCorpus
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_needs
from docgraph.translation.scoring import Candidates, score_candidates, sentence_score

Kind = Literal["source", "target"]

PEOPLE = {"artist": "artiste", "athlete": "athlète", "architect": "architecte", "analyst": "analyste"}
"""Whose French article is elided, and tells no gender."""
BELONGINGS = {"hat": "chapeau", "bag": "sac", "book": "livre", "coat": "manteau"}
FEELINGS = {"tired": ("fatigué", "fatiguée"), "happy": ("heureux", "heureuse"), "proud": ("fier", "fière")}
OTHERS = {("boy", "girl"): ("Le garçon", "La fille"), ("man", "woman"): ("Le monsieur", "La dame")}
"""Whose gender their sentence tells: from them Base learns what each form of the feelings goes with."""
THINGS = {"cars": ("voitures", "autos"), "boats": ("bateaux", "navires"), "mistakes": ("erreurs", "fautes")}
SUBJECTS = {"We": "Nous avons", "You": "Vous avez", "They": "Ils ont"}
FIRST = {"saw": "vu", "found": "trouvé"}
LATER = {"sold": "vendu", "forgot": "oublié"}


class Question(NamedTuple):
    """A word of a translation that its own sentence does not decide."""

    kind: Kind
    """The side of the earlier sentence that does."""
    told: int
    """That sentence."""
    asked: int
    right: str
    wrong: str


@dataclass(eq=False)
class TaskDocument:
    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def add(self, source: str, target: str) -> int:
        """The place of the new sentence."""
        self.source.append(source)
        self.target.append(target)
        return len(self.source) - 1

    def of(self, kind: Kind) -> list[Question]:
        return [question for question in self.questions if question.kind == kind]

    def candidates(self, question: Question) -> tuple[str, str]:
        """The right translation of the sentence asked about, and the wrong one."""
        right = self.target[question.asked]
        return right, right.replace(question.right, question.wrong)


def document(rng: random.Random, gender: int, synonym: int, entities: int = 1) -> TaskDocument:
    """Sentences that tell, one of somebody else, and two that ask; the two choices change nothing else.

    With more `entities`, as many people, men and women by turns, and as many kinds of things are told of: what was told
    has to be matched with whom and what is asked about.
    """
    people, things = (rng.sample(sorted(words), entities) for words in (PEOPLE, THINGS))
    genders = [(gender + place) % 2 for place in range(entities)]
    synonyms = [(synonym + rng.randrange(2)) % 2 for _ in things]
    tells = [(kind, place) for kind in ("source", "target") for place in range(entities)]
    asks = ["source", "target", "neither"]
    rng.shuffle(tells)
    rng.shuffle(asks)
    made, told = TaskDocument(), dict[tuple[str, int], int]()
    for kind, place in tells:
        if kind == "source":
            belonging = rng.choice(sorted(BELONGINGS))
            source = f"The {people[place]} lost {('his', 'her')[genders[place]]} {belonging}."
            told[kind, place] = made.add(source, f"L'{PEOPLE[people[place]]} a perdu son {BELONGINGS[belonging]}.")
        else:
            told[kind, place] = made.add(*_about(rng, FIRST, things[place], synonyms[place]))
    for ask in asks:
        feeling, other, sex = rng.choice(sorted(FEELINGS)), rng.choice(sorted(OTHERS)), rng.randrange(2)
        forms, words = FEELINGS[feeling], THINGS[things[0]]
        if ask == "neither":
            made.add(f"The {other[sex]} was {feeling}.", f"{OTHERS[other][sex]} était {forms[sex]}.")
        elif ask == "source":
            right, wrong = forms[genders[0]], forms[1 - genders[0]]
            asked = made.add(f"Then the {people[0]} was {feeling}.", f"Puis l'{PEOPLE[people[0]]} était {right}.")
            made.questions.append(Question("source", told["source", 0], asked, right, wrong))
        else:
            asked = made.add(*_about(rng, LATER, things[0], synonyms[0]))
            right, wrong = words[synonyms[0]], words[1 - synonyms[0]]
            made.questions.append(Question("target", told["target", 0], asked, right, wrong))
    return made


def _about(rng: random.Random, verbs: dict[str, str], thing: str, synonym: int) -> tuple[str, str]:
    subject, verb = rng.choice(sorted(SUBJECTS)), rng.choice(sorted(verbs))
    return f"{subject} {verb} the {thing}.", f"{SUBJECTS[subject]} {verbs[verb]} les {THINGS[thing][synonym]}."


def documents(count: int, seed: int, entities: int = 1) -> list[TaskDocument]:
    """Documents with choices at random."""
    rng = random.Random(seed)
    return [document(rng, rng.randrange(2), rng.randrange(2), entities) for _ in range(count)]


def variants(count: int, seed: int, entities: int = 1) -> list[TaskDocument]:
    """`count` documents in all four choices each, one after another."""
    keys = [(f"{seed} {index}", gender, synonym) for index in range(count) for gender in (0, 1) for synonym in (0, 1)]
    return [document(random.Random(key), gender, synonym, entities) for key, gender, synonym in keys]


def write(folder: Path, name: str, made: Sequence[TaskDocument]) -> dict[str, str]:
    """Two line-aligned files with blank lines between documents: an entry of a data config."""
    paths = {}
    for side, language in (("source", "en"), ("target", "fr")):
        path = folder / f"{name}.{language}"
        texts = ("".join(f"{line}\n" for line in getattr(document, side)) for document in made)
        path.write_text("\n".join(texts), encoding="utf-8")
        paths[side] = str(path)
    return paths


def accuracy(model: DocumentTransformer, corpus: PreparedCorpus, made: Sequence[TaskDocument]) -> dict[Kind, float]:
    """Forced choice: the share of questions of each kind to which the right translation is the more probable one.

    `corpus` is the prepared split of the documents `made`; a sentence sees the reference translations before it.
    """
    relations = context_needs(model.config).relations
    examples = [corpus.example(index, relations) for index in range(len(made))]
    asked = [
        (example, document, q) for example, document in zip(examples, made, strict=True) for q in document.questions
    ]
    tasks = [
        Candidates(
            replace(example, window=range(q.asked, q.asked + 1)),
            [[corpus.tokenizer.target.encode(text)[0] for text in document.candidates(q)]],
        )
        for example, document, q in asked
    ]
    right: dict[Kind, list[bool]] = {"source": [], "target": []}
    for (_, _, question), [scores] in zip(asked, score_candidates(model, tasks), strict=True):
        first, second = map(sentence_score, scores)
        right[question.kind].append(first > second)
    return {kind: sum(found) / len(found) for kind, found in right.items()}
