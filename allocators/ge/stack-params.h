/* stack-params.h - the settings of GE's stacks of pools: ScalableConfig (ge-runtime.md 1.1) and the
 * device it is derived from.
 *
 * Why a macro: every class of the stack has these rows, and some of its own.
 */
#pragma once

#include "base/named.h"

typedef struct
{
  int stack;          /* GE_STACK_* */
  guint64 fixed_size; /* read if GE_STACK_FIXED */
  int pools;          /* GE_POOLS_* */
  guint64 total;
  char *memory_pool_threshold;
  guint64 page_idem_num;
  guint64 huge_page_mem_size;
  guint64 page_mem_size_total_threshold;
  guint64 span_layer_lift_max;
  gboolean enable_quick_layer_mode;
  gboolean single_thread;
  /* without effect in the real system, and here */
  guint64 span_prepared_count, span_layer_prepared_count, span_count_in_layer_threshold;
  guint64 uncacheable_size_threshold, page_mem_size_in_layer_threshold, unsplitable_size_threshold;
} GeStackParams;

#define FIELD(field) .offset = G_STRUCT_OFFSET (GeStackParams, field)
#define NO_EFFECT " Has no effect: the real system does not use it when it places memory."

enum
{
  GE_POOLS_PER_STREAM,
  GE_POOLS_PER_POOL_AND_STREAM,
};

/* For classes whose streams have L1 pools; the others leave the field 0. */
#define GE_STACK_POOLS_ROW \
  { \
    .name = "pools", .type = GEMEM_PARAM_CHOICE, .default_text = "per-stream", \
    .choices = "per-stream|per-pool-and-stream", FIELD (pools), \
    .help = "What has an L1 pool of its own: each stream, or each stream of each pool of the " \
            "trace, which then stands for a model." \
  }

#define GE_STACK_PARAM_ROWS \
  { .name = "total", \
    .type = GEMEM_PARAM_SIZE, \
    .flags = GEMEM_PARAM_MEMORY, \
    .default_text = "0", \
    FIELD (total), \
    .help = "Device memory as the driver reports it, from which the threshold is derived (95 %); " \
            "0 asks the device." }, \
      { .name = "memory_pool_threshold", \
        .type = GEMEM_PARAM_STRING, \
        .aliases = "ge.experiment.memory_pool_threshold", \
        FIELD (memory_pool_threshold), \
        .help = "Threshold in GiB; refused, with the statistic memory_pool_threshold_refused set " \
                "to 1, unless it is a whole number above 0 that " \
                "does not exceed the derived threshold." }, \
      { .name = "page_mem_size_total_threshold", \
        .type = GEMEM_PARAM_SIZE, \
        .flags = GEMEM_PARAM_MEMORY, \
        .default_text = "0", \
        .conflicts = "memory_pool_threshold", \
        FIELD (page_mem_size_total_threshold), \
        .help = "Largest request, and soft limit of what a pool takes from below; 0 derives it " \
                "from the device's memory." }, \
      { .name = "page_idem_num", \
        .type = GEMEM_PARAM_UINT, \
        .default_text = "16", \
        .sweep = "16|17|18|20|21", \
        .min = "16", \
        .max = "26", \
        FIELD (page_idem_num), \
        .help = "Page size as a power of two: 16 is 64 KiB." }, \
      { .name = "huge_page_mem_size", \
        .type = GEMEM_PARAM_SIZE, \
        .flags = GEMEM_PARAM_MEMORY, \
        .default_text = "2MiB", \
        .sweep = "2MiB|8MiB|32MiB|128MiB|512MiB|1GiB", \
        .max = "64GiB", \
        FIELD (huge_page_mem_size), \
        .help = "Smallest block the bottom pool takes from the device; a multiple of the page " \
                "size." }, \
      { .name = "span_layer_lift_max", \
        .type = GEMEM_PARAM_UINT, \
        .default_text = "4294967295", \
        .sweep = "0|1|16|256|4294967295", \
        .max = "4294967295", \
        FIELD (span_layer_lift_max), \
        .help = "0 forbids cutting; other values limit, without quick layers, how many longer " \
                "layers are looked at." }, \
      { .name = "enable_quick_layer_mode", \
        .type = GEMEM_PARAM_BOOL, \
        .default_text = "yes", \
        FIELD (enable_quick_layer_mode), \
        .help = "Search only layers that hold a span (Quick table); no walks every layer ever " \
                "used (Seq table)." }, \
      { .name = "single_thread", \
        .type = GEMEM_PARAM_BOOL, \
        .default_text = "no", \
        FIELD (single_thread), \
        .help = \
            "Guard of a pool that does not lock: it belongs to the thread that uses it first, " \
            "and a call of another thread is refused; the bottom pool, which locks, serves " \
            "all." }, \
      { .name = "span_prepared_count", \
        .type = GEMEM_PARAM_UINT, \
        .default_text = "10240", \
        FIELD (span_prepared_count), \
        .help = "Host objects made in advance." NO_EFFECT }, \
      { .name = "span_layer_prepared_count", \
        .type = GEMEM_PARAM_UINT, \
        .default_text = "4096", \
        FIELD (span_layer_prepared_count), \
        .help = "Host objects made in advance." NO_EFFECT }, \
      { .name = "span_count_in_layer_threshold", \
        .type = GEMEM_PARAM_UINT, \
        .default_text = "10240", \
        FIELD (span_count_in_layer_threshold), \
        .help = "Printed as the capacity of a layer." NO_EFFECT }, \
      { .name = "uncacheable_size_threshold", \
        .type = GEMEM_PARAM_SIZE, \
        .default_text = "0", \
        FIELD (uncacheable_size_threshold), \
        .help = "Printed capacity is 0 above it; 0: 16 GiB, 32 GiB where the device has more " \
                "than that." NO_EFFECT }, \
      { .name = "page_mem_size_in_layer_threshold", \
        .type = GEMEM_PARAM_SIZE, \
        .default_text = "8GiB", \
        FIELD (page_mem_size_in_layer_threshold), \
        .help = "Named as a limit of one layer." NO_EFFECT }, \
  { \
    .name = "unsplitable_size_threshold", .type = GEMEM_PARAM_SIZE, .default_text = "16GiB", \
    FIELD (unsplitable_size_threshold), .help = "Named as a limit of splitting." NO_EFFECT \
  }
