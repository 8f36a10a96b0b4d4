"""A network algorithm for real: one process per node, which sees its own records alone.

    with_processes = carry_out_apart(algorithm, 1)     # the transcript of algorithm.run(1)

Statement
    A node gets the public parameters, the number of every node's records, and its own records. In
    every round it sends one message to each neighbour over a connection of their own, and tells what
    it released. With a seed the transcript has the bits of the simulation (every node draws the
    noise of all and takes its own); without one every node draws from a key of its own, which never
    leaves its process, and nobody could repeat the run.
    A node that dies, or a message of another round, ends the run: nothing is released.
Cost
    A message is runs·d doubles and the number of its round; every edge carries two in every round.
Elsewhere
    `node_rounds` takes any connections with ``send_bytes`` and ``recv_bytes``, so nodes may run on
    machines of their own, joined by `multiprocessing.connection.Client` and ``Listener``.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.engine.recording import Recorder
from dpcalc.algorithms.problems.noise import streams
from dpcalc.errors import InvalidInput, WorkersLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from dpcalc.algorithms.engine.networked import NetworkAlgorithm
    from dpcalc.algorithms.problems.noise import Seed
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

_MARK = 8
"""Bytes of the number of a round, before the numbers of a message."""


class Link(Protocol):
    """One end of a connection to a neighbour, which hands over whole messages in order."""

    def send_bytes(self, message: bytes, /) -> None:
        """Send one."""

    def recv_bytes(self) -> bytes:
        """The next one; EOFError if the other end is gone."""


def carry_out_apart(
    algorithm: NetworkAlgorithm,
    rng: Seed = None,
    *,
    runs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Transcript:
    """Run every node in a process of its own, on this machine.

    A script that calls this needs ``if __name__ == "__main__":``.

    Args:
        algorithm: over a network, with all records.
        rng: a seed, for an experiment; None for a real run.
        runs: independent runs, side by side in every message.
        progress: called with (rounds done, rounds).

    Raises:
        InvalidInput: for a random start without a seed, which neighbours could not know.
        WorkersLost: if a node died; nothing is released.
    """
    entropy = None if rng is None else streams(rng, runs=runs).entropy
    if entropy is None and str(getattr(algorithm, "initial", "")) == "random":
        raise InvalidInput(
            "expected a start that all nodes know without a seed; got initial='random'; take "
            "'zero', or an array"
        )
    with _nodes(algorithm, entropy, runs) as told:
        recorder = Recorder(algorithm.released, algorithm.full_release, runs, algorithm.rounds)
        recorder.begin(_together(told, 0))
        for t in range(1, algorithm.rounds + 1):
            recorder.add(t, _together(told, t), {})
            if progress is not None:
                progress(t, algorithm.rounds)
    return recorder.transcript(algorithm.key, algorithm.rounds, experiment=rng is not None)


def node_rounds(
    alone: NetworkAlgorithm, links: Mapping[int, Link], rng: Seed = None, *, runs: int = 1
) -> Iterator[Arrays]:
    """What one node releases: before round 1, and in every round.

    Args:
        alone: the algorithm as the node knows it; see `NetworkAlgorithm.alone`.
        links: to every neighbour, by its number.
        rng: the seed that all nodes share, for an experiment; None for a real run.
        runs: as of all nodes.

    Returns:
        Arrays by name, each of shape (runs, ...) without the axis of nodes.
    """
    own = alone.problem.records.only
    source = streams(rng, runs=runs)
    memory, released = alone._start(source)  # noqa: SLF001 - the same package
    yield {name: values[:, own] for name, values in released.items()}
    for t in range(1, alone.rounds + 1):
        unit = alone._units(source, t)  # noqa: SLF001
        mine, _ = alone._send(t, memory, unit)  # noqa: SLF001
        sent = np.zeros_like(mine)
        sent[:, own] = mine[:, own]
        for neighbour in sorted(links, key=lambda j: (min(j, own), max(j, own))):
            sent[:, neighbour] = _exchanged(
                links[neighbour], t, sent[:, own], first=own < neighbour
            )
        memory, released = alone._receive(t, memory, sent)  # noqa: SLF001
        yield {name: values[:, own] for name, values in released.items()}


def _exchanged(link: Link, t: int, mine: Array, *, first: bool) -> Array:
    """The neighbour's message of a round, in exchange for this node's.

    Of two ends one sends first, and all nodes take edges in one order: nobody waits in a circle.
    """
    message = t.to_bytes(_MARK, "little") + np.ascontiguousarray(mine).tobytes()
    if first:
        link.send_bytes(message)
    theirs = link.recv_bytes()
    if not first:
        link.send_bytes(message)
    if len(theirs) != len(message) or theirs[:_MARK] != message[:_MARK]:
        raise InvalidInput(
            f"expected a message of round {t} with {mine.size} numbers; got one of "
            f"{len(theirs)} bytes of round {int.from_bytes(theirs[:_MARK], 'little')}"
        )
    return np.frombuffer(theirs, dtype=np.float64, offset=_MARK).reshape(mine.shape)


@contextlib.contextmanager
def _nodes(
    algorithm: NetworkAlgorithm, entropy: int | None, runs: int
) -> Iterator[Sequence[Connection]]:
    """A process per node, joined along the edges; what each tells comes in their order."""
    context = multiprocessing.get_context("spawn")
    nodes = algorithm.problem.nodes
    links = _joined(nodes, algorithm.problem.network.edges)
    told: list[Connection] = []
    processes: list[BaseProcess] = []
    try:
        for node in range(nodes):
            here, there = context.Pipe(duplex=False)
            told.append(here)
            given = (algorithm.alone(node), links[node], entropy, runs, there)
            started = context.Process(target=_node, args=given, daemon=True)
            started.start()
            processes.append(started)
            for end in (there, *links[node].values()):
                end.close()  # the node has it; so its neighbours notice when it dies
        yield told
    finally:
        for end in told:
            end.close()
        for process in processes:
            process.terminate()
            process.join()


def _joined(nodes: int, edges: Sequence[tuple[int, int]]) -> list[dict[int, Connection]]:
    """A connection along every edge, both ends of which are open until the nodes have them."""
    links: list[dict[int, Connection]] = [{} for _ in range(nodes)]
    try:
        for i, j in edges:
            links[i][j], links[j][i] = multiprocessing.Pipe()
    except OSError as error:
        for ends in links:
            for end in ends.values():
                end.close()
        raise InvalidInput(
            f"expected a connection for each of {len(edges)} edges; this process may not have as "
            f"many files open ({error.strerror}); take a sparser graph, or raise the limit: "
            f"ulimit -n {2 * len(edges) + 3 * nodes + 100}"
        ) from error
    return links


def _node(
    alone: NetworkAlgorithm,
    links: Mapping[int, Connection],
    entropy: int | None,
    runs: int,
    tell: Connection,
) -> None:
    """A node from its first round to its last; tells what it releases, or what went wrong."""
    try:
        for released in node_rounds(alone, links, entropy, runs=runs):
            tell.send(released)
    except (EOFError, OSError):
        return  # a neighbour is gone; whoever asks notices
    except Exception as error:  # noqa: BLE001 - raised again where the run was begun
        tell.send(error)


def _together(told: Sequence[Connection], t: int) -> Arrays:
    """What all nodes released in a round."""
    rows: list[Arrays] = []
    for node, end in enumerate(told):
        try:
            found = end.recv()
        except (EOFError, OSError):
            raise WorkersLost(
                f"expected every node to the end; node {node} or one next to it was lost in round "
                f"{t}; nothing is released"
            ) from None
        if isinstance(found, Exception):
            found.add_note(f"at node {node}, in round {t}")
            raise found
        rows.append(found)
    return {name: np.stack([row[name] for row in rows], axis=1) for name in rows[0]}
