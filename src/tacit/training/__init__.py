"""Training with steps: gradient descent, momentum, mini-batches, weight decay and label noise."""
