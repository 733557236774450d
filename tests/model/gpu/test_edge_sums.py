"""The edge-sum kernels equal the plain sums, which other tests compare with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from docgraph.graph import RelationOptions, build_graph
from docgraph.model.graph_encoder import source_structure
from docgraph.model.sparse import CsrMatrix, neighbour_sums
from model.examples import random_annotation, zipfian_annotation
from model.kernel_examples import DEVICE, HALF, needs_kernels

pytestmark = needs_kernels
CASES = [(torch.float32, 70, 1e-5), (HALF, 64, 0.02)]


@pytest.mark.parametrize(("dtype", "width", "bound"), CASES, ids=["full", "half"])
@pytest.mark.parametrize("rows", [[3, 0, 1, 40, 8, 9, 0], [0], [1]], ids=str)
def test_row_sums(rows: list[int], dtype: torch.dtype, width: int, bound: float) -> None:
    from docgraph.model.gpu.edge_sums import row_sums

    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(len(rows)), rows)
    matrix = CsrMatrix.of(owner, rng.integers(0, 30, len(owner)), len(rows))
    x = torch.randn(30, width).to(dtype)
    found = row_sums(x.to(DEVICE), matrix.columns.to(DEVICE), matrix.offsets.to(DEVICE))
    assert found.dtype == dtype
    torch.testing.assert_close(found.cpu().float(), matrix.sum(x.float()), atol=bound, rtol=bound)


@pytest.mark.parametrize(("dtype", "width", "bound"), CASES, ids=["full", "half"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("kinds", "reach", "relations"),
    [(6, None, "all"), (6, 2, "all"), (1, None, "lexical"), (40, None, "all"), (6, None, "intra")],
    ids=["few", "near", "one", "many", "listed"],
)
def test_neighbour_sums(
    kinds: int, reach: int | None, relations: str, after: bool, dtype: torch.dtype, width: int, bound: float
) -> None:
    """Cliques within a block of members, over two, and over several."""
    from docgraph.model.gpu import edge_sums as kernels

    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 14, 30).tolist()
    annotation = zipfian_annotation(rng, sizes, kinds) if kinds == 40 else random_annotation(rng, sizes, kinds)
    structure = source_structure(build_graph(annotation, relations, RelationOptions(max_distance=reach)))
    cliques, scale = structure.cliques, structure.scale_out if after else structure.scale_in
    assert (cliques is None) == (relations == "intra")
    edges = (structure.outgoing, structure.incoming) if after else (structure.incoming, structure.outgoing)
    x = torch.randn(structure.num_nodes, width).to(dtype)
    wanted = neighbour_sums(x.float(), scale, edges, cliques, after)
    listed = [tensor.to(DEVICE) for rows in edges for tensor in (rows.columns, rows.offsets)]
    members = [] if cliques is None else [tensor.to(DEVICE) for tensor in cliques.tensors]
    found = kernels.neighbour_sums(x.to(DEVICE), scale.to(DEVICE), listed, members, after)
    assert found.dtype == dtype
    torch.testing.assert_close(found.cpu().float(), wanted, atol=bound * float(wanted.abs().max()), rtol=bound)
