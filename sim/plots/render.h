/* render.h - runs gnuplot. */
#pragma once

#include <glib.h>

/* The program to run: @gnuplot, or if NULL the one in PATH; NULL if there is none or @gnuplot is
 * "". g_free(). */
char *gemem_plot_program (const char *gnuplot);
/* Runs SCRIPT in @dir (NULL: here) with @input on standard input; standard output goes to *output
 * unless @output is NULL.  GEMEM_ERROR_FAILED with gnuplot's message;
 * GEMEM_ERROR_INTERRUPTED: see gemem_plot_stop_when(). */
gboolean gemem_plot_run (const char *program, const char *dir, const char *script,
                         const char *input, char **output, GError **error);
/* Writes DIR/BASEENDING. */
gboolean gemem_plot_write_part (const char *dir, const char *base, const char *ending,
                                const GString *text, GError **error);
/* Draws .png, and with @svg .svg, by DIR/BASE.gp, which exists.  GEMEM_ERROR_FAILED: gnuplot
 * failed, or a picture is incomplete, which is then removed. */
gboolean gemem_plot_render (const char *program, const char *dir, const char *base, gboolean svg,
                            GError **error);
