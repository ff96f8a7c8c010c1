"""One self-contained HTML page from any run or sweep folder: `fedabm report DIR`.

`source` reads the folder, `facts`, `concerns`, `tables`, `gallery` and `cards` say what is told, `page` joins them.
From Python: `fedabm.report.page.write_report(folder, file)`; nothing is imported here, for speed.
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
