/* named.h - the common first member of all registered objects, and functions that find and choose
 * such objects by the user's text.
 *
 * A planner, a lowering, a graph format is a struct whose first member is a GememNamed; a registry
 * is a NULL-terminated array of pointers to them, in the order of its *.def list.
 * "NAME[:key=value,...]" becomes one or, with globs and value lists, several choices.
 *
 * Invariants: names and aliases are unique within a list; a key that is not in the table is an
 * error with a suggestion.
 */
#pragma once

#include "base/macros.h"
#include "base/params.h"

GEMEM_BEGIN_DECLS

/* @note: "what; what to do", one line. */
typedef void (*GememNoteFunc) (const char *note, gpointer data);

typedef struct
{
  const char *name;         /* "ge-hybrid" */
  const char *aliases;      /* '|' separated, or NULL */
  const char *summary;      /* one line, no full stop */
  const char *origin;       /* "ge-static.md 3" */
  const GememParam *params; /* or NULL */
  gsize params_size;
  const char *known_as; /* its names in the real system, '|' separated, or NULL; for help only */

  /* Both may be NULL; @params: filled from the table.  Refuses what the table cannot:
   * GEMEM_ERROR_USAGE. */
  gboolean (*check) (gconstpointer params, GError **error);
  /* Says what a user should know of settings that are valid: that one is deprecated, or has no
   * effect. */
  void (*notes) (gconstpointer params, GememNoteFunc func, gpointer data);
} GememNamed;

/* A registered object with its settings, as chosen on the command line. */
typedef struct
{
  const GememNamed *named;
  char *label;         /* the user's text */
  GPtrArray *settings; /* GememSetting, checked */
  /* of gemem_choice_add_variables(), else NULL: GememSetting taken from the environment, and those
   * left out with the reason as value */
  GPtrArray *variables, *left_out;
} GememChoice;

/* By name or alias.  @kind ("planner") is for messages.  Errors: GEMEM_ERROR_USAGE with a
 * suggestion. */
const GememNamed *gemem_named_find (const GememNamed *const *list, const char *kind,
                                    const char *name, GError **error);

/* Appends the choices that @text denotes; all or nothing.  Globs ('ge-*') range over @list, value
 * lists ("a=1|2") multiply, the last key varying fastest.  Errors: GEMEM_ERROR_USAGE. */
gboolean gemem_named_parse (const GememNamed *const *list, const char *kind, const char *text,
                            GPtrArray *choices, GError **error);
/* The only choice that @text denotes.  Errors: as gemem_named_parse(), and for several choices. */
GememChoice *gemem_named_choose (const GememNamed *const *list, const char *kind, const char *text,
                                 GError **error);
/* gemem_named_parse() without checks of the settings, for objects with settings beyond their table
 * (allocators: device keys, percentages). */
gboolean gemem_named_expand (const GememNamed *const *list, const char *kind, const char *text,
                             GPtrArray *choices, GError **error);
/* Appends the choices that @choice stands for when "*" means what @tables (NULL-terminated) say,
 * for keys beyond the table of its GememNamed. */
gboolean gemem_choice_multiply (const GememChoice *choice, const GememParam *const *tables,
                                GPtrArray *choices, GError **error);
void gemem_choice_free (GememChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememChoice, gemem_choice_free)

/* An array of arrays of GememSetting, one for each combination of the values of @settings, the last
 * key varying fastest.  A value is one, a list "a|b|c", or "*": what gemem_param_sweep() says of
 * the row in the first of @tables (NULL-terminated) that has the key.  Errors: GEMEM_ERROR_USAGE
 * with @name, if there are no values or too many combinations. */
GPtrArray *gemem_settings_multiply (const char *name, const GememParam *const *tables,
                                    const GPtrArray *settings, GError **error);

/* A parameter struct filled from the defaults of the table, then from the settings of @defaults
 * (GememSetting, may be NULL) with keys in the table, then from @choice.  Free with
 * gemem_choice_params_free(). */
gpointer gemem_choice_params (const GememChoice *choice, const char *kind,
                              const GPtrArray *defaults, GError **error);
void gemem_choice_params_free (const GememChoice *choice, gpointer params);
/* notes() of what was chosen, with the same settings; nothing where they are refused. */
void gemem_choice_notes (const GememChoice *choice, const char *kind, const GPtrArray *defaults,
                         GememNoteFunc func, gpointer data);

/* Adds to @choice those of @variables (GememSetting, named as in the environment) that its table
 * reads, to its label too.  FALSE with GEMEM_ERROR_USAGE for a bad value. */
gboolean gemem_choice_add_variables (GememChoice *choice, const char *kind,
                                     const GPtrArray *variables, GError **error);

/* Orders pointers to texts, for qsort() and g_ptr_array_sort(). */
int gemem_compare_texts (gconstpointer a, gconstpointer b);

GEMEM_END_DECLS
