"""Which family has which function and method, so that a family is loaded when one of its names is first used.

tests/test_public.py compares this table with the modules.
"""

from __future__ import annotations

FUNCTIONS = {
    "elementwise": """
        abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
        bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil copysign cos cosh
        digamma eq erf erfc erfinv exp exp2 expm1 fix floor floor_divide fmax fmin fmod frac gcd ge greater
        greater_equal gt hypot i0 igamma igammac isfinite isinf isnan isneginf isposinf lcm le less less_equal lgamma
        log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor lt maximum minimum
        mul multiply ne neg negative nextafter not_equal reciprocal relu remainder rsqrt sgn sigmoid sign signbit sin
        sinc sinh sqrt tan tanh trunc
    """,
    "arithmetic": """
        add addcdiv addcmul deg2rad div divide float_power frexp heaviside ldexp lerp logit mvlgamma polygamma
        positive pow rad2deg round rsub square sub subtract true_divide xlogy
    """,
    "choosing": """
        clamp clamp_max clamp_min clip nan_to_num where
    """,
    "comparing": """
        allclose equal is_same_size isclose isin isreal
    """,
    "reductions": """
        all any count_nonzero log_softmax logsumexp mean nanmean nansum prod softmax sum
    """,
    "moments": """
        corrcoef cov std std_mean var var_mean
    """,
    "extremes": """
        amax amin aminmax argmax argmin max min
    """,
    "shapes": """
        adjoint atleast_1d atleast_2d atleast_3d broadcast_shapes broadcast_tensors broadcast_to flatten moveaxis
        movedim permute ravel reshape squeeze swapaxes swapdims t transpose unflatten unsqueeze
    """,
    "joining": """
        block_diag cartesian_prod cat column_stack combinations concat concatenate dstack hstack meshgrid row_stack
        stack vstack
    """,
    "splitting": """
        chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split
        unsafe_split_with_sizes vsplit
    """,
    "arranging": """
        clone flip fliplr flipud repeat_interleave roll rot90 tile
    """,
    "matrices": """
        diag diag_embed diagflat diagonal kron tril triu
    """,
    "contraction": """
        addbmm addmm addmv addr baddbmm bmm dot ger inner matmul mm mv outer tensordot vdot
    """,
    "einsum": """
        einsum
    """,
    "view_copies": """
        alias_copy as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy
        slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
        unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
    """,
    "strided": """
        as_strided as_strided_scatter diagonal_scatter select_scatter slice_scatter
    """,
    "properties": """
        can_cast is_complex is_floating_point is_inference is_nonzero is_signed is_storage numel result_type typename
    """,
    "filling": """
        fill
    """,
    "creation": """
        complex empty empty_like empty_permuted empty_strided full full_like ones ones_like polar scalar_tensor zeros
        zeros_like
    """,
    "from_data": """
        as_tensor asarray from_numpy frombuffer tensor
    """,
    "ranges": """
        arange eye linspace logspace range tril_indices triu_indices
    """,
    "indexing": """
        masked_select
    """,
    "gathering": """
        gather index_add index_copy index_fill index_put index_reduce index_select put scatter scatter_add
        scatter_reduce take take_along_dim
    """,
    "masking": """
        masked_fill masked_scatter masked_select
    """,
    "sorting": """
        argsort bucketize kthvalue median mode msort nanmedian nanquantile quantile searchsorted sort topk
    """,
    "searching": """
        argwhere bincount histc histogram histogramdd nonzero nonzero_static unique unique_consecutive unravel_index
    """,
    "distances": """
        cdist renorm
    """,
    "linear_algebra": """
        chain_matmul cholesky cholesky_inverse cholesky_solve cross det dist inverse logdet lu lu_solve lu_unpack
        matrix_exp matrix_power norm orgqr pinverse qr slogdet svd trace triangular_solve vander
    """,
    "complex_numbers": """
        conj conj_physical imag is_conj is_neg real resolve_conj resolve_neg view_as_complex view_as_real
    """,
    "cumulative": """
        cummax cummin cumprod cumsum cumulative_trapezoid diff gradient logcumsumexp trapezoid trapz
    """,
    "sampling": """
        bernoulli get_rng_state multinomial normal poisson rand rand_like randint randint_like randn randn_like
        randperm set_rng_state
    """,
    "legacy": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
        ShortTensor set_default_tensor_type
    """,
}

METHODS = {
    "elementwise": """
        __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __ior__ __irshift__ __ixor__ __mod__ abs abs_ absolute
        absolute_ acos acos_ acosh acosh_ angle arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan
        arctan2 arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_
        bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or
        bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ ceil ceil_ copysign copysign_
        cos cos_ cosh cosh_ digamma digamma_ eq eq_ erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expm1
        expm1_ fix fix_ floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ gcd gcd_ ge ge_
        greater greater_ greater_equal greater_equal_ gt gt_ hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_
        isfinite isinf isnan isneginf isposinf lcm lcm_ le le_ less less_ less_equal less_equal_ lgamma lgamma_ log
        log10 log10_ log1p log1p_ log2 log2_ log_ logaddexp logaddexp2 logical_and logical_and_ logical_not
        logical_not_ logical_or logical_or_ logical_xor logical_xor_ lt lt_ maximum minimum mul mul_ multiply
        multiply_ ne ne_ neg neg_ negative negative_ nextafter nextafter_ not_equal not_equal_ reciprocal reciprocal_
        relu relu_ remainder remainder_ rsqrt rsqrt_ sgn sgn_ sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_
        sinh sinh_ sqrt sqrt_ tan tan_ tanh tanh_ trunc trunc_
    """,
    "arithmetic": """
        __iadd__ __idiv__ __ipow__ __isub__ __itruediv__ __rdiv__ add add_ addcdiv addcdiv_ addcmul addcmul_ deg2rad
        deg2rad_ div div_ divide divide_ float_power float_power_ frexp heaviside heaviside_ ldexp ldexp_ lerp lerp_
        logit logit_ mvlgamma mvlgamma_ polygamma polygamma_ positive pow pow_ rad2deg rad2deg_ round round_ square
        square_ sub sub_ subtract subtract_ true_divide true_divide_ xlogy xlogy_
    """,
    "choosing": """
        clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ nan_to_num nan_to_num_ where
    """,
    "comparing": """
        allclose equal is_same_size isclose isreal
    """,
    "reductions": """
        all any count_nonzero log_softmax logsumexp mean nanmean nansum prod softmax sum sum_to_size
    """,
    "moments": """
        corrcoef cov std var
    """,
    "extremes": """
        amax amin aminmax argmax argmin max min
    """,
    "shapes": """
        H T adjoint broadcast_to expand expand_as flatten mH mT moveaxis movedim permute ravel reshape reshape_as
        squeeze swapaxes swapdims t transpose unflatten unsqueeze view view_as
    """,
    "splitting": """
        chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split
        unsafe_split_with_sizes vsplit
    """,
    "arranging": """
        __reversed__ clone contiguous flip fliplr flipud repeat repeat_interleave roll rot90 tile
    """,
    "matrices": """
        diag diag_embed diagflat diagonal kron tril tril_ triu triu_
    """,
    "contraction": """
        __matmul__ __rmatmul__ addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ bmm dot ger inner
        matmul mm mv outer vdot
    """,
    "reshaping_in_place": """
        as_strided_ resize_ resize_as_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_
    """,
    "view_copies": """
        narrow_copy
    """,
    "strided": """
        as_strided as_strided_scatter diagonal_scatter select_scatter slice_scatter storage_offset unfold
    """,
    "properties": """
        const_data_ptr data_ptr dim dim_order element_size get_device is_complex is_contiguous is_cpu is_cuda
        is_floating_point is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_nonzero is_pinned is_quantized
        is_set_to is_shared is_signed is_sparse is_sparse_csr is_vulkan is_xla is_xpu name ndimension nelement numel
        size stride
    """,
    "converting": """
        bfloat16 bool byte cdouble cfloat char cpu cuda double float half int long pin_memory share_memory_ short to
        to_dense type type_as
    """,
    "filling": """
        apply_ copy_ fill_ fill_diagonal_ map2_ map_ set_ zero_
    """,
    "creation": """
        new_empty new_empty_strided new_full new_ones new_zeros
    """,
    "from_data": """
        new_tensor
    """,
    "indexing": """
        __getitem__ __setitem__ masked_select
    """,
    "gathering": """
        gather index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_reduce
        index_reduce_ index_select put put_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
        take take_along_dim
    """,
    "masking": """
        __getitem__ __setitem__ masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select
    """,
    "sorting": """
        argsort kthvalue median mode msort nanmedian nanquantile quantile sort topk
    """,
    "searching": """
        argwhere bincount histc histogram nonzero nonzero_static unique unique_consecutive
    """,
    "distances": """
        renorm renorm_
    """,
    "linear_algebra": """
        cholesky cholesky_inverse cholesky_solve cross det dist inverse logdet lu lu_solve matrix_exp matrix_power
        norm orgqr pinverse qr slogdet svd trace triangular_solve
    """,
    "complex_numbers": """
        conj conj_physical conj_physical_ imag is_conj is_neg real resolve_conj resolve_neg
    """,
    "cumulative": """
        cummax cummin cumprod cumprod_ cumsum cumsum_ diff logcumsumexp
    """,
    "sampling": """
        bernoulli multinomial
    """,
    "sampling_in_place": """
        bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_
    """,
    "legacy": """
        new
    """,
}

# The tensor's methods that PyTorch has as functions too.
METHOD_FUNCTIONS = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_ clamp_
    clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_
    frac_ gcd_ get_device i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
    reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
"""
