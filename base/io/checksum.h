/* checksum.h - the 64-bit checksum of the native trace format: XXH64 as its author's published
 * description defines it.
 *
 * Why XXH64: it is documented, detects every single-byte change, runs at memory speed in plain C,
 * and other programs can compute it.  It guards against accidents, not against an adversary.
 */
#pragma once

#include <glib.h>

/* XXH64 of @size bytes at @data under @seed; O(size), the same on every machine. */
guint64 gemem_checksum (gconstpointer data, gsize size, guint64 seed);
