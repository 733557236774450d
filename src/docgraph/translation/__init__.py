"""From a model and documents to translations: search, document decoding."""
