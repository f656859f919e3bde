"""What a reconciliation is handed over as: a workbook, a page, figures, and texts for a terminal."""
