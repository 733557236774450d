"""The corpus of everyday English and French: package readers, cleaning, the table of sources, assembly."""
