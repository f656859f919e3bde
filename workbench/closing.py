"""What is closed at the end of the block that it is opened in."""

from types import TracebackType
from typing import Self


class Closing:
    """A context manager whose end is `close`."""

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
