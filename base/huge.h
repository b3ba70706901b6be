/* huge.h - zeroed host memory for tables with random access: large tables use huge pages if the
 * system supports them.
 *
 * Why: the TLB does not cover all small pages of a table of more than some megabytes, and each
 * access pays for a page walk too; with pages of 2 MiB an access to 300 MB costs as much as one to
 * 4 MB (measured: 183 ns instead of 299).  Results do not change.
 */
#pragma once

#include <glib.h>

#define GEMEM_HUGE_PAGE ((gsize) 1 << 21)

/* @bytes > 0 of zeroes, aligned to 64 bytes at least; ends the program if the host is out of
 * memory, as g_malloc() does.  Release with free(). */
gpointer gemem_huge_alloc0 (gsize bytes);
