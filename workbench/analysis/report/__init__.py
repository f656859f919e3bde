"""What a reconciliation is handed over as: a workbook, a page, figures, and texts for a terminal."""

from workbench.analysis.report.figures import Figures
from workbench.analysis.report.page import write_page
from workbench.analysis.report.workbook import write_workbook

__all__ = ["Figures", "write_page", "write_workbook"]
