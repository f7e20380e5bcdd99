"""Training as it is practised: steps, momentum, batches, decay, label noise and vanishing initialization.

Not one paper but the statements of several about what practice adds to gradient flow. Each module names its
source.
"""

from tacit.papers.catalogue import Item

TITLE = "Training as it is practised: steps, momentum, mini-batches, decay, noise, and scales near zero"
ITEMS = (
    Item("Slow decay", "the solution along weight decay is the limit at the scale that is left"),
    Item("Saddle path", "the flow as the scale goes to 0 (Pesme and Flammarion 2023)"),
    Item("Early stopping", "averages of the saddle path and the Lasso (Berthier 2025)"),
    Item("Scale zero", "which ℓ1 minimizer small scales select (Wind et al. 2023)"),
    Item("State evolution", "the risk of limits on Gaussian features"),
    Item("Inverse question", "depth and scale from the end of a flow"),
    Item("Sign descent", "the ℓ∞ margin, also of Adam with ε = 0"),
)
