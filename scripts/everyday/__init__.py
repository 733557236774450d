"""The corpus of everyday English and French: readers of packages, cleaning, the table of sources, holding out."""
