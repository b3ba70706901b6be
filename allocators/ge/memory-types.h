/* memory-types.h - which kind of GE's memory a pool of a trace stands for:
 * "[1=p2p,2=host,3=variable]"; pools that are not named are HBM.
 *
 * Origin: ge-runtime.md 7.2, 8.
 */
#pragma once

#include "base/error.h"

typedef enum
{
  GE_MEMORY_HBM,
  GE_MEMORY_P2P,
  GE_MEMORY_HOST,
  GE_MEMORY_VARIABLE,
  GE_MEMORY_WEIGHT,
  GE_MEMORY_RDMA,
  GE_MEMORY_TYPES
} GeMemoryType;

typedef struct
{
  guint32 pool;
  GeMemoryType type;
} GePoolType;

/* GArray of GePoolType; NULL or empty text: none.  @what stands in front of messages.
 * GEMEM_ERROR_USAGE. */
GArray *gemem_ge_memory_types_parse (const char *text, const char *what, GError **error);
/* O(types). */
GeMemoryType gemem_ge_memory_type_of (const GArray *types, guint32 pool);
gboolean gemem_ge_memory_types_have (const GArray *types, GeMemoryType type);
/* "hbm", "p2p", ... */
const char *gemem_ge_memory_type_name (GeMemoryType type);

/* GArray of guint64, sorted: "[3,7]"; NULL or empty text: none.  @name is the parameter's. */
GArray *gemem_ge_ids_parse (const char *text, const char *name, const char *what, GError **error);
gboolean gemem_ge_ids_have (const GArray *ids, guint64 id);
