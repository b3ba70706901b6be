"""known_operators.py - the operators of PyTorch that known.py knows, by the names of PyTorch's dispatcher; with each goes the one that works in place.

Why: one list.  An operator that is named here is seen and computed on the host by PyTorch's own of that name; one that reads a size has a function before_NAME as well (known_reads.py, known_sparse.py).

Invariants: an operator that is named in OPERATORS writes no more than its result, or one of its arguments.
"""
FACTORIES = "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange scalar_tensor eye linspace tril_indices triu_indices fill zero"
LIKE = "zeros_like ones_like full_like new_zeros new_ones new_full".split()  # whatever the numbers of their first argument are
MOVES = "_to_copy copy clone"
RANDOM = "rand randn randint rand_like randint_like randn_like uniform normal random".split()  # uniform_(), ...
DRAWN = "randperm multinomial bernoulli exponential geometric log_normal cauchy poisson binomial native_dropout".split()  # what these give is assumed
COUNTED = "randperm multinomial bernoulli geometric poisson binomial native_dropout".split()  # of these, what gives integers, whatever their type
UNDEFINED = "empty empty_like new_empty empty_strided".split()
CLEARED = "zeros zeros_like new_zeros zero fill".split()
COPIES = "clone copy".split()  # with these operators begin that work on a copy of real numbers (linalg.cholesky)
FINITE = ("isnan", "isinf", "eq", "ne")  # what isnan() and isfinite() are made of
OF_TRUTHS = "add to_copy clone all any mul logical_and logical_or logical_not bitwise_and bitwise_or bitwise_not".split()  # say no more of truth values than these do
COMPOSED = ("matrix_exp",)  # made of operators that are named: what they clear they mean to be zero
BOOLEAN = "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isin bitwise_and bitwise_or bitwise_xor bitwise_not"
POINTWISE = "add sub rsub mul div remainder fmod floor_divide neg abs sign clamp clamp_min clamp_max maximum minimum where masked_fill floor ceil round trunc pow sqrt exp exp2 log log2"
MORE = "aminmax signbit sgn copysign lerp addcmul addcdiv heaviside nan_to_num nansum frac hypot atan2 nonzero_static put index_reduce select_scatter slice_scatter diagonal_scatter"
IMAGES = "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d max_pool2d_with_indices reflection_pad2d replication_pad2d"
SHIFTS = "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ gcd lcm square"
REDUCED = "sum any all max min amax amin argmax argmin cumsum cumprod cummax cummin count_nonzero mean prod trace logspace linspace kthvalue median mode std var std_mean var_mean"
NORMS = "linalg_vector_norm norm renorm linalg_cross logcumsumexp logaddexp logaddexp2"
ORDERED = "sort argsort topk searchsorted bucketize _softmax sigmoid softplus tanh relu sin cos rsqrt reciprocal erf log1p expm1"
MOVED = "cat stack gather scatter scatter_add scatter_reduce index_select index_add index_copy index_fill fill_diagonal tril triu flip roll repeat take constant_pad_nd"
CUTS = "block_diag im2col col2im channel_shuffle pixel_shuffle pixel_unshuffle rot90 diag_embed as_strided_scatter segment_reduce nanmedian fmax fmin frexp complex polar"
POOLS = "avg_pool2d avg_pool3d adaptive_max_pool2d adaptive_max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d reflection_pad1d reflection_pad3d replication_pad1d replication_pad3d"
CURVES = "acos asin atan sinh cosh tan asinh acosh atanh log10 logit xlogy logsumexp erfc rad2deg deg2rad ldexp isneginf isposinf threshold _is_all_true _is_any_true"
PRODUCTS = "mm bmm mv dot vdot addr baddbmm addbmm addmv _cdist_forward _euclidean_dist".split()  # of numbers that are all known, if they are few
SIZED = "nonzero index index_put _index_put_impl _unsafe_index masked_select masked_scatter _unique _unique2 unique_dim unique_consecutive bincount repeat_interleave _coalesce histc"
SPARSE = "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _sparse_mm _sparse_sparse_matmul _to_dense _sparse_softmax _sparse_log_softmax _sparse_sum"
STRUCTURED = "_coalesce _sparse_mm _sparse_sparse_matmul mm cat stack add _to_dense _sparse_softmax _sparse_log_softmax _sparse_sum".split()  # of sparse matrices, which are no others inside
DENSE = ("_to_dense", "_sparse_sum")  # of them whose result may be none of these
SOFTMAX = "_sparse_softmax_backward_data _sparse_log_softmax_backward_data".split()
OF_SPARSE = "add index_select".split()  # read sizes of sparse tensors alone
READS = "_local_scalar_dense equal embedding sparse_compressed_tensor _nested_tensor_from_mask_left_aligned"
OPERATORS = " ".join((FACTORIES, MOVES, BOOLEAN, POINTWISE, MORE, IMAGES, SHIFTS, REDUCED, NORMS, ORDERED, MOVED, CUTS, POOLS, CURVES, SIZED, SPARSE, READS)).split() + RANDOM + DRAWN + UNDEFINED + PRODUCTS + SOFTMAX
OF_OTHERS = ("torchvision::nms",)  # operators of other packages that read a size
ALIASES = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div"}  # that take numbers for tensors, as those that they stand for do
VALUED = ("addcmul", "addcdiv")
SELECT = ["nonzero", "_unique", "_unique2", "unique_dim", "unique_consecutive", "bincount", "_coalesce", "_sparse_sparse_matmul", "_local_scalar_dense", *SOFTMAX]
VIEWS = "detach_ requires_grad_ squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_ rename_ _coalesced_ resize_ resize_as_ set_".split()  # write no element
KEY, BACKWARD_KEY = "TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericWrapper"  # of PyTorch's dispatcher, which nothing else uses
