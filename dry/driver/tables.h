/* tables.h - tables of unnamed functions that NVIDIA's own libraries ask the driver and the runtime for.
 *
 * No header tells of them.  Known are the few that cuBLASLt and cuFFT call: of each the place in the table and, by trying
 * what is enough for their heuristics and plans, what it does.
 *
 * Invariant: every entry may be called, as a library looks into each table that it is given.
 */
#pragma once

#include "dry/driver/api.h"
#include <glib.h>

/* The table with this @id, a size in bytes and functions; NULL: it is not known.  O(1), from any thread. */
const void *gemem_driver_table (const CUuuid *id);
/* A table whose functions all say that they are not supported. */
const void *gemem_driver_empty_table (void);
