/* params.c - the parameter tables of the GE planners (ge-static.md appendix C), and what must be
 * refused or said of settings beyond their tables. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "planners/ge/model.h"
#include "planners/ge/options.h"
#include "planners/ge/policy.h"

#define PRIORITY "no"
const GememParam gemem_ge_params[] = {
#include "planners/ge/params.def"
  { NULL },
};

const GememParam gemem_ge_block_params[] = {
#include "planners/ge/params.def"
  { .name = "use_range",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, use_range),
    .help = "Blocks have the size of a class, not of their tensor." },
  { .name = "ascending_sort",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, ascending_sort),
    .help = "Of blocks of one size, pack those with few tensors and early ones first." },
  { .name = "reuse_first_release",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, reuse_first_release),
    .help = "Take the oldest free block, not the newest." },
  { .name = "memory_priority_mode",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, memory_priority_mode),
    .help = "Pack across streams by life times." },
  { NULL },
};
#undef PRIORITY

#define PRIORITY "yes"
const GememParam gemem_ge_priority_params[] = {
#include "planners/ge/params.def"
  { NULL },
};
#undef PRIORITY

/* ---- check() and notes() */

/* "0,1" or "[0,1]". */
static gboolean
check_indexes (const char *name, const char *list, GError **error)
{
  const gboolean bracketed = list != NULL && *list == '[' && g_str_has_suffix (list, "]");
  g_autofree char *inner = g_strdup (list != NULL ? list + bracketed : NULL);
  g_auto (GStrv) words = NULL;

  if (inner == NULL)
    return TRUE;
  if (bracketed)
    inner[strlen (inner) - 1] = '\0';
  words = g_strsplit (inner, ",", -1);
  for (char **word = words; *word != NULL || word == words; word++)
    {
      guint64 index;

      if (*word != NULL && gemem_parse_uint (*word, &index, NULL)
          && ((*word)[0] != '0' || (*word)[1] == '\0'))
        continue;
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s='%s': '%s' is not the number of an input or output; write a list of them as "
                   "[0,1]",
                   name, list, *word != NULL ? *word : "");
      return FALSE;
    }
  return TRUE;
}

static const char *
text_of (const char *source)
{
  return source != NULL ? source : GE_POLICY_UNSET;
}

static GePolicySources
sources_of (const GeOptions *options)
{
  return (GePolicySources){ .environment = text_of (options->environment),
                            .option = text_of (options->option),
                            .documented = ge_is_documented (options) };
}

gboolean
gemem_ge_options_check (gconstpointer data, GError **error)
{
  const GeOptions *options = data;
  const GePolicySources sources = sources_of (options);

  return gemem_ge_policy_check (&sources, error)
         && check_indexes ("input_reuse", options->input_reuse, error)
         && check_indexes ("output_reuse", options->output_reuse, error);
}

void
gemem_ge_options_notes (gconstpointer data, GememNoteFunc func, gpointer to)
{
  const GePolicySources sources = sources_of (data);

  gemem_ge_policy_notes (&sources, "planners of GE", func, to);
}

gboolean
gemem_ge_options_extend (const GeOptions *options)
{
  const guint policy = gemem_ge_policy (text_of (options->environment), text_of (options->option));

  return policy == 2 || policy == 4;
}
