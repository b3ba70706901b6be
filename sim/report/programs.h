/* programs.h - what the programs of a shared device (--share-device) had, each beside the sum. */
#pragma once

#include "sim/engine/result.h"

/* Appends a table for each of @results that has programs: a row per program, and one of all
 * together, whose peaks are smaller than the sum of theirs where they are at different times; then
 * what each held when a request failed.  Nothing for ordinary results. */
void gemem_report_programs (GString *out, GememResult *const *results, guint n);
/* The same as Markdown, without the failures. */
void gemem_report_programs_markdown (GString *out, GememResult *const *results, guint n);
/* "train.gmt: pytorch-caching": a program in tables and pictures; g_free(). */
char *gemem_report_program_name (const GememResult *program);
