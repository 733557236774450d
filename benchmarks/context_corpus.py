"""A synthetic parallel corpus in which only an earlier sentence decides some target words.

By the source: *The artist lost her hat.* is *L'artiste a perdu son chapeau.*, so that only the English says that the
artist of a later *Then the artist was tired.* is *fatiguée*. By the target: the translator of a document calls *cars*
either *voitures* or *autos*, so that only the earlier French says which it is later. `variants` returns documents in
groups of four that differ only in these two choices: a model that reads single sentences answers exactly half of the
questions correctly.
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
from docgraph.translation.decoding.scoring import ScoringTask, score_candidates, sentence_score

Kind = Literal["source", "target"]

PEOPLE = {"artist": "artiste", "athlete": "athlète", "architect": "architecte", "analyst": "analyste"}
"""People whose French article is elided, so that it shows no gender."""
BELONGINGS = {"hat": "chapeau", "bag": "sac", "book": "livre", "coat": "manteau"}
FEELINGS = {"tired": ("fatigué", "fatiguée"), "happy": ("heureux", "heureuse"), "proud": ("fier", "fière")}
OTHERS = {("boy", "girl"): ("Le garçon", "La fille"), ("man", "woman"): ("Le monsieur", "La dame")}
"""People whose gender is visible in their sentence: from them Base learns the forms of the feelings."""
THINGS = {"cars": ("voitures", "autos"), "boats": ("bateaux", "navires"), "mistakes": ("erreurs", "fautes")}
SUBJECTS = {"We": "Nous avons", "You": "Vous avez", "They": "Ils ont"}
FIRST = {"saw": "vu", "found": "trouvé"}
LATER = {"sold": "vendu", "forgot": "oublié"}


class Question(NamedTuple):
    """A word of a translation that only an earlier sentence decides."""

    kind: Kind
    """The side of the earlier sentence that decides it."""
    told: int
    """The sentence that decides it."""
    asked: int
    """The sentence with the word."""
    right: str
    wrong: str


@dataclass(eq=False)
class TaskDocument:
    """A document with its translation and questions about it."""

    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def add(self, source: str, target: str) -> int:
        """Append a sentence pair and return its index."""
        self.source.append(source)
        self.target.append(target)
        return len(self.source) - 1

    def of(self, kind: Kind) -> list[Question]:
        """The questions of one kind."""
        return [question for question in self.questions if question.kind == kind]

    def candidates(self, question: Question) -> tuple[str, str]:
        """The right and the wrong translation of the sentence of a question."""
        right = self.target[question.asked]
        return right, right.replace(question.right, question.wrong)


def document(rng: random.Random, gender: int, synonym: int, entities: int = 1) -> TaskDocument:
    """A document of sentences that decide, one unrelated sentence, and two with questions.

    `gender` and `synonym` change nothing but the decisions. With several `entities`, as many people (men and women in
    turn) and as many kinds of things are mentioned, and a question must be matched with the right one.
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
    """Documents with random choices."""
    rng = random.Random(seed)
    return [document(rng, rng.randrange(2), rng.randrange(2), entities) for _ in range(count)]


def variants(count: int, seed: int, entities: int = 1) -> list[TaskDocument]:
    """`count` documents, each with all four choices in turn."""
    keys = [(f"{seed} {index}", gender, synonym) for index in range(count) for gender in (0, 1) for synonym in (0, 1)]
    return [document(random.Random(key), gender, synonym, entities) for key, gender, synonym in keys]


def write(folder: Path, name: str, documents: Sequence[TaskDocument]) -> dict[str, str]:
    """Write two line-aligned files with blank lines between documents; return an entry of a data config."""
    paths = {}
    for side, language in (("source", "en"), ("target", "fr")):
        path = folder / f"{name}.{language}"
        texts = ("".join(f"{line}\n" for line in getattr(document, side)) for document in documents)
        path.write_text("\n".join(texts), encoding="utf-8")
        paths[side] = str(path)
    return paths


def accuracy(
    model: DocumentTransformer, corpus: PreparedCorpus, documents: Sequence[TaskDocument]
) -> dict[Kind, float]:
    """The share of questions of each kind whose right translation is more probable than the wrong one.

    `corpus` is the prepared split of `documents`; a sentence sees the reference translations before it.
    """
    relations = context_needs(model.config).relations
    examples = [corpus.example(index, relations) for index in range(len(documents))]
    asked = [
        (example, document, q)
        for example, document in zip(examples, documents, strict=True)
        for q in document.questions
    ]
    tasks = [
        ScoringTask(
            replace(example, window=range(q.asked, q.asked + 1)),
            [[corpus.tokenizer.target.encode(text)[0] for text in document.candidates(q)]],
        )
        for example, document, q in asked
    ]
    right: dict[Kind, list[bool]] = {"source": [], "target": []}
    for (_, _, question), [scores] in zip(asked, score_candidates(model, tasks), strict=True):
        first, second = map(sentence_score, scores)
        right[question.kind].append(first > second)
    return {kind: sum(each) / len(each) for kind, each in right.items()}
