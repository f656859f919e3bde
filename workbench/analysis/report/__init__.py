"""Reports of a reconciliation: an Excel workbook, an HTML page, totals, and text for a terminal."""
