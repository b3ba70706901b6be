/* naive-models.h - the models by name, for the list in naive.c. */
#pragma once

#include "tests/util/naive.h"

extern const NaiveClass naive_direct;
extern const NaiveClass naive_caching;       /* naive-caching.c */
extern const NaiveClass naive_buddy_default; /* naive-buddy.c   */
extern const NaiveClass naive_buddy_fixed;
extern const NaiveClass naive_buddy_initial;
extern const NaiveClass naive_best_fit_odd;  /* naive-best-fit.c */
extern const NaiveClass naive_best_fit_initial;
extern const NaiveClass naive_growth_plain;  /* naive-growth.c  */
extern const NaiveClass naive_growth_chunk;
extern const NaiveClass naive_growth_idle;
extern const NaiveClass naive_growth_before;
extern const NaiveClass naive_growth_p16;
extern const NaiveClass naive_ge_rdma;       /* naive-ge-blocks.c */
extern const NaiveClass naive_ge_bins;
extern const NaiveClass naive_ge_bins_padded;
extern const NaiveClass naive_ge_bins_bare;
