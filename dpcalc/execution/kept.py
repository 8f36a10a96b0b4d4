"""Pieces of work whose answers are kept in a store as they are finished."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dpcalc.archive import Values
from dpcalc.execution.order import in_order
from dpcalc.store import Store

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping(Generic[Item, Answer]):
    """How answers are kept.

    Attributes:
        store: where; nothing is kept without one.
        key: the name of an item's answer; None for one that is made again every time.
        pack: an answer as header and arrays.
        unpack: the answer again.
    """

    store: Store | None
    key: Callable[[Item], str | None]
    pack: Callable[[Answer], tuple[Mapping[str, Any], Mapping[str, Values]]]
    unpack: Callable[[Mapping[str, Any], Mapping[str, Values]], Answer]

    def held(self, items: Sequence[Item]) -> list[bool]:
        """Which items' answers are there already."""
        names = set(self.store.names()) if self.store is not None else set()
        return [self.key(item) in names for item in items]

    def keep(self, item: Item, answer: Answer) -> None:
        """Write an item's answer."""
        key = self.key(item)
        if self.store is not None and key is not None:
            self.store.write(key, *self.pack(answer))

    def read(self, item: Item) -> Answer | None:
        """The answer that is there, or None."""
        key = self.key(item)
        found = self.store.read(key) if self.store is not None and key is not None else None
        return None if found is None else self.unpack(*found)


def in_order_kept(
    function: Callable[[Item], Answer],
    items: Sequence[Item],
    executor: Executor | None = None,
    *,
    keeping: Keeping[Item, Answer],
    what: str = "piece",
    finished: Callable[[Item, Answer], None] | None = None,
) -> Generator[Answer, None, None]:
    """`in_order`, with answers that are there already read instead of computed.

    Args:
        function: pure; see `in_order`.
        items: what it is applied to.
        executor: who does the work; this process if left out.
        keeping: where and how answers are kept: each as soon as it is finished.
        what: what a piece is called when it has to be made again.
        finished: called with item and answer as soon as it is there and kept, in any order.
    """
    held = keeping.held(items)
    missing = [item for item, there in zip(items, held, strict=True) if not there]

    def keep(number: int, answer: Answer) -> None:
        keeping.keep(missing[number], answer)
        if finished is not None:
            finished(missing[number], answer)

    with closing(in_order(function, missing, executor, what=what, finished=keep)) as made:
        for item, there in zip(items, held, strict=True):
            answer = keeping.read(item) if there else None
            if answer is None:
                yield next(made)
                continue
            if finished is not None:
                finished(item, answer)
            yield answer
