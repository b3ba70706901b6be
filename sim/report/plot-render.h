/* plot-render.h - running gnuplot. */
#pragma once

#include <glib.h>

/* The program to run: @gnuplot, or the one in PATH if it is NULL; NULL if there is none or @gnuplot
 * is "".  g_free(). */
char *gemem_plot_program (const char *gnuplot);
/* Runs SCRIPT in @dir (NULL: here) with @input on standard input; standard output in *output unless
 * that is NULL.  GEMEM_ERROR_FAILED with gnuplot's own words. */
gboolean gemem_plot_run (const char *program, const char *dir, const char *script,
                         const char *input, char **output, GError **error);
/* Writes DIR/BASEENDING. */
gboolean gemem_plot_write_part (const char *dir, const char *base, const char *ending,
                                const GString *text, GError **error);
/* Makes DIR/BASE.gp, which was written, draw its .png, and with @svg its .svg.  GEMEM_ERROR_FAILED:
 * gnuplot failed, or a picture is not whole, which is then removed. */
gboolean gemem_plot_render (const char *program, const char *dir, const char *base, gboolean svg,
                            GError **error);
