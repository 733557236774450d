"""Triton kernels and CUDA graphs. Each module names the plain function it equals and the test that compares them."""
