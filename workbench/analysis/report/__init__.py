"""Reports of a reconciliation: a workbook, a page, figures, and texts for a terminal."""
