"""Training in practice: steps, momentum, batches, decay, label noise and vanishing initialization.

Statements of several papers about the effects that training in practice adds to gradient flow. Each module
names its source.
"""

from tacit.papers.catalogue import Item

TITLE = "Training in practice: steps, momentum, mini-batches, decay, noise, and scales near zero"
ITEMS = (
    Item(
        "Effective start",
        "steps of any size end at the limit of a flow from another start (Even et al. 2023)",
    ),
    Item("Second order", "the effective start, predicted from one flow, with momentum (Papazov et al. 2024)"),
    Item("Area law", "the area under the loss, and the decrease of the scale of a coordinate due to steps"),
    Item("Decay switched off", "the flow ends at the limit for the decayed scale"),
    Item("Decay that stays on", "at depth 2 the Lasso"),
    Item("Consecutive tasks", "the end of one limit is the start of the next"),
    Item(
        "Label noise",
        "every coordinate gets its own scale",
        tests=("test_predictions.py::test_label_noise_gives_every_coordinate_its_own_scale",),
        why="a single run takes a second and is random",
    ),
    Item("Slow decay", "the solution along weight decay is the limit at the decayed scale"),
    Item("Saddle path", "the flow as the scale goes to 0 (Pesme and Flammarion 2023)"),
    Item("Early stopping", "averages of the saddle path and the Lasso (Berthier 2025)"),
    Item("Scale zero", "the ℓ1 minimizer that small scales select (Wind et al. 2023)"),
    Item("State evolution", "the risk of limits on Gaussian features"),
    Item("Inverse question", "depth and scale from the end of a flow"),
    Item("Sign descent", "the ℓ∞ margin, also of Adam with ε = 0"),
    Item("Normalized descent", "its distance to the path of maximum margins, which is measured only"),
)
