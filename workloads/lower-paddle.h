/* lower-paddle.h - parameters of the lowering `paddle`, and the tensors that PaddlePaddle's
 * executors treat specially.
 *
 * Flags have their names in Paddle; defaults that differ by era follow `version` or `preset`.  A
 * flag that has no effect in combination with the others is refused.  rules=documented follows the
 * manual instead: its defaults, its releases, its list of operators that do not work in place, its
 * groups of gradients, its share of the tensors.  Origin: paddle.md 1.1, 5-7.
 */
#pragma once

#include "base/paddle-versions.h"
#include "workloads/fuse-gradients.h"
#include "workloads/lower.h"

typedef struct
{
  GememLowerParams common;
  int preset; /* GememPaddleEra */
  /* 1 + GememPaddleVersion, which decides `preset`; 0: by preset.  After resolving
   * GememPaddleVersion or -1 */
  int version;
  int rules;         /* GememRules */
  gboolean cpu;      /* place; 0: gpu */
  gboolean parallel; /* executor; 0: plain */
  int allocator_strategy;
  double eager_delete_tensor_gb;
  gboolean fast_eager_deletion_mode;
  guint64 host_ahead;
  double fraction;
  gboolean eager_delete_scope;
  guint64 scope_delay; /* operators */
  double scope_cost;   /* percent */
  gboolean enable_inplace, enable_inplace_whitelist;
  int inplace_version;
  gboolean fuse_all_reduce_ops;
  int fuse_version;
  double fuse_parameter_memory_size;
  gint64 fuse_parameter_groups_size;
  guint64 places;
  gboolean init_allocated_mem, use_pinned_memory;
  gint64 limit_of_tmp_allocation;
  double times_excess;
  /* derived from the above */
  gint64 threshold;    /* bytes; -1: nothing is collected */
  guint64 unit, extra; /* reported sizes: multiples of `unit`, plus `extra` */
  int whitelist;       /* GEMEM_WHITELIST_* */
  gboolean temporary;  /* workspaces come from the temporary allocator */
} GememLowerPaddle;

extern const GememParam gemem_lower_paddle_params[];

/* Replaces values "by preset" and fills in the derived fields.  Errors: GEMEM_ERROR_USAGE. */
gboolean gemem_lower_paddle_resolve (GememLowerPaddle *params, GError **error);

/* The release whose rules of fusion hold; @params are resolved. */
GememFuseVersion gemem_lower_paddle_fuse_version (const GememLowerPaddle *params);

/* By slot, GEMEM_SLOT_*: tensors that are fed, fetched or used by several blocks live to the end of
 * the run; fused gradients lie in buffers, whose sizes are appended to @buffers (guint64).
 * @report (may be NULL): gets a text for each group of gradients (gemem_fusion_report()).
 * g_free().  Errors: GEMEM_ERROR_INPUT, GEMEM_ERROR_USAGE (fuse-gradients.h; no gradients). */
guint8 *gemem_lower_paddle_slots (const GememLowerPaddle *params, const GememGraph *graph,
                                  GArray *buffers, GPtrArray *report, GError **error);

/* ---- rewritten tensors keep their memory while it is large enough (1.3) */

typedef struct
{
  guint32 moment, storage; /* moment 0: the initial size */
  guint64 size;
} GememGrowth;

/* Where variables need more bytes than they have: GArray of GememGrowth, by moment. */
GArray *gemem_lower_paddle_growth (const GememLower *lower);
