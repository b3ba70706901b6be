/* parallel.h - calls a function for many numbers on several threads. */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* Calls @run (@data, i) for every i below @n, on at most @threads threads at a time (0: one
 * per processor), the calling one among them: where no other can be started it makes all
 * calls.  In no order. */
void gemem_parallel (guint n, guint threads, void (*run) (gpointer data, guint i), gpointer data);

GEMEM_END_DECLS
