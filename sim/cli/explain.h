/* explain.h - what gemem-sim does with a text that is no recording but a message about memory. */
#pragma once

#include "sim/cli/source.h"

/* Appends to @out what the message in @file says; returns the exit status, or -1 with the errors of
 * gemem_explain(). */
int gemem_explain_file (const GememSourceFile *file, gboolean json, GString *out, GError **error);
