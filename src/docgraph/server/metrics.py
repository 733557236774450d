"""Metrics of a server in the format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "docgraph_requests_total", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "docgraph_request_seconds", "Time until the answer begins.", ["method", "route"], registry=registry
        )
        self.in_flight = Gauge("docgraph_requests_in_flight", "Translation requests being answered.", registry=registry)
        self.jobs = Gauge("docgraph_jobs", "Jobs in the database, by state.", ["state"], registry=registry)
        self.sentences = Counter("docgraph_sentences_total", "Sentences decoded by the model.", registry=registry)
        self.batch_sentences = Histogram(
            "docgraph_batch_sentences", "Sentences in a batch.", registry=registry, buckets=_SIZES
        )
        self.batch_requests = Histogram(
            "docgraph_batch_requests", "Requests that share a batch.", registry=registry, buckets=_SIZES
        )
        self.taken_over = Counter("docgraph_leases_lost_total", "Jobs lost to another server.", registry=registry)

    def observe_batch(self, sentences: int, requests: int) -> None:
        """Counts a batch of the model."""
        self.sentences.inc(sentences)
        self.batch_sentences.observe(sentences)
        self.batch_requests.observe(requests)

    def render(self, jobs: dict[str, int]) -> bytes:
        """Returns all metrics as text; `jobs` is the number of jobs by state."""
        for state in ("queued", "running", "done", "failed", "cancelled"):
            self.jobs.labels(state).set(jobs.get(state, 0))
        return generate_latest(self.registry)
