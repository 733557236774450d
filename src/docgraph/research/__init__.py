"""The paper's tables and analyses. Imports the rest of the package; only its own commands import it."""
