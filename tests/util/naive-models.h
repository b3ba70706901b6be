/* naive-models.h - the models by name, for the list in naive.c. */
#pragma once

#include "tests/util/naive.h"

extern const NaiveClass naive_direct;
extern const NaiveClass naive_caching; /* naive-caching.c */
extern const NaiveClass naive_caching_2_12;
extern const NaiveClass naive_caching_2_11;
extern const NaiveClass naive_expandable; /* naive-expandable.c */
extern const NaiveClass naive_expandable_faulty;
extern const NaiveClass naive_npu; /* naive-npu.c */
extern const NaiveClass naive_npu_unpadded;
extern const NaiveClass naive_npu_rejecting;
extern const NaiveClass naive_npu_lazy;
extern const NaiveClass naive_npu_slow;
extern const NaiveClass naive_npu_ranges;
extern const NaiveClass naive_npu_faulty;
extern const NaiveClass naive_npu_kept;
extern const NaiveClass naive_npu_kept_faulty;
extern const NaiveClass naive_npu_huge;
extern const NaiveClass naive_bfc; /* naive-bfc.c */
extern const NaiveClass naive_bfc_faulty;
extern const NaiveClass naive_bfc_limited;
extern const NaiveClass naive_bfc_kept;
extern const NaiveClass naive_bfc_strict;
extern const NaiveClass naive_ort;
extern const NaiveClass naive_ort_faulty;
extern const NaiveClass naive_ort_exact;
extern const NaiveClass naive_rmm; /* naive-rmm.c */
extern const NaiveClass naive_rmm_faulty;
extern const NaiveClass naive_rmm_initial;
extern const NaiveClass naive_rmm_limited;
extern const NaiveClass naive_rmm_old;
extern const NaiveClass naive_rmm_arena; /* naive-rmm-arena.c */
extern const NaiveClass naive_rmm_arena_small;
extern const NaiveClass naive_rmm_arena_faulty;
extern const NaiveClass naive_rmm_arena_classes;
extern const NaiveClass naive_rmm_fixed; /* naive-rmm-fixed.c */
extern const NaiveClass naive_rmm_fixed_faulty;
extern const NaiveClass naive_rmm_binning;
extern const NaiveClass naive_rmm_binning_faulty;
extern const NaiveClass naive_rmm_limiting_pool; /* naive-rmm-limiting.c */
extern const NaiveClass naive_pinned;            /* naive-pinned.c */
extern const NaiveClass naive_pinned_late;
extern const NaiveClass naive_pinned_exact;
extern const NaiveClass naive_pinned_reserving;
extern const NaiveClass naive_cupy; /* naive-cupy.c */
extern const NaiveClass naive_cupy_faulty;
extern const NaiveClass naive_cupy_limited;
extern const NaiveClass naive_quick; /* naive-umpire.c */
extern const NaiveClass naive_quick_faulty;
extern const NaiveClass naive_quick_half;
extern const NaiveClass naive_quick_blocks;
extern const NaiveClass naive_quick_one_block;
extern const NaiveClass naive_list;
extern const NaiveClass naive_list_faulty;
extern const NaiveClass naive_list_half;
extern const NaiveClass naive_list_blocks;
extern const NaiveClass naive_cuda; /* naive-cuda.c */
extern const NaiveClass naive_cuda_slow;
extern const NaiveClass naive_cuda_faulty;
extern const NaiveClass naive_cuda_kept;
extern const NaiveClass naive_cuda_ordered;
extern const NaiveClass naive_cuda_strict;
extern const NaiveClass naive_cuda_rmm;
extern const NaiveClass naive_gmlake; /* naive-gmlake.c */
extern const NaiveClass naive_gmlake_slow;
extern const NaiveClass naive_gmlake_faulty;
extern const NaiveClass naive_gmlake_paper;
extern const NaiveClass naive_gmlake_extending;
extern const NaiveClass naive_gmlake_strict;
extern const NaiveClass naive_gmlake_plain;
extern const NaiveClass naive_buddy_default; /* naive-buddy.c */
extern const NaiveClass naive_buddy_fixed;
extern const NaiveClass naive_buddy_initial;
extern const NaiveClass naive_buddy_ragged;
extern const NaiveClass naive_buddy_idle;
extern const NaiveClass naive_buddy_idle_ragged;
extern const NaiveClass naive_buddy_p13;
extern const NaiveClass naive_buddy_p14;
extern const NaiveClass naive_buddy_cpu;
extern const NaiveClass naive_buddy_cpu_ragged;
extern const NaiveClass naive_buddy_pinned;
extern const NaiveClass naive_threads_stream;
extern const NaiveClass naive_threads_pool;
extern const NaiveClass naive_best_fit_odd; /* naive-best-fit.c */
extern const NaiveClass naive_best_fit_initial;
extern const NaiveClass naive_growth_plain; /* naive-growth.c */
extern const NaiveClass naive_growth_chunk;
extern const NaiveClass naive_growth_idle;
extern const NaiveClass naive_growth_before;
extern const NaiveClass naive_growth_p16;
extern const NaiveClass naive_growth_2_2;
extern const NaiveClass naive_growth_slow;
extern const NaiveClass naive_growth_slow_idle;
extern const NaiveClass naive_growth_pools;
extern const NaiveClass naive_growth_pools_filled;
extern const NaiveClass naive_growth_v2;
extern const NaiveClass naive_vmm; /* naive-vmm.c */
extern const NaiveClass naive_vmm_slow;
extern const NaiveClass naive_vmm_bare;
extern const NaiveClass naive_vmm_limited;
extern const NaiveClass naive_vmm_aligned;
extern const NaiveClass naive_vmm_faulty;
extern const NaiveClass naive_ge_rdma; /* naive-ge-blocks.c */
extern const NaiveClass naive_ge_bins;
extern const NaiveClass naive_ge_bins_padded;
extern const NaiveClass naive_ge_bins_bare;
extern const NaiveClass naive_ge_scalable; /* naive-ge.c */
extern const NaiveClass naive_ge_models;
extern const NaiveClass naive_ge_models_faulty;
extern const NaiveClass naive_ge_expandable;
extern const NaiveClass naive_ge_expandable_plain;
extern const NaiveClass naive_ge_expandable_faulty;
extern const NaiveClass naive_ge_expandable_poor;
extern const NaiveClass naive_ge_documented; /* naive-ge-active.c */
extern const NaiveClass naive_ge_as_built;
extern const NaiveClass naive_ge_as_built_faulty;
extern const NaiveClass naive_ge_policy4;
extern const NaiveClass naive_ge_policy4_plain;
extern const NaiveClass naive_ge_policy4_faulty;
extern const NaiveClass naive_ge_policy4_poor;
extern const NaiveClass naive_ge_whole_0; /* naive-ge-whole.c */
extern const NaiveClass naive_ge_whole_0_faulty;
extern const NaiveClass naive_ge_whole_actual;
extern const NaiveClass naive_ge_whole_actual_faulty;
extern const NaiveClass naive_ge_whole_1;
extern const NaiveClass naive_ge_whole_1_faulty;
extern const NaiveClass naive_ge_whole_2;
extern const NaiveClass naive_ge_whole_2_faulty;
extern const NaiveClass naive_ge_whole_3;
extern const NaiveClass naive_ge_whole_3_faulty;
extern const NaiveClass naive_ge_whole_4;
extern const NaiveClass naive_ge_whole_4_faulty;
extern const NaiveClass naive_ge_whole_both;
extern const NaiveClass naive_ge_whole_strict;
extern const NaiveClass naive_ge_whole_external;
extern const NaiveClass naive_ge_whole_addr_fixed;
extern const NaiveClass naive_ge_fixed_base;
extern const NaiveClass naive_ge_fixed_base_large;
extern const NaiveClass naive_ge_fixed_base_plain;
extern const NaiveClass naive_ge_fixed_base_faulty;
extern const NaiveClass naive_ge_streams; /* naive-ge-streams.c */
extern const NaiveClass naive_ge_streams_faulty;
