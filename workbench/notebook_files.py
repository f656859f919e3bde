"""Imports nbformat in the fastest way, for all parts of this package that read or write notebooks."""

import sys
from typing import Any, Final, cast

# The schema checker of nbformat loads rfc3987_syntax if it is installed, which takes a second in every process. This
# parser of internationalised addresses checks nothing in a notebook, so its import is barred before nbformat's.
sys.modules.setdefault("rfc3987_syntax", cast("Any", None))  # None is how an import is barred
import nbformat  # noqa: E402  see above

__all__: Final = ["nbformat"]
