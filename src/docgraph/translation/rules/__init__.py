"""Rules applied to text before and after the model: segmentation, protected text, typography."""
