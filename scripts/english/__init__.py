"""The stages of `train_english.py`."""
