"""The paper's tables as data, what makes their rows, and its analyses."""
