"""What decoder states are turned into probabilities with: the output matrix, and words that a memory recalls.

    p(y) = (1 - w) softmax(W h + b)(y) + sum_s w_s [token_s = y],    w = sum_s w_s < 1

is the mixture of pointer networks (Gu et al. 2016, equation 4; See et al. 2017, equation 9) and of nearest neighbours
(Khandelwal et al. 2021, equation 3). Where nothing is recalled it is the softmax exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MOST = 1 - 2**-20
"""Largest w; with more, single precision would leave nothing to the softmax."""


@dataclass(frozen=True, eq=False)
class Recalled:
    """What M slots of a memory say of the next token of N rows."""

    tokens: Tensor
    """[N, M] int64."""
    weights: Tensor
    """[N, M] fp32: w_s; 0 in slots that a row does not see."""

    @property
    def share(self) -> Tensor:
        """[N]: w."""
        return self.weights.sum(1).clamp(max=MOST)

    def of(self, gold: Tensor) -> Tensor:
        """[N]: the probability that tokens gold [N] have from the slots."""
        return torch.where(self.tokens == gold[:, None], self.weights, 0.0).sum(1)

    def log_probabilities(self, base: Tensor, gold: Tensor) -> Tensor:
        """[N]: of gold [N] in the mixture, from its log-probabilities in the softmax, [N]."""
        return torch.logaddexp(base + (-self.share).log1p(), self.of(gold).log())

    def mixed(self, base: Tensor) -> Tensor:
        """Log-probabilities [N, V] of the mixture, in place of those of the softmax in it.

        What the slots say is summed where it is said, so that no more than M of V numbers are touched twice.
        """
        tokens = self.tokens
        base += (-self.share).log1p()[:, None]
        own = base.gather(1, tokens)
        added = base.scatter_(1, tokens, 0.0).scatter_add_(1, tokens, self.weights).gather(1, tokens)
        return base.scatter_(1, tokens, torch.logaddexp(own, added.log()))


@dataclass(frozen=True, eq=False)
class Decoded:
    """N decoder states and what is recalled in them: all that the probabilities of their next tokens are made of."""

    hidden: Tensor
    """[N, d]."""
    recalled: Recalled | None = None

    def rows(self, part: slice) -> Decoded:
        """Those of some consecutive rows."""
        found = self.recalled
        return Decoded(self.hidden[part], None if found is None else Recalled(found.tokens[part], found.weights[part]))

    def mixture(self, gold: Tensor) -> Tensor | None:
        """[2, N]: w, and the probability that gold [N] has from the slots; None where nothing is recalled."""
        return None if self.recalled is None else torch.stack([self.recalled.share, self.recalled.of(gold)])
