"""Imports nbformat for every part of this package that reads or writes notebooks, so that it loads fast."""

import sys
from typing import Any, Final, cast

# A parser of internationalised addresses, which checks nothing in a notebook, takes a second to load in every process:
# barred before the schema checker of nbformat, and of all that imports it, looks whether it is installed.
sys.modules.setdefault("rfc3987_syntax", cast("Any", None))  # None is how an import is barred
import nbformat  # noqa: E402  see above

__all__: Final = ["nbformat"]
