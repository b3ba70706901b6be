/* sweep-spec.c - reads what a sweep runs: a key file as fio's, [global] and a group for each job.
 *
 *   [global]
 *   device=16GiB|24GiB
 *
 *   [training]
 *   trace=recordings/train-*.gmt
 *   allocator=pytorch-caching:max_split_size_mb=64|128; pytorch-expandable
 *
 *   [new]
 *   program=--gpu rtx4090 python train.py; --gpu rtx4090 python train.py --checkpoint
 *   allocator=pytorch-*
 *
 * Keys are called as the options of compare; a list has ';' between its values.
 *
 * Invariants: every message names the line; nothing is run before all of it is understood.
 */
#include "config.h"

#include <glob.h>
#include <string.h>

#include "base/key-file.h"
#include "base/units.h"
#include "devices/device.h"
#include "sim/cli/flags.h"
#include "sim/cli/options.h"
#include "sim/cli/sweep.h"
#include "sim/search/pasted.h"
#include "workloads/lowering.h"

#define GLOBAL "global"
#define SPEC_BYTES_MAX (1 << 20)
#define REPEAT_MOST 1000000

typedef struct
{
  const GememKeyFile *file;
  const char *name; /* of the group */
  GememSweepGroup *group;
  GError **error;
} Reading;

/* The group in which @key is: the present one, or [global]; NULL: in none. */
static const char *
place_of (const Reading *reading, const char *key)
{
  const char *const places[] = { reading->name, GLOBAL };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    if (g_key_file_has_key (reading->file->keys, places[i], key, NULL))
      return places[i];
  return NULL;
}

static char *
value_of (const Reading *reading, const char *key)
{
  const char *place = place_of (reading, key);

  return place != NULL ? g_key_file_get_value (reading->file->keys, place, key, NULL) : NULL;
}

/* The values of @key, stripped; none: none. */
static char **
values_of (const Reading *reading, const char *key)
{
  g_autofree char *text = value_of (reading, key);
  char **values = g_strsplit (text != NULL ? text : "", ";", -1);
  guint n = 0;

  for (guint i = 0; values[i] != NULL; i++)
    {
      char *value = g_strstrip (values[i]);

      if (*value != '\0')
        values[n++] = value;
      else
        g_free (value);
    }
  values[n] = NULL;
  return values;
}

static gboolean
complain (const Reading *reading, const char *key, const char *message)
{
  const char *place = place_of (reading, key);

  return gemem_key_file_complain (reading->file, place != NULL ? place : reading->name,
                                  place != NULL ? key : NULL, reading->error, "%s", message);
}

/* The same with the message of @cause, which it frees. */
static gboolean
blame (const Reading *reading, const char *key, GError *cause)
{
  complain (reading, key, cause->message);
  g_error_free (cause);
  return FALSE;
}

/* ---- keys */

static gboolean
add_traces (const Reading *reading, const char *key, const char *pattern)
{
  glob_t found;

  if (strpbrk (pattern, "*?[") == NULL)
    {
      g_ptr_array_add (reading->group->traces, g_strdup (pattern));
      return TRUE;
    }
  if (glob (pattern, 0, NULL, &found) != 0)
    {
      g_autofree char *message = g_strdup_printf ("no file matches '%s' in this folder; correct it",
                                                  pattern);
      return complain (reading, key, message);
    }
  for (gsize i = 0; i < found.gl_pathc; i++)
    g_ptr_array_add (reading->group->traces, g_strdup (found.gl_pathv[i]));
  globfree (&found);
  return TRUE;
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
read_traces (const Reading *reading, const char *key)
{
  g_auto (GStrv) patterns = values_of (reading, key);

  for (guint i = 0; patterns[i] != NULL; i++)
    if (!add_traces (reading, key, patterns[i]))
      return FALSE;
  g_ptr_array_sort (reading->group->traces, compare_paths); /* whatever the locale of glob() */
  return TRUE;
}

static gboolean
read_programs (const Reading *reading, const char *key)
{
  GPtrArray *programs = reading->group->programs;
  g_auto (GStrv) texts = values_of (reading, key);
  GError *cause = NULL;

  for (guint i = 0; texts[i] != NULL; i++)
    {
      g_auto (GStrv) words = NULL;

      if (!g_shell_parse_argv (texts[i], NULL, &words, &cause))
        return blame (reading, key, cause);
      g_ptr_array_add (programs, g_strdup (texts[i]));
    }
  if (programs->len > 0 && place_of (reading, "lower") != NULL)
    return complain (reading, key, "a program is no graph; give lower a job of its own");
  return programs->len > 0 || reading->group->traces->len > 0
         || complain (reading, "trace",
                      "has no trace; add trace=FILE or a glob, or program=COMMAND");
}

static gboolean
read_allocators (const Reading *reading, const char *key)
{
  GPtrArray *specs = reading->group->allocators;
  g_auto (GStrv) texts = values_of (reading, key);
  GError *cause = NULL;

  for (guint i = 0; texts[i] != NULL; i++)
    if (!(gemem_is_pasted (texts[i]) ? gemem_pasted_parse (texts[i], specs, &cause)
                                     : gemem_flags_check (texts[i], FALSE, &cause)
                                           && gemem_allocator_spec_parse (texts[i], specs, &cause)))
      return blame (reading, key, cause);
  return specs->len > 0
         || complain (
             reading, key,
             "has no allocator; add allocator=NAME, as pytorch-caching ('gemem-sim list')");
}

/* One device, or several that it stands for; @alone: the group has no other. */
static gboolean
add_device (const Reading *reading, const char *key, const char *device, const char *capacity,
            gboolean alone)
{
  g_autofree char *text = gemem_device_text (device, capacity);
  GError *cause = NULL;
  GPtrArray *found = gemem_device_spec_expand (text, &cause);

  if (found == NULL)
    return blame (reading, key, cause);
  g_ptr_array_add (reading->group->device_lists, found);
  for (guint i = 0; i < found->len; i++)
    {
      GememDeviceSpec *spec = found->pdata[i];

      if (capacity != NULL && g_regex_match_simple ("capacity=.*capacity=", spec->spec, 0, 0))
        return complain (reading, key, "the device says its capacity too; keep one of them");
      if (!g_str_has_prefix (spec->spec, "sim"))
        return complain (reading, key, "a sweep runs on simulated devices; use compare for a GPU");
      if (spec->difference == NULL && !alone)
        spec->difference = g_strdup (text);
      g_ptr_array_add (reading->group->devices, spec);
    }
  return TRUE;
}

static gboolean
read_devices (const Reading *reading, const char *key)
{
  g_auto (GStrv) devices = values_of (reading, key), capacities = values_of (reading, "capacity");
  const guint n = MAX (g_strv_length (devices), 1), m = MAX (g_strv_length (capacities), 1);

  for (guint i = 0; i < n * m; i++)
    if (!add_device (reading, capacities[0] != NULL ? "capacity" : key, devices[i / m],
                     capacities[i % m], n * m == 1))
      return FALSE;
  return TRUE;
}

static gboolean
read_nothing (const Reading *reading, const char *key)
{
  return TRUE; /* with another key */
}

static gboolean
read_lowerings (const Reading *reading, const char *key)
{
  g_auto (GStrv) texts = values_of (reading, key);

  for (guint i = 0; texts[i] != NULL; i++)
    {
      g_auto (GStrv) labels = NULL, specs = NULL;
      GError *cause = NULL;

      specs = gemem_lowering_expand (texts[i], &labels, &cause);
      if (specs == NULL)
        return blame (reading, key, cause);
      g_ptr_array_add (reading->group->lowerings, g_strdup (texts[i]));
    }
  if (reading->group->lowerings->len == 0)
    g_ptr_array_add (reading->group->lowerings, NULL);
  return TRUE;
}

static gboolean
read_number (const Reading *reading, const char *key, const char *text, guint least, guint *number)
{
  g_autofree char *message = g_strdup_printf ("'%s' is no whole number from %u to %d", text, least,
                                              REPEAT_MOST);
  guint64 value;

  if (!gemem_parse_digits (text, 10, least, REPEAT_MOST, &value))
    return complain (reading, key, message);
  *number = (guint) value;
  return TRUE;
}

static gboolean
read_repeats (const Reading *reading, const char *key)
{
  g_auto (GStrv) texts = values_of (reading, key);
  guint number = 1;

  for (guint i = 0; texts[i] != NULL; i++)
    {
      if (!read_number (reading, key, texts[i], 1, &number))
        return FALSE;
      g_array_append_val (reading->group->repeats, number);
    }
  if (reading->group->repeats->len == 0)
    g_array_append_val (reading->group->repeats, number);
  return TRUE;
}

static gboolean
read_warm_up (const Reading *reading, const char *key)
{
  g_autofree char *text = value_of (reading, key);

  return text == NULL || read_number (reading, key, text, 0, &reading->group->warm_up);
}

static gboolean
read_flag (const Reading *reading, const char *key, gboolean *flag)
{
  g_autofree char *text = value_of (reading, key);

  *flag = g_strcmp0 (text, "yes") == 0 || g_strcmp0 (text, "true") == 0;
  return text == NULL || *flag || strcmp (text, "no") == 0 || strcmp (text, "false") == 0
         || complain (reading, key, "write yes or no");
}

static gboolean
read_find_capacity (const Reading *reading, const char *key)
{
  return read_flag (reading, key, &reading->group->find_capacity);
}

static gboolean
read_no_trace_settings (const Reading *reading, const char *key)
{
  return read_flag (reading, key, &reading->group->no_trace_settings);
}

/* The one list of keys. */
static const struct
{
  const char *key;
  gboolean (*read) (const Reading *reading, const char *key);
} keys[] = {
  { "trace", read_traces },
  { "program", read_programs },
  { "allocator", read_allocators },
  { "device", read_devices },
  { "capacity", read_nothing },
  { "lower", read_lowerings },
  { "repeat", read_repeats },
  { "warm-up", read_warm_up },
  { "find-capacity", read_find_capacity },
  { "no-trace-settings", read_no_trace_settings },
};

/* ---- groups */

static void
group_free (gpointer data)
{
  GememSweepGroup *group = data;

  g_free (group->name);
  g_ptr_array_unref (group->traces);
  g_ptr_array_unref (group->programs);
  g_ptr_array_unref (group->allocators);
  g_ptr_array_unref (group->devices);
  g_ptr_array_unref (group->device_lists);
  g_ptr_array_unref (group->lowerings);
  g_array_unref (group->repeats);
  g_free (group);
}

static GememSweepGroup *
group_new (const char *name)
{
  GememSweepGroup *group = g_new0 (GememSweepGroup, 1);

  group->name = g_strdup (name);
  group->traces = g_ptr_array_new_with_free_func (g_free);
  group->programs = g_ptr_array_new_with_free_func (g_free);
  group->allocators = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  group->device_lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  group->devices = g_ptr_array_new ();
  group->lowerings = g_ptr_array_new_with_free_func (g_free);
  group->repeats = g_array_new (FALSE, FALSE, sizeof (guint));
  return group;
}

static gboolean
check_keys (const GememKeyFile *file, const char *name, GError **error)
{
  g_auto (GStrv) there = g_key_file_get_keys (file->keys, name, NULL, NULL);
  const char *known[G_N_ELEMENTS (keys) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    known[i] = keys[i].key;
  for (guint i = 0; there[i] != NULL; i++)
    if (!g_strv_contains (known, there[i]))
      {
        const char *nearest = gemem_suggest (there[i], known);
        g_autofree char *all = g_strjoinv (", ", (char **) known);

        return gemem_key_file_complain (file, name, there[i], error, "unknown key; %s%s%s",
                                        nearest != NULL ? "did you mean '" : "known are ",
                                        nearest != NULL ? nearest : all,
                                        nearest != NULL ? "'?" : "");
      }
  return TRUE;
}

static gboolean
read_group (const GememKeyFile *file, const char *name, GPtrArray *groups, GError **error)
{
  GememSweepGroup *group = group_new (name);
  const Reading reading = { file, name, group, error };

  g_ptr_array_add (groups, group);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (!keys[i].read (&reading, keys[i].key))
      return FALSE;
  return TRUE;
}

static GememKeyFile *
load (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: not a regular file; a sweep is a key file (gemem-sim help sweep)", path);
  else if (!g_file_get_contents (path, &text, &length, &cause))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s", cause->message);
  else if (length > SPEC_BYTES_MAX)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: larger than 1 MiB; name traces by globs", path);
  else
    return gemem_key_file_parse (text, length, path, "a sweep is a key file (gemem-sim help sweep)",
                                 error);
  return NULL;
}

GPtrArray *
gemem_sweep_spec_read (const char *path, GError **error)
{
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func (group_free);
  g_autoptr (GememKeyFile) file = load (path, error);
  g_auto (GStrv) names = file != NULL ? g_key_file_get_groups (file->keys, NULL) : NULL;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (!check_keys (file, names[i], error)
        || (strcmp (names[i], GLOBAL) != 0 && !read_group (file, names[i], groups, error)))
      return NULL;
  if (groups->len > 0)
    return g_steal_pointer (&groups);
  if (names != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: has no job; add a group, as [training], with trace= and allocator=", path);
  return NULL;
}
