"""Messages of Flower clients: a mod that keeps every reply of a `ClientApp`.

    app = ClientApp(mods=[RecordReplies(recorder), LocalDpMod(...)])

Mods wrap one another from left to right: the first sees replies last, as they leave the client, so
the recorder comes first. What a server learns beyond replies, such as their times, is not kept.
Written for Flower 1.21 and later, of which it uses attributes only: nothing is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpcalc.errors import InvalidInput
from dpcalc.recorders.messages import MessageRecorder

_ROUND = "server-round"
_NODE = "partition-id"


@dataclass(frozen=True, slots=True)
class RecordReplies:
    """A mod that keeps arrays and metrics of every reply under ``type/record/name``.

    Attributes:
        recorder: of the run.
    """

    recorder: MessageRecorder

    def __call__(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        """Answer a message as the app does, and keep the answer.

        Args:
            msg: the message of the server.
            ctxt: the context of the client.
            call_next: the next mod, or the app.

        Returns:
            The reply, unchanged.

        Raises:
            InvalidInput: if the round is nowhere to be found.
        """
        reply = call_next(msg, ctxt)
        if not reply.has_error():
            kind = str(msg.metadata.message_type)
            arrays = {f"{kind}/{name}": values for name, values in _contents(reply).items()}
            if arrays:
                self.recorder.record(_round(msg), _node(ctxt), arrays)
        return reply


def _contents(reply: Any) -> dict[str, Any]:
    """Arrays and metrics; what the app configures is not sent for others to learn from."""
    found: dict[str, Any] = {}
    for record, arrays in reply.content.array_records.items():
        found |= {f"{record}/{name}": array.numpy() for name, array in arrays.items()}
    for record, metrics in reply.content.metric_records.items():
        found |= {f"{record}/{name}": value for name, value in metrics.items()}
    return found


def _round(msg: Any) -> int:
    """The server's round, as its strategy says; else the group of the message."""
    for config in msg.content.config_records.values():
        if isinstance(config, Mapping) and _ROUND in config:
            return int(config[_ROUND])
    group = str(msg.metadata.group_id)
    if not group.isdecimal():
        raise InvalidInput(
            f"expected the number of the round in the message's configuration, as {_ROUND!r}, or "
            f"as its group; got group={group!r}"
        )
    return int(group)


def _node(ctxt: Any) -> str:
    """The client's part of the data, which is the same in every run; else its number."""
    return str(ctxt.node_config.get(_NODE, ctxt.node_id))
