"""All that Tacit reproduces of the papers, as one HTML file that needs nothing else.

Figures with their claims, the theorems that can be asked about data, the errata, and what goes beyond the
papers.
"""

from tacit.report.page import page
from tacit.report.panels import Shown

__all__ = ["Shown", "page"]
