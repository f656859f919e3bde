"""papermill, loaded when it is first needed, and quickly."""

import sys
from types import ModuleType


def papermill() -> ModuleType:
    """The module. Its schema checker would load a parser of internationalised addresses, which takes
    a second and checks nothing in a notebook: it is only used where it is present, so it is not."""
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  None is how an import is barred
    import papermill as module

    return module
