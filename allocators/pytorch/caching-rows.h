/* caching-rows.h - rows of the tables of parameters that `pytorch-caching` and `torch-npu` both have.
 *
 * Why: torch_npu took PyTorch's settings over; a name, its bounds and what it is stored in are one
 * thing.  The texts differ, and so does what excludes what.
 *
 * Invariants: every row stores into CachingCommon, the first member of both structs.
 * Private to allocators/pytorch.
 */
#pragma once

#include "allocators/pytorch/caching.h"

/* The keys with which all strings of settings begin, in the order of both tables. */
#define CACHING_CONF_KEYS \
  "max_split_size_mb|max_non_split_rounding_mb|large_segment_size_mb|" \
  "garbage_collection_threshold|roundup_power2_divisions|expandable_segments|"

#define CACHING_FIELD(field) .offset = G_STRUCT_OFFSET (CachingCommon, field)

#define CACHING_MAX_SPLIT_ROW(text) \
  { \
    .name = "max_split_size_mb", .type = GEMEM_PARAM_SIZE, .default_text = "unlimited", \
    .sweep = "unlimited|20|32|64|128|256|512|1024", .min = "20", .unit = "MiB", \
    .special = "unlimited=18446744073709551615", CACHING_FIELD (max_split_size), .help = text \
  }
#define CACHING_ROUNDING_ROW(text) \
  { \
    .name = "max_non_split_rounding_mb", .type = GEMEM_PARAM_SIZE, .default_text = "segment", \
    .sweep = "20|32|64|128|256", .max = "1TiB", .unit = "MiB", .special = "segment=0", \
    CACHING_FIELD (max_non_split_rounding), .help = text \
  }
#define CACHING_LARGE_ROW(least, values, text) \
  { \
    .name = "large_segment_size_mb", .type = GEMEM_PARAM_SIZE, .default_text = "20", \
    .sweep = values, .min = least, .max = "1TiB", .unit = "MiB", \
    CACHING_FIELD (large_segment_size), .help = text \
  }
#define CACHING_THRESHOLD_ROW(text) \
  { \
    .name = "garbage_collection_threshold", .type = GEMEM_PARAM_DOUBLE, .default_text = "0", \
    .sweep = "0|0.5|0.6|0.7|0.8|0.9", .min = "0", .max = "1", \
    CACHING_FIELD (garbage_collection_threshold), .help = text \
  }
#define CACHING_DIVISIONS_ROW(text) \
  { \
    .name = "roundup_power2_divisions", .type = GEMEM_PARAM_STRING, .default_text = "0", \
    .sweep = "0|1|2|4|8|16", CACHING_FIELD (divisions), .help = text \
  }
#define CACHING_FRACTION_ROW(excluded, text) \
  { \
    .name = "per_process_memory_fraction", .type = GEMEM_PARAM_DOUBLE, \
    .flags = GEMEM_PARAM_CALLED, .default_text = "1", .min = "0", .max = "1", \
    .conflicts = excluded, CACHING_FIELD (memory_fraction), .help = text \
  }
#define CACHING_LIMIT_ROW(excluded, text) \
  { \
    .name = "memory_limit", .type = GEMEM_PARAM_SIZE, .flags = GEMEM_PARAM_MEMORY, \
    .default_text = "none", .aliases = "limit", .special = "none=18446744073709551615", \
    .conflicts = excluded, CACHING_FIELD (memory_limit), .help = text \
  }
#define CACHING_TOTAL_ROW(text) \
  { \
    .name = "total", .type = GEMEM_PARAM_SIZE, .flags = GEMEM_PARAM_MEMORY, \
    .default_text = "device", .special = "device=0", CACHING_FIELD (total), .help = text \
  }
#define CACHING_BOOL_ROW(key, field, text) \
  { \
    .name = key, .type = GEMEM_PARAM_BOOL, .default_text = "no", CACHING_FIELD (field), \
    .help = text \
  }
#define CACHING_CONF_ROW(key, field, variables, excluded, text) \
  { \
    .name = key, .type = GEMEM_PARAM_STRING, .aliases = variables, \
    .choices = "max_split_size_mb:128", .conflicts = excluded, CACHING_FIELD (field), .help = text \
  }
