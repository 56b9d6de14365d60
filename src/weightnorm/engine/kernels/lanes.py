"""Several float64 numbers as one value in compiled code: the lanes of runs that advance together.

numba has no vector type, and its loops over lanes keep every accumulator in memory. These few
intrinsics hand LLVM explicit vectors, so a kernel reads like its formula, keeps its accumulators in
registers, needs no fast-math flag (NaN stays NaN) and does the same arithmetic in every lane: a
run's result cannot depend on its neighbours.

A lone run leaves lanes empty, so it should have few; where there are many runs, more lanes hide the
time an operation waits for the one before.

numba's disk cache watches the file of the kernel only, so a kernel's name there has the `tag` of
its lanes: their width, and a sum of this file.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model


class LanesType(types.Type):
    """The numba type of a vector of float64."""

    def __init__(self, width: int) -> None:
        super().__init__(name=f"lanes{width}")
        self.width = width


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend: Any) -> None:
        super().__init__(manager, frontend, ir.VectorType(ir.DoubleType(), frontend.width))


def _lanes(width: int) -> SimpleNamespace:
    """The intrinsics for vectors of so many lanes."""
    lanes = LanesType(width)
    vector = ir.VectorType(ir.DoubleType(), width)
    mask = ir.IntType(width)

    def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())

    @intrinsic
    def load(typing_context, array, index):
        """The lanes at flat position `index` of a contiguous array."""

        def generate(context, builder, signature, arguments):
            value = builder.load(_pointer(context, builder, signature.args[0], *arguments))
            value.align = 8
            return value

        return lanes(array, types.intp), generate

    @intrinsic
    def store(typing_context, array, index, value):
        """Write the lanes at flat position `index` of a contiguous array."""

        def generate(context, builder, signature, arguments):
            pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
            builder.store(arguments[2], pointer).align = 8
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes), generate

    @intrinsic
    def spread(typing_context, number):
        """The same number in every lane."""

        def generate(context, builder, signature, arguments):
            return _splat(builder, arguments[0])

        return lanes(types.float64), generate

    @intrinsic
    def broadcast(typing_context, array, index):
        """The number at flat position `index` of a contiguous array, in every lane."""
        return lanes(array, types.intp), _broadcast

    @intrinsic
    def pick(typing_context, array, index):
        """Entry `index` of what the lanes share (a vector), or row `index` of what each has its
        own of (rows of lanes).
        """

        def generate(context, builder, signature, arguments):
            if signature.args[0].ndim == 1:
                return _broadcast(context, builder, signature, arguments)
            first = builder.mul(arguments[1], ir.Constant(arguments[1].type, width))
            value = builder.load(_pointer(context, builder, signature.args[0], arguments[0], first))
            value.align = 8
            return value

        return lanes(array, types.intp), generate

    def _broadcast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return _splat(builder, builder.load(builder.gep(data, [arguments[1]])))

    def _splat(builder: Any, number: Any) -> Any:
        undefined = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
        return builder.shuffle_vector(first, undefined, zeros)

    @intrinsic
    def lane_sum(typing_context, value):
        """The sum over the lanes, in pairs: always in the same order."""

        def generate(context, builder, signature, arguments):
            (value,) = arguments
            half = width
            while half > 1:
                half //= 2
                low, high = (
                    ir.Constant(ir.VectorType(ir.IntType(32), half), list(range(k, k + half)))
                    for k in (0, half)
                )
                value = builder.fadd(
                    builder.shuffle_vector(value, value, low),
                    builder.shuffle_vector(value, value, high),
                )
            return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

        return types.float64(lanes), generate

    @intrinsic
    def outside(typing_context, value, low, high):
        """A bit for each lane: 1 unless low < value <= high (so 1 for NaN)."""

        def generate(context, builder, signature, arguments):
            value, low, high = arguments
            below = builder.fcmp_unordered("<=", value, low)
            above = builder.fcmp_unordered(">", value, high)
            bits = builder.bitcast(builder.or_(below, above), mask)
            return builder.zext(bits, ir.IntType(64))

        return types.int64(lanes, lanes, lanes), generate

    @intrinsic
    def choose(typing_context, a, b, yes, no):
        """`yes` in the lanes where a > b, `no` in the others (so also where one is NaN)."""

        def generate(context, builder, signature, arguments):
            a, b, yes, no = arguments
            return builder.select(builder.fcmp_ordered(">", a, b), yes, no)

        return lanes(lanes, lanes, lanes, lanes), generate

    @intrinsic
    def two_to(typing_context, k):
        """2^k for whole numbers k from −1022 to 1023: written into the exponent's bits."""

        def generate(context, builder, signature, arguments):
            whole = ir.VectorType(ir.IntType(64), width)
            # in this binade the last bits of a float64 count ones
            shifted = builder.fadd(arguments[0], ir.Constant(vector, [1.5 * 2**52 + 1023] * width))
            bits = builder.shl(builder.bitcast(shifted, whole), ir.Constant(whole, [52] * width))
            return builder.bitcast(bits, vector)

        return lanes(lanes), generate

    def _llvm(name: str, count: int) -> Callable[..., Any]:
        def call(builder: Any, arguments: Any) -> Any:
            function_type = ir.FunctionType(vector, [vector] * count)
            function = cgutils.get_or_insert_function(
                builder.module, function_type, f"llvm.{name}.v{width}f64"
            )
            return builder.call(function, arguments)

        return call

    _fused = _llvm("fmuladd", 3)

    @intrinsic
    def multiply_add(typing_context, a, b, c):
        """a·b + c, fused where the machine can."""
        return lanes(lanes, lanes, lanes), lambda context, builder, signature, arguments: _fused(
            builder, arguments
        )

    @intrinsic
    def square_root(typing_context, a):
        """√a."""
        call = _llvm("sqrt", 1)
        return lanes(lanes), lambda context, builder, signature, arguments: call(builder, arguments)

    @intrinsic
    def absolute(typing_context, a):
        """|a|."""
        call = _llvm("fabs", 1)
        return lanes(lanes), lambda context, builder, signature, arguments: call(builder, arguments)

    def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
        """`width` vectors as a matrix, the other way round: pairs, then pairs of pairs, …"""
        half = width // 2
        while half:
            low = [k if k % (2 * half) < half else k - half + width for k in range(width)]
            high = [k + half if k % (2 * half) < half else k + width for k in range(width)]
            low_mask, high_mask = (
                ir.Constant(ir.VectorType(ir.IntType(32), width), mask) for mask in (low, high)
            )
            swapped = list(rows)
            for k in range(width):
                if k % (2 * half) < half:
                    a, b = rows[k], rows[k + half]
                    swapped[k] = builder.shuffle_vector(a, b, low_mask)
                    swapped[k + half] = builder.shuffle_vector(a, b, high_mask)
            rows, half = swapped, half // 2
        return rows

    @intrinsic
    def transpose(typing_context, a, a_start, a_row, b, b_start, b_row):
        """b[k, l] = a[l, k] for k, l < width: rows of `a` begin a_row apart, those of `b` b_row."""

        def generate(context, builder, signature, arguments):
            a, a_start, a_row, b, b_start, b_row = arguments

            def place(which: int, array: Any, start: Any, row: Any, k: int) -> Any:
                at = builder.add(start, builder.mul(ir.Constant(start.type, k), row))
                return _pointer(context, builder, signature.args[which], array, at)

            rows = []
            for k in range(width):
                value = builder.load(place(0, a, a_start, a_row, k))
                value.align = 8
                rows.append(value)
            for k, value in enumerate(_transposed(builder, rows)):
                builder.store(value, place(3, b, b_start, b_row, k)).align = 8
            return context.get_dummy_value()

        return types.void(a, a_start, a_row, b, b_start, b_row), generate

    def tile(rows: int, row: int | None = None, step: int | None = None) -> Any:
        """A tile of a matrix product, its accumulators in registers.

        tile(a, a_start, a_row, a_step, a_jump, b, b_start, b_step, jumps, count, c, c_start, c_row,
        add) does, for r < rows, c[r] (+)= Σ a[a_start + r·a_row + k·a_step + l·a_jump]·b[b_start +
        (l·count + k)·b_step : … + width] over l < jumps and, for each, k < count: each sum in this
        order, whatever the number of rows. With `row` and `step` these take the places of a_row and
        a_step, and are known when it is compiled.
        """

        @intrinsic
        def multiply(
            typing_context,
            a,
            a_start,
            a_row,
            a_step,
            a_jump,
            b,
            b_start,
            b_step,
            jumps,
            count,
            c,
            c_start,
            c_row,
            add,
        ):
            def generate(context, builder, signature, arguments):
                a_row, a_step, a_jump = arguments[2:5]
                b_step, jumps, count = arguments[7:10]
                c_row, add = arguments[12:]
                whole, places = count.type, {}
                for which in (0, 5, 10):
                    array = context.make_array(signature.args[which])
                    data = array(context, builder, arguments[which]).data
                    places[which] = builder.gep(data, [arguments[which + 1]])

                def times(r: int, stride: Any) -> Any:
                    return builder.mul(ir.Constant(whole, r), stride)

                down = a_row if row is None else ir.Constant(whole, row)
                along = a_step if step is None else ir.Constant(whole, step)
                targets = [
                    builder.bitcast(builder.gep(places[10], [times(r, c_row)]), vector.as_pointer())
                    for r in range(rows)
                ]
                sums = [cgutils.alloca_once(builder, vector) for _ in range(rows)]
                begun = builder.icmp_signed("!=", add, ir.Constant(add.type, 0))
                with builder.if_else(begun) as (then, otherwise):
                    with then:
                        for target, total in zip(targets, sums, strict=True):
                            value = builder.load(target)
                            value.align = 8
                            builder.store(value, total)
                    with otherwise:
                        for total in sums:
                            builder.store(ir.Constant(vector, [0.0] * width), total)
                with cgutils.for_range(builder, jumps) as outer:
                    first = builder.gep(places[0], [builder.mul(outer.index, a_jump)])
                    passed = builder.mul(outer.index, count)
                    with cgutils.for_range(builder, count) as loop:
                        left = builder.gep(first, [builder.mul(loop.index, along)])
                        k = builder.mul(builder.add(passed, loop.index), b_step)
                        at = builder.bitcast(builder.gep(places[5], [k]), vector.as_pointer())
                        right = builder.load(at)
                        right.align = 8
                        for r, total in enumerate(sums):
                            number = builder.load(builder.gep(left, [times(r, down)]))
                            value = (_splat(builder, number), right, builder.load(total))
                            builder.store(_fused(builder, value), total)
                for target, total in zip(targets, sums, strict=True):
                    builder.store(builder.load(total), target).align = 8
                return context.get_dummy_value()

            given = (a, a_start, a_row, a_step, a_jump, b, b_start, b_step, jumps, count)
            return types.void(*given, c, c_start, c_row, add), generate

        return multiply

    return SimpleNamespace(
        tile=tile,
        transpose=transpose,
        tag=f"{width}_{zlib.crc32(Path(__file__).read_bytes()):08x}",
        width=width,
        load=load,
        store=store,
        spread=spread,
        broadcast=broadcast,
        pick=pick,
        lane_sum=lane_sum,
        outside=outside,
        choose=choose,
        two_to=two_to,
        multiply_add=multiply_add,
        square_root=square_root,
        absolute=absolute,
    )


def _add_operator(symbol: Any, instruction: str) -> None:
    @intrinsic
    def apply(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            return getattr(builder, instruction)(*arguments)

        return a(a, b), generate

    @overload(symbol)
    def overloaded(a, b):
        if isinstance(a, LanesType) and a == b:
            return lambda a, b: apply(a, b)
        return None


_add_operator(operator.add, "fadd")
_add_operator(operator.sub, "fsub")
_add_operator(operator.mul, "fmul")
_add_operator(operator.truediv, "fdiv")

NARROW, MIDDLE, WIDE = _lanes(4), _lanes(8), _lanes(32)
