"""Atomic writes: files and folders are written completely or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk."""
LOCK = ".lock"
_NAME_BYTES = 255
"""Maximum length of a file name."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def display_name(path: str | Path) -> str:
    """Returns a path in printable characters: bytes that are not UTF-8 and control characters are escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda char: char[0].encode("unicode_escape").decode(), text)


def hidden_sibling(path: Path, suffix: str) -> Path:
    """Returns `.NAME` + suffix beside a file; a name that would be too long is replaced by its digest."""
    name = f".{path.name}{suffix}"
    if len(os.fsencode(name)) > _NAME_BYTES:
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]}{suffix}"
    return path.with_name(name)


@contextmanager
def report_errors_as(path: Path) -> Iterator[None]:
    """Reports errors of a temporary file under the name of the target file, which the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def report_write_errors_as(path: Path, temporary: Path) -> Iterator[None]:
    """Reports a full disk and errors of a temporary file under the name of the target file; keeps other names."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.errno in FULL or error.filename in (None, str(temporary))):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path, which replaces `path` when the block succeeds and is deleted when it fails.

    A special file (/dev/null, a pipe) is written to instead of replaced.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder, "content")
            yield temporary
            target.write_bytes(temporary.read_bytes())
        return
    with report_errors_as(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        # The random part has 8 characters.
        prefix = hidden_sibling(target, ".12345678.tmp").name.removesuffix("12345678.tmp")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        with report_write_errors_as(target, temporary):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def lock(folder: Path) -> IO[str] | None:
    """Locks a folder until the returned file is closed; returns None if another process has locked it."""
    file = (folder / LOCK).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yields a temporary folder, which becomes `path` when the block succeeds; `path` must not exist."""
    with report_errors_as(path):
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"))
    try:
        with report_write_errors_as(path, temporary):
            yield temporary
            for entry in (*temporary.iterdir(), temporary):
                handle = os.open(entry, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
            temporary.chmod(0o777 & ~_umask())
            temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
