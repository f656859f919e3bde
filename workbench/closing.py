"""A base for context managers that call `close` at the end of their block."""

from typing import Self


class Closing:
    """A context manager that calls `close` at the end of its block."""

    def close(self) -> None:
        """Releases everything that the object holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
