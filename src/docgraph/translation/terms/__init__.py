"""Terms: words whose translation is prescribed by a glossary, a dictionary or the rest of the document, and formality.

`term_enforcement.TermEnforcer` decodes translations again that lack them.
"""
