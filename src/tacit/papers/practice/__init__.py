"""Training as it is practised: steps, momentum, batches, decay, label noise and vanishing initialization.

Not one paper but the statements of several about what practice adds to gradient flow. Each module names its
source.
"""

TITLE = "Training as it is practised: steps, momentum, mini-batches, decay, noise, and scales near zero"
