"""The documentation: `make docs` builds it into docs/_build/html, offline, with warnings as errors."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "fedabm"
author = "The fedabm authors"
copyright = "The fedabm authors"
release = metadata.version("fedabm")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "pages"]
html_theme = "furo"
html_title = f"fedabm {release}"
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are stored with their outputs, and tests run them

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": True}
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["mystnb.unknown_mime_type", "ref.python"]
