"""Guest 2030: the norms of minimum-norm solutions.

Errata
------
### Theorem 1: a square
- **Printed.** ‖w‖ ≤ ‖w*‖². **Holds.** ‖w‖ ≤ ‖w*‖. Test: `test_guest_paper.py`
"""

from tacit.papers.catalogue import Item

TITLE = "Guest 2030, A New Paper"
ITEMS = (
    Item("Theorem 1", "no solution is shorter", "1-2"),
    Item("Corollary 2", "what follows", "3", why="it repeats Theorem 1"),
    Item("Figure 1", "the norm against the number of samples"),
)
