"""What a model reads of a document: whether its graph, and in which form its sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from docgraph.graph.selection import Selection, select
from docgraph.model.batch import DocumentExample
from docgraph.model.config import LinkedConfig, ModelConfig
from docgraph.model.systems import context_class
from docgraph.model.systems.concatenation import concatenate


def graph_relations(config: ModelConfig, given: bool = True) -> tuple[str, ...] | None:
    """The relations of the source graphs that a model reads; None for none, and then documents need no annotation.

    `given` is whether any translation is: a model whose context is given translations alone reads nothing without.
    """
    context = config.context
    if context is None or not context_class(context).reads_graph(context):
        return None
    nothing = not given and context.sides == "target" and not reads_own_translations(config)
    return None if nothing else context.graph.relations


def reads_translations(config: ModelConfig) -> bool:
    """Whether translations of other sentences are context to a model."""
    return config.context is not None and config.context.sides != "source"


def reads_own_translations(config: ModelConfig) -> bool:
    """Whether those that it made itself are, and not given ones alone."""
    context = config.context
    return context is not None and reads_translations(config) and context_class(context).reads_own_translations(context)


def reads_given_alone(config: ModelConfig) -> bool:
    """Whether given translations are, and none that it made itself: the order of sentences is nothing to them."""
    return reads_translations(config) and not reads_own_translations(config)


def takes_sentences_apart(config: ModelConfig) -> bool:
    """Whether a sentence is translated without the others, but for given translations."""
    return config.concatenation is None and (config.context is None or reads_given_alone(config))


def reads_target_words(config: ModelConfig) -> bool:
    """Whether a model makes graphs of the words of translations."""
    context = config.context
    return context is not None and reads_translations(config) and context_class(context).reads_target_words


def reads_memories(config: ModelConfig) -> bool:
    """Whether a model reads its context from memories, which can be another document's, and not with the sentence."""
    return config.context is not None and context_class(config.context).site is not None


def translations_read(config: ModelConfig, document: DocumentExample, sentence: int) -> Iterable[int]:
    """The sentences of a document, as the model takes it, whose translations a sentence reads."""
    context = config.context
    if context is None or not reads_translations(config):
        return ()
    return context_class(context).translations_read(context, document, sentence)


def as_read(example: DocumentExample, config: ModelConfig) -> DocumentExample:
    """The document as a model takes it: with what its graph links each sentence with, or its sentences joined."""
    context = config.context
    example = replace(example, ahead=example.ahead and reads_given_alone(config))
    if context is not None and context_class(context).reads_selection:
        example = replace(example, selection=_selection(example, config, context.linked))
        if context.sides == "target":
            example = replace(example, graph=None, source_words=())  # it has said which sentences are linked
    return concatenate(example, config.concatenation)


def _selection(example: DocumentExample, config: ModelConfig, linked: LinkedConfig) -> Selection:
    """What each sentence is linked with: of sentences, those whose translations the model can read."""
    if example.graph is None:
        found = Selection.empty(len(example.source), linked.words, linked.sentences)
    else:
        among = example.given if reads_given_alone(config) else None
        among = None if among is None else among[: example.graph.num_sentences]
        found = select(example.graph, linked.words, linked.sentences, among, example.ahead)
    return found if example.remembered is None else found.beside(example.remembered)
