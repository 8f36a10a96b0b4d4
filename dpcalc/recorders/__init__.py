"""Recorders: what the nodes of a running system send, kept for an audit.

Record many runs with a record and many without it, gather each into a transcript, and let
`dpcalc audit --transcripts` judge a claim about every message.
"""

from dpcalc.recorders.messages import MessageRecorder, gathered, recorded_run

__all__ = ["MessageRecorder", "gathered", "recorded_run"]
