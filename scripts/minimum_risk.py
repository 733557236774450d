"""Train a translation model on by minimum risk: make the better ones of its own translations more likely.

    python scripts/minimum_risk.py candidates en-fr corpora/clean/* --out runs/risk/candidates.jsonl
    python scripts/minimum_risk.py examples corpora/clean/stories_en-fr --previous 0.7 --out runs/risk/stories.jsonl
    python scripts/minimum_risk.py train en-fr runs/risk/candidates.jsonl --examples runs/risk/stories.jsonl \\
        --out runs/risk/model

`candidates` translates the sources of training corpora with beam search and rates each candidate by the mean of
sentence-BLEU and chrF (0 to 1), less a penalty for each invented word. `train` minimises the expected loss of reward
over the candidates of a sentence (Shen et al. 2016, "Minimum Risk Training for Neural Machine Translation"; n-best
lists as in Edunov et al. 2018), beside the usual likelihood of references:

    Q(u) = exp(tau score(u)) / sum over v of exp(tau score(v)),    score(u) = log p(u) / ((5 + len) / 6)
    loss = scale (1 - sum over u of Q(u) reward(u)) - alpha log p(reference) - log p(examples)

`examples` writes pairs for the last term. With --previous, that share of the sentences reads the sentence before
(hints by `previous`, docgraph/model/hints.py); corpora with train.hints.txt (make_pronoun_pairs.py) get these hints.
Training runs on a CPU, in bfloat16.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from corpus_folders import read_documents
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import Hint, find_hints, insert
from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.packing import Packing
from docgraph.model.tokenizer import Tokenizer
from docgraph.model.transformer import no_context
from docgraph.training.config import OptimizerConfig
from docgraph.training.optimizer import MasterWeights, make_optimizer

SHORTEST, LONGEST = 5, 90
"""Sub-words of the sentences that are used."""
AT_ONCE = 400
"""Sentences that are translated together."""
INVENTED = 0.1
"""Penalty for an invented word."""
MIN_SPREAD = 0.02
"""Candidates whose rewards differ by less teach nothing."""
SORTED = 8000
"""Sentences among which those of similar length form a batch."""
SMOOTHING = 0.1
WARMUP = 20
ROWS = 512
"""Rows of logits that are held in single precision at once."""


@dataclass(frozen=True)
class Item:
    """A source sentence with hints, its reference, and candidates with their rewards (none for an example)."""

    source: list[int]
    reference: list[int]
    candidates: tuple[list[int], ...] = ()
    rewards: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """Number of sub-words that a batch holds for it."""
        return len(self.source) + len(self.reference) + sum(len(ids) + 1 for ids in self.candidates)


class TokenLogProbabilities(torch.autograd.Function):
    """Log-probabilities of gold [N] under softmax(hidden W^T), and the mean over the vocabulary, [N] each.

    Unlike `output.linear_cross_entropy`, every token has a gradient of its own.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
        logits = F.linear(hidden, weight)
        likely, norm, mean = (torch.empty(len(gold)) for _ in range(3))
        for begin in range(0, len(gold), ROWS):
            part = slice(begin, begin + ROWS)
            precise = logits[part].float()
            norm[part] = precise.logsumexp(-1)
            likely[part] = precise.gather(-1, gold[part, None])[:, 0] - norm[part]
            mean[part] = precise.mean(-1) - norm[part]
        ctx.save_for_backward(hidden, weight, gold, logits, norm)
        return likely, mean

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:
        hidden, weight, gold, logits, norm = ctx.saved_tensors
        likely, mean = (slope[:, None] for slope in slopes)
        for begin in range(0, len(gold), ROWS):
            part = slice(begin, begin + ROWS)
            gradient = (logits[part].float() - norm[part, None]).exp_().mul_(-(likely[part] + mean[part]))
            gradient.add_(mean[part] / len(weight)).scatter_add_(1, gold[part, None], likely[part].contiguous())
            logits[part] = gradient.to(logits.dtype)
        return logits @ weight, logits.t() @ hidden, None


def expected_reward(scores: Tensor, rewards: Tensor, owner: Tensor, count: int) -> Tensor:
    """Returns the expected reward of each of `count` sentences [S]; scores, rewards and owner [C] are of candidates."""
    highest = torch.full((count,), -torch.inf).scatter_reduce(0, owner, scores.detach(), "amax")
    weights = (scores - highest[owner]).exp()
    share = weights / torch.zeros(count).index_add(0, owner, weights)[owner]
    return torch.zeros(count).index_add(0, owner, share * rewards)


def losses(model: DocumentTransformer, items: Sequence[Item], tau: float) -> tuple[Tensor, Tensor]:
    """Returns the smoothed negative log-likelihood of the references per sub-word, and the mean expected reward.

    The reward is 0 if the items have no candidates.
    """
    eos, bos = model.config.transformer.eos, model.config.transformer.bos
    texts = [[*ids, eos] for item in items for ids in item.candidates] + [item.reference for item in items]
    owners = [m for m, item in enumerate(items) for _ in item.candidates]
    owner = torch.tensor([*owners, *range(len(items))])
    source = Packing.of([len(item.source) for item in items])
    tokens = torch.tensor([token for item in items for token in item.source])
    encoded = model.encoder(model.embeddings(tokens, source.positions, "source"), source, no_context)
    repeated = Packing.of(source.boundaries.diff()[owner])
    rows = source.boundaries[owner][repeated.sequence_of] + repeated.positions
    target = Packing.of([len(ids) for ids in texts])
    inputs = torch.tensor([token for ids in texts for token in (bos, *ids[:-1])])
    gold = torch.tensor([token for ids in texts for token in ids])
    embedded = model.embeddings(inputs, target.positions, "target")
    decoded = model.decoder(embedded, encoded[rows], target, repeated, no_context)
    likely, mean = TokenLogProbabilities.apply(decoded, model.embeddings.output_weight, gold)  # type: ignore[no-untyped-call]
    in_reference = target.sequence_of >= len(owners)
    nll = -((1 - SMOOTHING) * likely + SMOOTHING * mean)[in_reference].mean()
    if not owners:
        return nll, nll.new_zeros(())
    lengths = target.boundaries.diff()[: len(owners)]
    total = torch.zeros(len(texts)).index_add(0, target.sequence_of, likely)[: len(owners)]
    rewards = torch.tensor([reward for item in items for reward in item.rewards])
    scores = tau * total / ((5 + lengths) / 6)
    return nll, expected_reward(scores, rewards, owner[: len(owners)], len(items)).mean()


def batches(items: Sequence[Item], tokens: int, draw: random.Random) -> Iterator[list[Item]]:
    """Yields batches of up to `tokens` sub-words for ever; sentences of a batch have similar lengths."""
    while True:
        order = draw.sample(items, len(items))
        for begin in range(0, len(order), SORTED):
            parts: list[list[Item]] = [[]]
            for item in sorted(order[begin : begin + SORTED], key=lambda item: item.size):
                if parts[-1] and sum(each.size for each in parts[-1]) + item.size > tokens:
                    parts.append([])
                parts[-1].append(item)
            yield from draw.sample(parts, len(parts))


def contrasting(rewards: Sequence[float], count: int, draw: random.Random) -> list[int]:
    """Returns the indices of `count` candidates: the most likely one, the best, the worst, and others by chance."""
    chosen = {0, int(np.argmax(rewards)), int(np.argmin(rewards))}
    others = [place for place in range(len(rewards)) if place not in chosen]
    return sorted(chosen | {*draw.sample(others, min(len(others), max(0, count - len(chosen))))})


def read_candidates(path: Path, count: int, draw: random.Random) -> list[Item]:
    """Returns the sentences of a file of candidates, `count` candidates each, without those that teach nothing."""
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        candidates, rewards = row["candidates"], row["rewards"]
        if len(rewards) >= count and max(rewards) - min(rewards) > MIN_SPREAD:
            some = contrasting(rewards, count, draw)
            chosen = tuple(candidates[place] for place in some), tuple(rewards[place] for place in some)
            found.append(Item(row["source"], row["reference"], *chosen))
    return found


def read_examples(paths: Sequence[Path]) -> list[Item]:
    """Returns the pairs of files of examples."""
    rows = (json.loads(line) for path in paths for line in path.read_text().splitlines())
    return [Item(row["source"], row["reference"]) for row in rows]


def write_candidates(arguments: argparse.Namespace) -> None:
    """Translates corpora and rates the candidates; an interrupted run continues."""
    from sacrebleu.metrics import BLEU, CHRF

    from docgraph.translation.checks.lexicon import invented_words
    from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
    from docgraph.translation.decoding.hypotheses import SearchConfig
    from docgraph.translation.translator import Translator

    translator = Translator.load(arguments.model)
    search = SearchConfig(beams=arguments.beams, n_best=arguments.beams)
    tokenizer, options = translator.tokenizer, DecodingOptions(search)
    language = None if translator.languages is None else translator.languages[1]
    bleu, chrf = BLEU(effective_order=True, smooth_method="add-k", smooth_value=1), CHRF()

    def reward(source: str, text: str, reference: str) -> float:
        text, reference = (each.replace("’", "'") for each in (text, reference))
        score = bleu.sentence_score(text, [reference]).score + chrf.sentence_score(text, [reference]).score
        return round(score / 200 - INVENTED * sum(1 for _ in invented_words(source, text, language)), 4)

    pairs = [lines[:2] for folder in arguments.corpora for document in read_documents(folder) for lines in document]
    random.Random(arguments.seed).shuffle(pairs)
    del pairs[arguments.pairs :]
    path: Path = arguments.out
    path.parent.mkdir(parents=True, exist_ok=True)
    done_path = path.with_suffix(".done")
    done = int(done_path.read_text()) if done_path.exists() else 0
    with path.open("a") as out:
        for begin in range(done, len(pairs), AT_ONCE):
            part = pairs[begin : begin + AT_ONCE]
            ids = [(tokenizer.source.encode(s)[0], tokenizer.target.encode(t)[0].tolist(), s, t) for s, t in part]
            ids = [each for each in ids if all(SHORTEST <= len(side) <= LONGEST for side in each[:2])]
            decoded = translator.decode([DecoderInput(DocumentExample([source])) for source, *_ in ids], options)
            for (source, reference, text, translation), document in zip(ids, decoded, strict=True):
                found = {tokenizer.target.decode(best.tokens): list(best.tokens) for best in document.sentences[0]}
                rewards = [reward(text, each, translation) for each in found]
                row = {"source": source.tolist(), "reference": reference, "candidates": [*found.values()]}
                out.write(json.dumps({**row, "rewards": rewards}) + "\n")
            out.flush()
            done_path.write_text(str(begin + len(part)))
            print(f"{begin + len(part):,} of {len(pairs):,} pairs", flush=True)


def write_examples(arguments: argparse.Namespace) -> None:
    """Writes the pairs of corpora with their hints."""
    folder = ModelFolder(find_model(arguments.model))
    tokenizer = Tokenizer.load(folder.path, folder.config.transformer)
    separator = 3 if folder.config.hints is None else folder.config.hints.separator
    draw, count = random.Random(arguments.seed), 0
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(arguments.out) as temporary, temporary.open("w") as out:
        for corpus in arguments.corpora:
            for source, target in _examples(corpus, tokenizer, separator, arguments, draw):
                out.write(json.dumps({"source": source, "reference": target}) + "\n")
                count += 1
    print(f"{arguments.out}: {count:,} pairs")


def _examples(
    corpus: Path, tokenizer: Tokenizer, separator: int, arguments: argparse.Namespace, draw: random.Random
) -> Iterator[tuple[list[int], list[int]]]:
    file = corpus / "train.hints.txt"
    rows = iter(file.read_text(encoding="utf-8").splitlines()) if file.exists() else None
    for document in read_documents(corpus):
        source = [tokenizer.source.encode(lines[0])[0] for lines in document]
        before = {hint.sentence: hint for hint in find_hints(None, source, (), tokenizer, ("previous",))}
        for m, lines in enumerate(document):
            hints = [] if rows is None else _written_hint(next(rows), lines[0], tokenizer)
            if m in before and draw.random() < arguments.previous:
                hints = [before[m], *hints]
            target = tokenizer.target.encode(lines[1])[0].tolist()
            fits = all(len(ids) <= LONGEST for ids in (source[m], target))
            if fits and draw.random() < arguments.share:
                with_hints, _ = insert(source[m], None, hints, separator)
                yield from [(with_hints.tolist(), target)] * arguments.times


def _written_hint(row: str, text: str, tokenizer: Tokenizer) -> list[Hint]:
    """Returns the hint of a line of train.hints.txt: the words that have it, a tab, what it says."""
    words, _, said = row.partition("\t")
    match = re.search(rf"\b{re.escape(words)}\b", text, re.IGNORECASE)
    if match is None or not said:
        return []
    spans = tokenizer.source.encode(text)[1].tolist()
    place = 1 + max(m for m, (begin, end) in enumerate(spans) if begin < match.end() and end > match.start())
    return [Hint(0, place, tuple(tokenizer.target.encode(said)[0][:-1].tolist()))]


def train(arguments: argparse.Namespace) -> None:
    """Trains Base on and writes the model folder in int8."""
    folder = ModelFolder(find_model(arguments.model))
    start, draw = checkpoint.load(folder), random.Random(arguments.seed)
    for name, parameter in start.named_parameters():
        parameter.requires_grad_(name.split(".")[0] in ("embeddings", "encoder", "decoder"))
    model = copy.deepcopy(start).to(torch.bfloat16).train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    masters = MasterWeights(model.parameters())
    masters.copy_from(start.parameters())
    optimizer = make_optimizer(OptimizerConfig(), masters)
    rated = batches(read_candidates(arguments.candidates, arguments.count, draw), arguments.tokens, draw)
    pairs = read_examples(arguments.examples)
    examples = batches(pairs, 2 * arguments.example_tokens, draw) if pairs else iter(())
    sums = np.zeros(4)
    for step in range(1, arguments.updates + 1):
        nll, reward = losses(model, next(rated), arguments.tau)
        (arguments.alpha * nll - arguments.scale * reward).backward()
        masters.collect_gradients()
        example_nll = torch.zeros(())
        if pairs:
            example_nll, _ = losses(model, next(examples), arguments.tau)
            example_nll.backward()
            masters.collect_gradients(add=True)
        norm = float(masters.gradients.norm())
        masters.gradients.mul_(min(1.0, 1.0 / norm))
        for group in optimizer.param_groups:
            group["lr"] = arguments.peak * min(1.0, step / WARMUP) * max(0.02, 1 - step / arguments.updates)
        optimizer.step()
        masters.update_model()
        sums += [float(nll.detach()), float(reward.detach()), float(example_nll.detach()), norm]
        if step % 10 == 0:
            values = "nll {:.4f}, reward {:.4f}, nll of examples {:.4f}, gradient norm {:.2f}".format(*sums / 10)
            print(f"update {step:,} of {arguments.updates:,}: {values}", flush=True)
            sums[:] = 0
    masters.copy_to(start.parameters())
    checkpoint.save_derived(start.eval(), arguments.out, folder, precision="int8")
    print(f"wrote {arguments.out}")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=5)
    commands = parser.add_subparsers(required=True)
    rate = commands.add_parser("candidates", help="translate corpora and rate the translations")
    rate.add_argument("model", help="model folder, or the name of an embedded model")
    rate.add_argument("corpora", type=Path, nargs="+", help="folders with train.src.txt.xz and train.tgt.txt.xz")
    rate.add_argument("--beams", type=int, default=8, help="candidates of a sentence (default: 8)")
    rate.add_argument("--pairs", type=int, default=sys.maxsize, help="stop after so many pairs")
    rate.add_argument("--out", type=Path, required=True)
    rate.set_defaults(run=write_candidates)
    pairs = commands.add_parser("examples", help="write pairs with hints")
    pairs.add_argument("corpora", type=Path, nargs="+", help="folders with train.src.txt.xz and train.tgt.txt.xz")
    pairs.add_argument("--model", default="en-fr", help="model whose sub-words are used (default: en-fr)")
    pairs.add_argument("--previous", type=float, default=0.0, help="share that reads the sentence before (default: 0)")
    pairs.add_argument("--share", type=float, default=1.0, help="share of the pairs that is written (default: 1)")
    pairs.add_argument("--times", type=int, default=1, help="how often each pair counts (default: 1)")
    pairs.add_argument("--out", type=Path, required=True)
    pairs.set_defaults(run=write_examples)
    training = commands.add_parser("train", help="train a model on")
    training.add_argument("model", help="model folder, or the name of an embedded model")
    training.add_argument("candidates", type=Path)
    training.add_argument("--examples", type=Path, nargs="*", default=[])
    training.add_argument("--count", type=int, default=4, help="candidates of a sentence that are used (default: 4)")
    training.add_argument("--updates", type=int, default=640)
    training.add_argument("--tokens", type=int, default=8000, help="sub-words of a batch of candidates (default: 8000)")
    training.add_argument("--example-tokens", type=int, default=4000, help="target sub-words of a batch of examples")
    training.add_argument("--peak", type=float, default=1.2e-4, help="highest learning rate (default: 1.2e-4)")
    training.add_argument("--tau", type=float, default=4.0, help="sharpness of Q (default: 4)")
    training.add_argument("--scale", type=float, default=2.0, help="weight of the expected reward (default: 2)")
    training.add_argument("--alpha", type=float, default=0.2, help="weight of the references (default: 0.2)")
    training.add_argument("--out", type=Path, required=True)
    training.set_defaults(run=train)
    return parser.parse_args(words)


def main() -> None:
    """Runs the script."""
    arguments = parse(sys.argv[1:])
    try:
        arguments.run(arguments)
    except DocgraphError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
