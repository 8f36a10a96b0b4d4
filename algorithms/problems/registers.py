"""Sums of multiples of vectors that stay in the processor's registers; imports numba.

A compiled loop over the numbers of a sum reads and writes them once for every few terms. Here a piece
of it is one vector in LLVM's own language, and stays in registers from the first term to the last;
how many of which width these are is left to LLVM. Every number is added up by itself, in the order
of the terms, so that sizes of pieces and widths of registers change no bit.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

emit: Any = cgutils  # has no types


def _add_piece(
    typing: Any,
    values: Any,
    index: Any,
    start: Any,
    stop: Any,
    vectors: Any,
    total: Any,
    first: Any,
    size: Any,
) -> Any:
    """Add Σ values[j]·vectors[index[j]] over start <= j < stop to a piece of ``total``.

    Numba calls this with types; what it returns writes the code.

    Args:
        typing: numba's.
        values: factors.
        index: numbers of the vectors.
        start: of the terms.
        stop: of the terms.
        vectors: shape (vectors, numbers), contiguous, of the type of ``values``.
        total: shape (numbers,), of the same type.
        first: where the piece begins.
        size: its bytes, a power of two, written as a number; it ends within ``total``.
    """
    del typing, start, stop, first  # whole numbers, of which type does not matter

    def write(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        factors, columns, begin, end, rows, sums, offset, _ = arguments

        def at(array_type: Any, array: Any, *where: Any) -> Any:
            held = context.make_array(array_type)(context, builder, array)
            return emit.get_item_pointer(context, builder, array_type, held, where)

        number = context.get_data_type(values.dtype)
        width = context.get_abi_sizeof(number)
        piece = ir.VectorType(number, size.literal_value // width)
        in_every_place = ir.VectorType(ir.IntType(32), piece.count)([0] * piece.count)
        place = builder.bitcast(at(total, sums, offset), piece.as_pointer())
        held = emit.alloca_once_value(builder, builder.load(place, align=width))
        with emit.for_range_slice(builder, begin, end, begin.type(1)) as (j, _):
            column = builder.load(at(index, columns, j))
            column = context.cast(builder, column, index.dtype, types.intp)
            row = builder.bitcast(at(vectors, rows, column, offset), piece.as_pointer())
            factor = builder.insert_element(
                piece(ir.Undefined), builder.load(at(values, factors, j)), ir.IntType(32)(0)
            )
            factor = builder.shuffle_vector(factor, factor, in_every_place)
            term = builder.fmul(factor, builder.load(row, align=width), flags=["contract"])
            builder.store(builder.fadd(builder.load(held), term, flags=["contract"]), held)
        builder.store(builder.load(held), place, align=width)
        return context.get_dummy_value()

    number = types.intp
    return types.void(values, index, number, number, vectors, total, number, size), write


add_piece: Any = intrinsic(prefer_literal=True)(_add_piece)
