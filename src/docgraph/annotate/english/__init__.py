"""The parts of the embedded English pipeline that spaCy does not have."""
