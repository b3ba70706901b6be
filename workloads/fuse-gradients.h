/* fuse-gradients.h - which gradients PaddlePaddle puts into one buffer (alloc_continuous_space,
 * coalesce_grad_tensor), and where.
 *
 * Fused gradients live as long as their buffer, and each is padded: memory is spent so that one
 * all-reduce or one optimizer operator can process several.  Gradients come from a graph
 * (op_role_var of its backward operators) or from a list.  They are grouped by layer, the part of
 * the parameter's name before the first ".", and layers are merged by size and by count; the three
 * versions differ, see GememFuseVersion.  The manual's groups are none of theirs: `documented`.
 *
 * Invariants of a fusion: every dense gradient is a member exactly once; offsets in a buffer are
 * multiples of the alignment, ascend, and do not overlap; a buffer has one element type.  All
 * numbers are integers but `memory_size`, which is a double in PaddlePaddle too.  Cost: O(n)
 * expected, O(n log n) for 1.6 with memory_size 0.  Origin: paddle.md 6 and E20.
 */
#pragma once

#include "graphs/graph.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *param, *grad;
  guint64 elements;    /* of the gradient; 0 where it is sparse */
  guint64 param_bytes; /* of the parameter, used by 1.4 and 1.5; 0: as the gradient */
  GememDtype dtype;    /* of the gradient */
  guint8 sparse;       /* not a LoDTensor: 1.6 always leaves it out, 1.4 and 1.5 refuse it */
} GememGradient;

typedef enum
{
  /* layers merged to memory_size, then groups merged by groups_size; padded by elements; groups
   * laid out in reverse order */
  GEMEM_FUSE_1_4,
  /* layers merged until memory_size or more than groups_size parameters; padded by bytes; reverse
   * order */
  GEMEM_FUSE_1_5,
  /* as 1.5, by the bytes of gradients, and only with several places; split by element type; forward
   * order */
  GEMEM_FUSE_1_6,
} GememFuseVersion;

typedef struct
{
  GememFuseVersion version;
  double memory_size; /* FLAGS_fuse_parameter_memory_size: bytes in 1.4, else MiB */
  /* FLAGS_fuse_parameter_groups_size: in 1.4 groups (-1: all), else parameters */
  gint64 groups_size;
  gboolean gpu; /* the place; FALSE: cpu */
  guint n_places;
  /* groups as the manual has them, in place of the version's: layers do not count, a group has
   * groups_size gradients (-1: all) and at most memory_size MiB of them (negative: no limit), one
   * gradient at least; forward order */
  gboolean documented;
} GememFuseOptions;

typedef struct
{
  guint gradient; /* number in the input list */
  guint group;    /* 0, 1... in the order of grouping */
  guint buffer;
  guint64 offset; /* elements, in the buffer */
} GememFuseMember;

typedef struct
{
  GememDtype dtype;
  guint64 elements, bytes; /* with padding, also after the last member */
} GememFuseBuffer;

typedef struct
{
  guint n;           /* gradients */
  guint64 bytes;     /* of the gradients */
  guint64 padded;    /* of the gradients, with padding */
  guint first, last; /* numbers in the input list of the first and the last */
} GememFuseGroup;

typedef struct
{
  GArray *members; /* GememFuseMember, in memory order: by buffer, then by offset */
  GArray *buffers; /* GememFuseBuffer, each one allocation */
  /* guint: gradients not fused: sparse ones, or all when 1.6 runs on one place */
  GArray *left_out;
  GArray *groups; /* GememFuseGroup, in the order of grouping */
} GememFusion;

/* The defaults of the version's flags, on a GPU, with one place before 1.6 and two from 1.6 on. */
GememFuseOptions gemem_fuse_options_default (GememFuseVersion version);
/* Turns @options into the manual's: its groups, and its defaults of the two flags (-1 and 3). */
void gemem_fuse_options_document (GememFuseOptions *options);

/* The gradients of @graph in its order, each once: from pairs of op_role_var of nodes whose role
 * has GEMEM_ROLE_BACKWARD.  Names belong to @graph.  GArray of GememGradient, may be empty.
 * GEMEM_ERROR_INPUT if a list is not of pairs, or a dense gradient has no shape.  O(nodes +
 * pairs). */
GArray *gemem_fuse_collect (const GememGraph *graph, GError **error);

/* Groups and places @n gradients.  Errors: GEMEM_ERROR_USAGE for options that the version does not
 * support, GEMEM_ERROR_INPUT for gradients that it cannot fuse or that exceed 62 bits.  Free with
 * gemem_fusion_free(). */
GememFusion *gemem_fuse_gradients (const GememGradient *gradients, guint n,
                                   const GememFuseOptions *options, GError **error);

/* Adds texts "key: value" to @report (char *, which it frees): how many gradients are in how many
 * groups and buffers, then a line for each group with its parameters and bytes.  @gradients: those
 * that were fused. */
void gemem_fusion_report (const GememFusion *fusion, const GememGradient *gradients,
                          GPtrArray *report);

void gemem_fusion_free (GememFusion *fusion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememFusion, gemem_fusion_free)

GEMEM_END_DECLS
