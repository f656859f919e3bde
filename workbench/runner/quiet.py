"""papermill, loaded when it is first needed, and quickly."""

import sys
from importlib import import_module
from types import ModuleType
from typing import cast


def papermill() -> ModuleType:
    """The module, without a parser that its schema checker uses where it is installed.

    That parser of internationalised addresses takes a second to load and checks nothing in a notebook.
    """
    sys.modules.setdefault("rfc3987_syntax", cast("ModuleType", None))  # None is how an import is barred
    return import_module("papermill")
