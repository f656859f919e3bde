"""Where the page of the interface is, section by section; its template is `sandbox/openapi/templates/interface.md`."""

from typing import Final

PAGE: Final = "/docs/interface"
"""The path of the page, which has the sections, and the rows of the register that each leaves open."""


def link_to(section: str) -> str:
    """The address of a section; of several sections, such as `2.1, 4`, the address of the first."""
    return f"{PAGE}#section-{section.partition(',')[0]}"
