/* measures-help.c - see measures-help.h.  The texts are those of measures.def, as
 * in the man page. */
#include "config.h"

#include "sim/cli/measures-help.h"
#include "sim/report/report.h"

static void
append_measure (GString *out, guint index)
{
  g_string_append_printf (out, "  %s (\"%s\")\n      %s.\n", gemem_measure_name (index),
                          gemem_measure_title (index), gemem_measure_help (index));
}

char *
gemem_measures_help (void)
{
  GString *out = g_string_new (
      "Measures: the name behind --sort and --columns and in JSON, CSV and databases, the title in "
      "tables (in quotes), the\n"
      "definition. Each means the same in every table, file and plot; '-' in a table, nothing in "
      "CSV and null in JSON stand for\n"
      "what is unknown.\n\n");
  for (guint i = 0; gemem_measure_name (i) != NULL; i++)
    append_measure (out, i);
  return g_string_free (out, FALSE);
}
