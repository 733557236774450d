"""scripts/join_treebanks.py: translations of treebank sentences."""

from __future__ import annotations

import lzma
from pathlib import Path

from corpus.script_examples import read_corpus, run_script

TREEBANK = """# newdoc id = one
# sent_id = one-1
# text = The harbour = a port.
1\tThe\t_\t_\t_\t_\t_\t_\t_\t_

# sent_id = one-2
# text = Nobody translated this.

# newdoc id = two
# sent_id = two-1
# text = It grew.
"""


def test_translated_sentences_are_joined_by_document(tmp_path: Path) -> None:
    (tmp_path / "bank.conllu").write_text(TREEBANK, encoding="utf-8")
    translations = tmp_path / "train.tsv.xz"
    with lzma.open(translations, "wt", encoding="utf-8") as file:
        file.write("two-1\tIl a grandi.\none-1\tLe port = un port.\nother\tRien.\n")
    out = tmp_path / "out"
    result = run_script("join_treebanks.py", tmp_path / "bank.conllu", "--translations", translations, "--out", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "2 pairs; 1 translations have no sentence\n"
    assert read_corpus(out) == ["The harbour = a port.\n\nIt grew.\n", "Le port = un port.\n\nIl a grandi.\n"]
