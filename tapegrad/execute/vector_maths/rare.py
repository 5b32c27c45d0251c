"""Functions that few arguments need: a vectorised loop leaves its vectors only where one of their elements needs it.

LLVM vectorises a loop with a conditional call if it knows the called function's vector variants (the attribute
``vector-function-abi-variant``) with a mask of the elements that ask. The variants written here look whether any element
does; only then the scalar function is called, for each element of the vector.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .instructions import instruction, vectorisable

_WIDTHS = (2, 4, 8, 16)  # elements of a vector


def rare(name: str, function: Any) -> Any:
    """Return the function, to be called in a branch that is rarely taken. It must be right, or harmless, for any number."""

    def implementation(x: Any) -> Any:
        return function(x)

    @instruction
    def call(typing_context: Any, x: Any) -> Any:
        signature = x(x)

        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            scalar = _scalar(context, builder.module, name, implementation, signature)
            _declare_variants(builder.module, scalar)
            return builder.call(scalar, arguments)

        return signature, generate

    # In a function, so in a module, of its own: the names are defined once there.
    @vectorisable
    def rarely(x: Any) -> Any:
        return call(x)

    return rarely


def _scalar(context: Any, module: Any, name: str, implementation: Any, signature: Any) -> Any:
    """Define the scalar function in C's calling convention, and say that it has no effects."""
    kind = context.get_value_type(signature.return_type)
    function = ir.Function(module, ir.FunctionType(kind, [kind]), f"tapegrad_{name}_{kind.intrinsic_name}")
    _hidden(function)
    # llvmlite knows no more attributes of functions than these; the others are written out as they are.
    for attribute in ("willreturn", "readnone", _variants_attribute(function.name)):
        set.add(function.attributes, attribute)
    builder = ir.IRBuilder(function.append_basic_block())
    compiled = context.compile_subroutine(builder, implementation, signature)
    _, result = context.call_internal_no_propagate(builder, compiled.fndesc, signature, function.args)
    builder.ret(result)
    return function


def _hidden(function: Any) -> None:
    """Let equal definitions in several modules be one, which is not inlined."""
    function.linkage = "linkonce_odr"
    for attribute in ("noinline", "nounwind"):
        function.attributes.add(attribute)


def _variant(name: str, width: int) -> str:
    return f"{name}_{width}"


def _variants_attribute(name: str) -> str:
    """Return the attribute that lists the variants: for LLVM's own use, masked, of one vector argument."""
    mangled = ",".join(f"_ZGV_LLVM_M{width}v_{name}({_variant(name, width)})" for width in _WIDTHS)
    return f'"vector-function-abi-variant"="{mangled}"'


def _declare_variants(module: Any, scalar: Any) -> None:
    """Define the vector variants, and keep them until the loops are vectorised."""
    pointer = ir.IntType(8).as_pointer()
    variants = [_define_variant(module, scalar, width).bitcast(pointer) for width in _WIDTHS]
    kept = ir.ArrayType(pointer, len(variants))
    used = ir.GlobalVariable(module, kept, "llvm.compiler.used")
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ir.Constant(kept, variants)


def _define_variant(module: Any, scalar: Any, width: int) -> Any:
    """Define ``variant(x, mask)``: x itself if no element of the mask is set, else the scalar function of each element."""
    vector, count = ir.VectorType(scalar.return_value.type, width), ir.IntType(32)
    variant = ir.Function(module, ir.FunctionType(vector, [vector, ir.VectorType(ir.IntType(1), width)]), _variant(scalar.name, width))
    _hidden(variant)
    x, mask = variant.args
    entry, loop, done = (variant.append_basic_block(label) for label in ("entry", "loop", "done"))

    builder = ir.IRBuilder(entry)
    needed = builder.bitcast(mask, ir.IntType(width))
    builder.cbranch(builder.icmp_unsigned("!=", needed, needed.type(0)), loop, done)

    builder.position_at_end(loop)
    index, partial = builder.phi(count), builder.phi(vector)
    element = builder.call(scalar, [builder.extract_element(x, index)])
    results, following = builder.insert_element(partial, element, index), builder.add(index, count(1))
    builder.cbranch(builder.icmp_unsigned("==", following, count(width)), done, loop)
    for phi, start, then in ((index, count(0), following), (partial, x, results)):
        phi.add_incoming(start, entry)
        phi.add_incoming(then, loop)

    builder.position_at_end(done)
    result = builder.phi(vector)
    result.add_incoming(x, entry)
    result.add_incoming(results, loop)
    builder.ret(result)
    return variant
