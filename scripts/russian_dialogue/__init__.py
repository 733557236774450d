"""Parts of make_russian_dialogue.py: tables of sentences and words, grammar, and one module for each kind of dialogue.

formality, names, verb_phrases (with verb_answers) and inflections make dialogues; tables describes the files they read.
"""
