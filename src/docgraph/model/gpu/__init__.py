"""Triton kernels and CUDA graphs, each tested against the plain function it equals."""
