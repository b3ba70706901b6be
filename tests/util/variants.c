/* variants.c - see variants.h. */
#include "config.h"

#include <string.h>

#include "tests/util/trial.h"
#include "tests/util/variants.h"

typedef struct
{
  GPtrArray *choices, *others; /* "key=value" */
} Singles;

static void
add (GPtrArray *texts, const GememParam *row, const char *value)
{
  g_ptr_array_add (texts, g_strdup_printf ("%s=%s", row->name, value));
}

static void
add_choices (GPtrArray *texts, const GememParam *row)
{
  g_auto (GStrv) words = g_strsplit (row->choices, "|", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (strchr (words[i], '=') == NULL)
      add (texts, row, words[i]);
}

/* Adds the values to try of @row; those out of its bounds are refused later. */
static void
add_row (Singles *singles, const GememParam *row)
{
  switch (row->type)
    {
    case GEMEM_PARAM_CHOICE:
      add_choices (singles->choices, row);
      return;
    case GEMEM_PARAM_BOOL:
      add (singles->others, row, "yes");
      add (singles->others, row, "no");
      return;
    case GEMEM_PARAM_SIZE:
      add (singles->others, row, "6MiB");
      add (singles->others, row, "64MiB");
      add (singles->others, row, row->min != NULL ? row->min : "0");
      return;
    case GEMEM_PARAM_DOUBLE:
      add (singles->others, row, "0.3");
      add (singles->others, row, row->min != NULL ? row->min : "0");
      return;
    case GEMEM_PARAM_UINT:
    case GEMEM_PARAM_INT:
    case GEMEM_PARAM_TIME:
      add (singles->others, row, row->min != NULL ? row->min : "0");
      return;
    case GEMEM_PARAM_STRING:
      if (row->choices != NULL)
        add_choices (singles->choices, row);
      return;
    }
  g_assert_not_reached ();
}

/* The effective parameters of @settings; NULL if they are refused. */
static char *
effective (const GememAllocatorClass *klass, const char *settings, guint64 capacity)
{
  const TestSubject subject = { .klass = klass, .settings = settings, .capacity = capacity };
  TestTrial *trial = test_trial_new (&subject, NULL);
  g_autoptr (GPtrArray) parsed = NULL, rows = NULL, none = g_ptr_array_new ();
  GString *text = g_string_new (NULL);

  if (trial == NULL)
    return g_string_free (text, TRUE);
  parsed = gemem_settings_parse (settings, NULL);
  rows = gemem_allocator_effective (
      &(GememAllocatorSpec){ klass, (char *) klass->name, parsed, none }, NULL, trial->device,
      NULL);
  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (rows, i);

      g_string_append_printf (text, "%s=%s,", setting->key, setting->value);
    }
  g_assert_null (test_trial_finish (trial));
  return g_string_free (text, FALSE);
}

static void
keep_if_new (GPtrArray *variants, GHashTable *seen, const GememAllocatorClass *klass,
             char *settings, guint64 capacity)
{
  char *key = effective (klass, settings, capacity);

  if (key == NULL || g_hash_table_contains (seen, key))
    {
      g_free (key);
      g_free (settings);
      return;
    }
  g_hash_table_add (seen, key);
  g_ptr_array_add (variants, settings);
}

static GPtrArray *
texts_new (void)
{
  return g_ptr_array_new_with_free_func (g_free);
}

/* Joins "a" and "b" to "a,b"; either may be empty. */
static char *
both (const char *a, const char *b)
{
  return g_strconcat (a, *a != '\0' && *b != '\0' ? "," : "", b, NULL);
}

/* Adds to @start each of @others that is accepted and changes the effective parameters,
 * repeatedly, as some settings need others. */
static char *
heap_up (const GememAllocatorClass *klass, const char *start, const GPtrArray *others,
         gboolean backwards, guint64 capacity)
{
  char *settings = g_strdup (start), *key = effective (klass, start, capacity);
  gboolean more;

  do
    {
      more = FALSE;
      for (guint i = 0; i < others->len; i++)
        {
          const char *other = g_ptr_array_index (others, backwards ? others->len - 1 - i : i);
          g_autofree char *tried = both (settings, other),
                          *accepted = effective (klass, tried, capacity);

          if (accepted == NULL || g_str_equal (accepted, key))
            continue;
          g_free (settings);
          g_free (key);
          settings = g_steal_pointer (&tried);
          key = g_steal_pointer (&accepted);
          more = TRUE;
        }
    }
  while (more);
  g_free (key);
  return settings;
}

GPtrArray *
test_variants (const GememAllocatorClass *klass, guint64 capacity)
{
  GPtrArray *variants = texts_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Singles singles = { texts_new (), texts_new () };

  g_ptr_array_add (singles.choices, g_strdup ("")); /* defaults only */
  for (const GememParam *row = klass->params; row != NULL && row->name != NULL; row++)
    add_row (&singles, row);
  for (guint c = 0; c < singles.choices->len; c++)
    {
      const char *choice = g_ptr_array_index (singles.choices, c);

      keep_if_new (variants, seen, klass, g_strdup (choice), capacity);
      g_assert_cmpuint (variants->len, >, 0); /* the defaults are never refused */
      for (guint o = 0; o < singles.others->len; o++)
        keep_if_new (variants, seen, klass, both (choice, g_ptr_array_index (singles.others, o)),
                     capacity);
      for (guint backwards = 0; backwards < 2; backwards++)
        keep_if_new (variants, seen, klass,
                     heap_up (klass, choice, singles.others, backwards, capacity), capacity);
    }
  g_ptr_array_unref (singles.choices);
  g_ptr_array_unref (singles.others);
  return variants;
}

GPtrArray *
test_some_variants (const GememAllocatorClass *klass, guint64 capacity)
{
  /* "NAME CAPACITY" -> all variants, cached: finding which settings go together takes many
   * trials */
  static GHashTable *known;
  g_autofree char *key = g_strdup_printf ("%s %" G_GUINT64_FORMAT, klass->name, capacity);
  const guint most = g_getenv ("GEMEM_LONG") != NULL    ? G_MAXUINT
                     : g_getenv ("GEMEM_QUICK") != NULL ? 4
                                                        : 5;
  GPtrArray *some = texts_new (), *all;

  if (known == NULL)
    known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                   (GDestroyNotify) g_ptr_array_unref);
  all = g_hash_table_lookup (known, key);
  if (all == NULL)
    {
      all = test_variants (klass, capacity);
      g_hash_table_insert (known, g_steal_pointer (&key), all);
    }
  for (guint i = 0; i < MIN (all->len, most); i++)
    g_ptr_array_add (some, g_strdup (g_ptr_array_index (
                               all, (guint) ((guint64) i * all->len / MIN (all->len, most)))));
  return some;
}
