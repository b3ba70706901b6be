/* dtype.h - element types of tensors, by the names that frameworks write.
 *
 * One table (dtype.c): name, aliases, bits.  The numbers are not stored in any file.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef guint8 GememDtype; /* row of the table in dtype.c; 0: not known */

#define GEMEM_DTYPE_UNKNOWN 0

/* By name or alias ("float32", "DT_FLOAT", "FP32", "torch.float32"...); GEMEM_DTYPE_UNKNOWN if
 * there is none. */
GememDtype gemem_dtype_find (const char *name);
const char *gemem_dtype_name (GememDtype dtype); /* "" for unknown */
guint gemem_dtype_bits (GememDtype dtype);       /* 0 for unknown and for strings */
/* Names, NULL-terminated, for messages and documentation. */
const char *const *gemem_dtype_names (void);
/* Bytes of @n dimensions of @dtype; FALSE if it does not fit in 63 bits.  A negative
 * dimension counts without its sign: -1 (unknown) as 1, -12 (an unknown one times 12,
 * paddle.md 13.2) as 12. */
gboolean gemem_dtype_bytes (GememDtype dtype, const gint64 *dims, guint n, guint64 *bytes);

GEMEM_END_DECLS
