"""Folder of what a device sent: a file for each epoch, on the disk before it leaves and never written twice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet import durable
from discreet.errors import Refusal


@dataclass(frozen=True)
class Outbox:
    """What one device sent in each epoch.

    The folder must not be copied to a second device, nor be put back as it was before: nobody could notice.
    """

    folder: Path

    def unsent(self, epoch: int) -> None:
        """Refuse an epoch for which something was written already."""
        durable.make_folder(self.folder)
        if self._path(epoch).exists():
            raise Refusal(
                f"a number was encrypted for epoch {epoch} already: a second one would tell their difference",
                hint="send the same bytes again, or wait for the next epoch",
            )

    def keep(self, epoch: int, content: bytes) -> None:
        """Write what is sent in an epoch; of two who try at once one is refused."""
        try:
            durable.create(self._path(epoch), content)
        except FileExistsError:
            self.unsent(epoch)
            raise
        durable.sync(self.folder)

    def sent(self, epoch: int) -> bytes | None:
        """What was written for an epoch, or as much of it as power lasted for; None if there is nothing."""
        path = self._path(epoch)
        return path.read_bytes() if path.exists() else None

    def _path(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch}"
