"""More fast figures in another module, since the figures of one module are made by one process."""

import os

from quick_figures import also, endless

if "QUICK_FIGURES" in os.environ:
    also("endless-too", __name__, data=endless)
else:
    also("after", __name__)
