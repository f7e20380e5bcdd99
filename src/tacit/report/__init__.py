"""The reproduction of the papers as one self-contained HTML file.

It contains the figures with their claims, the theorems that can be checked on data, the errata, and results
beyond the papers.
"""

from tacit.report.page import page
from tacit.report.panels import Shown

__all__ = ["Shown", "page"]
