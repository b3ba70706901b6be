/* brief.c - what a dry run's verdict shows without --details: the answer, what it hangs on, where the memory goes, and what comes next.
 *
 * Why: whoever asks whether a program fits reads a dozen rows, and not twenty that say how the answer was found.
 *
 * Invariants: a row that the answer names ("'streams', below") is shown, as is every one that is not listed here; the last row names
 * what was left out.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"

/* Rows of the verdict by their label, "" continues the row above; only those that begin with `text`, where there is one. */
static const struct
{
  const char *label, *text;
} details[] = {
  { "", "the GPU's memory: " },
  { "held in all" },
  { "pinned host" },
  { "address orders", "the same " },
  { "requests of" },
  { "left out" },
  { "values" },
  { "numbers" },
  { "truths" },
  { "sizes" },
  { "computed" },
  { "drawn" },
  { "streams" },
  { "times" },
  { "assumed" },
  { "workspaces" },
  { "libraries" },
  { "host" },
};

#define LABEL_AT 2
#define TEXT_AT (LABEL_AT + DRY_LABEL_WIDTH)

/* The label of @row, without what fills it up; NULL: it has none, as rows of a table.  g_free(). */
static char *
label_of (const char *row)
{
  if (strlen (row) < TEXT_AT || !g_str_has_prefix (row, "  "))
    return NULL;
  return g_strchomp (g_strndup (row + LABEL_AT, DRY_LABEL_WIDTH));
}

static gboolean
is_detail (const char *row, const char *label, const char *text)
{
  g_autofree char *named = g_strdup_printf ("('%s', below)", label);

  if (strstr (text, named) != NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (details); i++)
    if (strcmp (details[i].label, label) == 0
        && (details[i].text == NULL || g_str_has_prefix (row + TEXT_AT, details[i].text)))
      return TRUE;
  return FALSE;
}

char *
gemem_library_verdict_brief (const char *text)
{
  g_auto (GStrv) rows = g_strsplit (text, "\n", -1);
  g_autoptr (GPtrArray) left = g_ptr_array_new_with_free_func (g_free);
  GString *out = g_string_new (NULL);
  gboolean within = FALSE; /* a row that is left out */

  for (char **row = rows; *row != NULL && (**row != '\0' || row[1] != NULL); row++)
    {
      g_autofree char *label = label_of (*row);

      if (label == NULL || *label != '\0')
        within = label != NULL && is_detail (*row, label, text);
      if (!within && (label == NULL || *label != '\0' || !is_detail (*row, label, text)))
        g_string_append_printf (out, "%s\n", *row);
      else if (*label != '\0' && !g_ptr_array_find_with_equal_func (left, label, g_str_equal, NULL))
        g_ptr_array_add (left, g_steal_pointer (&label));
    }
  for (guint i = 0; i < left->len; i++)
    if (i == 0)
      g_string_append_printf (out, DRY_LABEL "shows more: %s", "--details",
                              (char *) left->pdata[i]);
    else
      g_string_append_printf (out, ", %s", (char *) left->pdata[i]);
  if (left->len > 0)
    g_string_append_c (out, '\n');
  return g_string_free (out, FALSE);
}
