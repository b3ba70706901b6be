/* no-memory.h - a program that ends with a line where the host has no memory left. */
#pragma once

#include <glib.h>

/* From here on, what GLib could not get ends the program by gemem_end_without_memory(); a small
 * block that nobody can do without does so from the start. */
void gemem_catch_no_memory (void);
/* What each program has for itself: writes one line that has @what, @length bytes without an end,
 * removes what is half written, and ends the program.  Allocates nothing. */
G_NORETURN void gemem_end_without_memory (const char *what, gsize length);
