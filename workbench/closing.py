"""What is closed at the end of the block that it is opened in."""

from typing import Self


class Closing:
    """A context manager whose end is `close`."""

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
