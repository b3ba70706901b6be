/* version.h - infers the version of PyTorch that wrote a snapshot from the keys in it.
 *
 * A snapshot does not name its version.  Versions introduced keys, so the presence of a key bounds
 * the version from below and its absence from above.  Origin: snapshots of 2.1.2, 2.2.2, 2.3.1,
 * 2.4.1, 2.5.1, 2.6.0, 2.7.1, 2.8.0, 2.9.1, 2.10.0, 2.11.0, 2.12.0, 2.12.1, 2.13.0, 2.14.1 and
 * 2.15.0, made from the published wheels.
 */
#pragma once

#include "base/macros.h"

GEMEM_BEGIN_DECLS

/* Detectable features, each with the version that introduced it. */
typedef enum
{
  GEMEM_PYTORCH_HAS_BLOCK_ADDRESS,   /* 2.1 */
  GEMEM_PYTORCH_HAS_TIME,            /* 2.2 */
  GEMEM_PYTORCH_HAS_SETTINGS,        /* 2.3 */
  GEMEM_PYTORCH_HAS_ANNOTATIONS,     /* 2.5 */
  GEMEM_PYTORCH_HAS_COMPILE_CONTEXT, /* 2.8 */
  GEMEM_PYTORCH_HAS_GRAPH_REUSE,     /* 2.9 */
  GEMEM_PYTORCH_HAS_USER_METADATA,   /* 2.10 */
  GEMEM_PYTORCH_HAS_LARGE_SEGMENT,   /* 2.11; an optional setting */
  GEMEM_PYTORCH_HAS_POOL_ID,         /* 2.12 */
  GEMEM_PYTORCH_HAS_MAX_CACHED_SIZE, /* 2.13 */
  GEMEM_PYTORCH_HAS_HOST_TRACES,     /* 2.14 */
  GEMEM_PYTORCH_FEATURES
} GememPytorchFeature;

/* "2.10 or 2.11 (inferred: events have user_metadata, but no pool_id)" from the features seen and
 * the features that could have been seen, as bits 1 << GEMEM_PYTORCH_HAS_...; g_free(). */
char *gemem_pytorch_version_infer (guint seen, guint possible);

/* The newest version 2.N that the features allow: N; 0: nothing tells. */
guint gemem_pytorch_version_newest (guint seen, guint possible);

/* TRUE for "2.11" and "2.11.0", the form of --version-of-torch. */
gboolean gemem_pytorch_version_is_valid (const char *text);
/* N of the version 2.N that valid @text names; of an older one 0, of one newer than those known the
 * newest. */
guint gemem_pytorch_version_parse (const char *text);

GEMEM_END_DECLS
