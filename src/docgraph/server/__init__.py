"""docgraph serve: an HTTP API over translation and correction. Imported only by that command.

app.py      the routes; schemas.py their bodies
batching.py sentences of concurrent requests share batches; tickets.py cancels requests
storage.py  jobs and their sentences in a database; queue.py translates them
"""
