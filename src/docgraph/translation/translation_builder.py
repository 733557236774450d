"""Builds translations from hypotheses: postprocessed texts, n-best lists, and the context that sentences read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from docgraph.formats.atoms import text_with_atoms
from docgraph.model.tokenizer import UNKNOWN, SubwordCoder
from docgraph.translation.checks.repair import Attempt
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis
from docgraph.translation.explain import ContextWeights
from docgraph.translation.model_input import PreparedDocument
from docgraph.translation.result import Candidate, SentenceTranslation
from docgraph.translation.segment_decoding import DecodedSegments
from docgraph.translation.text.postprocessing import Postprocessor
from docgraph.translation.text.preprocessing import Segments
from docgraph.translation.text.stand_ins import mask, restore

if TYPE_CHECKING:  # slow to import
    from docgraph.translation.translation_memory import TranslationMemory


class TranslationBuilder:
    """Turns the hypotheses of one model into translations. Threads may share it."""

    def __init__(self, coder: SubwordCoder, postprocessor: Postprocessor) -> None:
        """`coder` is the coder of the target language."""
        self._coder, self._postprocessor = coder, postprocessor

    def text(self, hypothesis: Hypothesis, source: str) -> str:
        """Returns the postprocessed text of a hypothesis, without unknown pieces and incomplete characters."""
        coder, tokens = self._coder, hypothesis.tokens
        known = (token for token, piece in zip(tokens, coder.pieces(tokens), strict=True) if piece != UNKNOWN)
        return self._postprocessor.finish(source, coder.decode(known).replace("\ufffd", ""))

    def sentences(
        self,
        prepared: PreparedDocument,
        decoded: DecodedSegments,
        checked: Mapping[int, Attempt],
        chosen: Iterable[int],
        memory: TranslationMemory | None,
    ) -> dict[int, SentenceTranslation]:
        """Returns the translations of some sentences of a document, given the hypotheses of its segments.

        `checked` has the best translation of each segment that is not known; `memory` is the translation memory.
        """
        segments, sentences = prepared.segments, dict[int, SentenceTranslation]()
        for index in chosen:
            source, _ = text_with_atoms(prepared.request.document.sentences[index])
            indices = segments.of_sentence[index]
            known = prepared.given.get(index)
            candidates = self._candidates(segments, index, decoded.hypotheses, checked) if known is None else ()
            best = candidates[0].text if candidates else known
            context = ContextWeights.mean(decoded.context_weights[indices.start : indices.stop])
            entries: tuple[tuple[str, str], ...] = ()
            if memory is not None and context is not None and known is None:
                entries = memory.nearest_pairs(segments[m].text for m in indices)
            doubts = tuple(doubt.reason for m in indices if m in checked for doubt in checked[m].doubts)
            hints = tuple(use for m in indices if known is None for use in decoded.hints.get(m, ()))
            # An empty translation is replaced by the source: a lost line would shift all others.
            text = best or (source if indices else self._postprocessor.without_words(source))
            terms = decoded.terms.uses([segments[m] for m in indices], text)
            sentences[index] = SentenceTranslation(
                source, text, candidates, context, known is not None, entries, hints, doubts, terms=terms
            )
        return sentences

    def _candidates(
        self, segments: Segments, sentence: int, hypotheses: Hypotheses, checked: Mapping[int, Attempt]
    ) -> tuple[Candidate, ...]:
        """Returns the n best translations of a sentence; the k-th joins the k-th hypotheses of its segments."""
        indices = segments.of_sentence[sentence]
        candidates = []
        for rank, ranked in enumerate(zip(*(hypotheses[m] for m in indices), strict=False)):
            best: Sequence[Attempt | Hypothesis] = [checked[m] for m in indices] if rank == 0 else ranked
            texts = [
                each.text if isinstance(each, Attempt) else self.text(each, segments[m].source)
                for each, m in zip(best, indices, strict=True)
            ]
            scores = (sum(each.score for each in best), sum(each.log_probability for each in best))
            text = restore(segments.join(texts, sentence), segments.stand_ins(sentence))
            candidates.append(Candidate(text, *scores))
        return tuple(candidates)

    def with_same_quotes(
        self, sentences: Mapping[int, SentenceTranslation], segments: Segments
    ) -> dict[int, SentenceTranslation]:
        """Returns the sentences of a document with one kind of quotation marks and of apostrophes; known translations
        do not change."""
        stand_ins = {m: segments.stand_ins(m) for m, each in sentences.items() if each.candidates}
        sources = [mask(sentences[m].source, hidden) for m, hidden in stand_ins.items()]
        texts = [mask(sentences[m].text, hidden) for m, hidden in stand_ins.items()]
        unified = dict(zip(stand_ins, self._postprocessor.unify_quotes(sources, texts), strict=True))
        return {
            m: each.with_text(restore(unified[m], stand_ins[m])) if m in unified else each
            for m, each in sentences.items()
        }
