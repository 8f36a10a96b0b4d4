"""Messages of decentralizepy nodes: a hook on the object that shares a node's model.

    sharing = record_sharing(sharing, recorder)

Every class of `decentralizepy.sharing` hands over what it sends through ``get_data_to_send``; the hook
keeps it. Nothing is imported: an object with the same method serves as well.
"""

from __future__ import annotations

from typing import Any, TypeVar

from dpcalc.recorders.messages import MessageRecorder

_ABOUT = ("iteration", "degree", "CHANNEL")

Sharing = TypeVar("Sharing")


def record_sharing(sharing: Sharing, recorder: MessageRecorder) -> Sharing:
    """The same object, which from now on keeps what it sends.

    Args:
        sharing: with the number of its node, ``uid``, and the method ``get_data_to_send``, whose
            answer is a table with the round under ``iteration`` and arrays.
        recorder: of the run.

    Raises:
        InvalidInput: when something is sent that is no numbers: compression is to be switched off.
    """
    hooked: Any = sharing
    send = hooked.get_data_to_send

    def kept(*args: Any, **named: Any) -> Any:
        data = send(*args, **named)
        arrays = {name: value for name, value in data.items() if name not in _ABOUT}
        recorder.record(int(data["iteration"]), int(hooked.uid), arrays)
        return data

    hooked.get_data_to_send = kept
    return sharing
