"""The tables of sentences and words, and how they are read.

A table has one entry per line and its cells are separated by tabs; `-` is an empty cell, and lines with # in front are
comments. The first line names the columns. A scene (home, work, ...) keeps the sentences of a dialogue together;
sentences of the scene `any` fit every one.

formality.tsv     sentences that address somebody (marked), with ты and with вы, and others (neutral). Slots: {name},
                  {time}, {day}.
names.tsv         names with two accepted Russian renderings.
name_frames.tsv   sentences with a name. Slots: {name} in English; in Russian the case of the name, {nom} to {loc}.
leads.tsv         first sentences of the dialogues about ellipsis. After a `=` the Russian said to more than one.
verb_phrases.tsv  English verb: base, or base, past and participle. Complements: alternatives separated by ` / `, with
                  the slots {o} for a pronoun (Russian: its case) and {own} for a possessive. Russian aspects:
                  infinitive, past (masculine, or masculine/feminine), and the persons I, he, they, or all six.
                  Uses: P past perfective, p past imperfective, f future perfective, F future imperfective, n present,
                  c progressive, s a state (never "often"), m something one can try, d something one can promise or
                  forget, u a skill.
nouns.tsv         kinds of noun, separated by commas, are what frames and adjectives ask for. Article: c countable,
                  p plural, m mass, t always *the*, x none, k somebody's (*my brother*). `_` is a space in a form.
adjectives.tsv    adjectives that answer *Which one?* or *What is it like?*
counts.tsv        nouns that are counted.
noun_frames.tsv   questions that a bare noun answers (question), sentences with a noun {n} (statement; lack: there is
                  none), questions with *which* ({w}, {W}: какой) and with *how many* (number). Case: one of six, or
                  where, to, from.
                  Article of the noun: a, t the, z none, y my, h his, s her. [he|she|they] is what somebody is called
                  who is a man, a woman, or more than one; [one|more] is the same for a man and a woman.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

Sentence = tuple[str, str]
"""English and Russian."""
Dialogue = list[Sentence]

FOLDER = Path(__file__).parent
LENGTH = 4
"""Sentences of a dialogue."""
SCENES = ("home", "work", "police", "hospital", "love", "travel", "money", "phone", "school", "crime", "food", "party")


def rows(path: Path, width: int) -> Iterator[tuple[str, list[str]]]:
    """Yields where each row of a table is, and its cells; raises SystemExit unless there are `width`."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        cells, where = line.split("\t"), f"{path.name}, line {number}"
        if len(cells) != width or not all(cell and cell == cell.strip() for cell in cells):
            raise SystemExit(f"{where}: expected {width} cells separated by tabs, none empty (write -) or padded")
        yield where, ["" if cell == "-" else cell for cell in cells]


def check(holds: bool, where: str, fault: str) -> None:
    """Raises SystemExit with the fault of a row unless the condition holds."""
    if not holds:
        raise SystemExit(f"{where}: {fault}")
