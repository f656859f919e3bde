"""The phone key of a ledger: customers' numbers are compared by keyed hashes, and displayed and stored masked.

Somebody could try all numbers of nine digits in a short time, so a hash without a key would hide nothing. Only the
owner of the key's file can read the file. The file must be outside of the folders with carry-forwards, and every
period's run needs the same file.
"""

import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.domain.phones import COUNTRY_CODE, HASH_BYTES, phone_hash
from workbench.errors import PhoneKeyRefused
from workbench.visible import pasted

_LEAST, _MOST = 32, 4_096
"""The least and the most bytes of a key; a shorter or longer file is refused."""
_SHA256_BLOCK: Final = 64
_OWNER_ALONE: Final = 0o600
_OTHERS: Final = 0o077
_WINDOWS: Final = os.name == "nt"
HASH_SEPARATOR: Final = ":"
"""Separates the key's id from the hash. Only hashes made with one key can be compared."""
_CREATED: Final[set[Path]] = set()
"""The key files that this process has created. A note reports them, since a mistyped name creates a file."""


class PhoneKey:
    """A secret key. `id` identifies the key; `created` is the key's file, or None if this process did not create it."""

    def __init__(self, secret: bytes, path: Path | None = None) -> None:
        self._secret = secret
        self.created = path if path and path.resolve() in _CREATED else None
        self.id = hmac.digest(secret, b"the id of this key", "sha256")[:4].hex()

    def hash_of(self, text: str) -> str | None:
        """The key's id, a colon and the hash of an unmasked phone number in any format; None for any other text."""
        digest = phone_hash(text, self._secret)
        return digest and f"{self.id}{HASH_SEPARATOR}{digest}"

    def hashes_of(self, digits: pa.Array) -> pa.Array:
        """The hashes of many Zambian mobile numbers, as `hash_of` gives them; `digits` has each number's last nine."""
        # HMAC by its definition: both keyed states are made once, a third of the time of a call for each number.
        key = self._secret if len(self._secret) <= _SHA256_BLOCK else sha256(self._secret).digest()
        block = key.ljust(_SHA256_BLOCK, b"\0")
        inner, outer = (sha256(bytes(octet ^ pad for octet in block)).copy for pad in (0x36, 0x5C))
        digests = []
        for number in pc.binary_join_element_wise(COUNTRY_CODE, digits, "").cast(pa.binary()).to_pylist():
            within, around = inner(), outer()
            within.update(number)
            around.update(within.digest())
            digests.append(around.digest()[:HASH_BYTES])
        letters = b"".join(digests).hex().encode()
        ends = np.arange(0, len(letters) + 1, 2 * HASH_BYTES, dtype=np.int32)
        hashes = pa.StringArray.from_buffers(len(digests), pa.py_buffer(ends), pa.py_buffer(letters))
        return pc.binary_join_element_wise(f"{self.id}{HASH_SEPARATOR}", hashes, "")

    @property
    def of_rows(self) -> str:
        """A secret derived from the key, for hashing a ledger's rows; it does not reveal the key."""
        return hmac.digest(self._secret, b"rows of a ledger", "sha256").hex()

    def __repr__(self) -> str:
        return f"<PhoneKey {self.id}>"


def key_from(source: str | Path | bytes | None) -> PhoneKey:
    """The key in the file at this path, which is created if missing; these bytes as a key; or, for None, a random key.

    The random key is the same until the process ends. Raises PhoneKeyRefused: the file is no key, others can use the
    file, or the key has fewer than 32 bytes.
    """
    if source is None:
        return _of_process()
    if isinstance(source, bytes):
        return PhoneKey(_long_enough(source, "The key"))
    if not isinstance(source, str | Path):
        raise PhoneKeyRefused(f"The path of a key's file is wanted, or its bytes, not a {type(source).__name__}.")
    path = Path(source)
    try:
        with suppress(FileExistsError):  # made by another run since it was looked for
            if not path.exists():
                _make(path)
                _CREATED.add(path.resolve())
        return PhoneKey(_long_enough(_read(path), str(path)), path)
    except OSError as error:
        raise PhoneKeyRefused(f"{path} cannot be used as a key: {error.strerror or error}.") from None


def refuse_within(key: Path, folders: Iterable[Path]) -> None:
    """Raises PhoneKeyRefused: the file `key` is inside one of these folders, which hold carry-forwards."""
    for folder in folders:
        if key.resolve().is_relative_to(folder.resolve()):
            raise PhoneKeyRefused(
                f"The key {key} would be in {folder}, beside what is carried forward.",
                hint="Anybody with both could try every number: keep the key elsewhere.",
            )


def refuse_another(key: Path, hashes: Iterable[object]) -> None:
    """Raises PhoneKeyRefused: the file `key` does not exist, but some of `hashes` were made with an earlier key.

    A new key would make other hashes for the same numbers. `hashes` may have nulls and texts that are no hashes.
    """
    known = [text for text in map(str, hashes) if HASH_SEPARATOR in text]
    if known and not key.exists():
        ids = " and ".join(sorted({text.partition(HASH_SEPARATOR)[0] for text in known}))
        raise PhoneKeyRefused(
            f"There is no key {key}, and {len(known):,} numbers brought forward are hashed under the key {ids}.",
            hint="Check the name. If the key is lost, a run without --carry-forward creates a new one.",
        )


@cache
def _of_process() -> PhoneKey:
    return PhoneKey(secrets.token_bytes(32))


def _long_enough(secret: bytes, called: str) -> bytes:
    if len(secret) < _LEAST:
        text = "is empty" if not secret else f"has {len(secret)} bytes, and {_LEAST} are the least"
        raise PhoneKeyRefused(f"{called} {text}.", hint="A file that does not exist is created with a random key.")
    return secret


def _read(path: Path) -> bytes:
    """The bytes of a key file. Raises OSError: there is no such file.

    Raises PhoneKeyRefused: not a plain file, too long for a key, or others can use the file.
    """
    # A pipe would wait for somebody to write.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST:
            raise PhoneKeyRefused(f"{path} is not a key file.", hint="Name a file that does not exist: it is created.")
        if status.st_mode & _OTHERS and not _WINDOWS:
            raise PhoneKeyRefused(
                f"Others can use {path}: its mode is {stat.S_IMODE(status.st_mode):04o}.",
                hint=f"chmod 600 {pasted(path)}",
            )
        return file.read().strip()


def _make(path: Path) -> None:
    """Writes a random key to a new file, completely or not at all. Raises OSError: the file exists or writing fails."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ALONE)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(descriptor)
        # A link fails if the file exists; a rename would replace it.
        path.hardlink_to(unfinished)
    finally:
        unfinished.unlink(missing_ok=True)
