/* profile.c - see profile.h.
 *
 * A key file (base/key-file.h): every key must be known, every number must have a source.  The
 * profiles of the source tree are also built in: a program without installed data files still has the
 * profiles it documents.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/key-file.h"
#include "base/named.h"
#include "base/units.h"
#include "devices/profile.h"
/* builtin_profiles[]: name, text; made from profiles/ by devices.am */
#include "devices/profiles-builtin.h"

#define PROFILE_BYTES_MAX (1 << 20)

typedef struct
{
  GememKeyFile *file;
  GKeyFile *keys; /* of it */
  GememProfile *profile;
} Parser;

/* ---- values */

/* Checks that every number has a source: KEY_source, or the group's `source`. */
static gboolean
check_source (Parser *parser, const char *group, const char *key, GError **error)
{
  g_autofree char *own = g_strconcat (key, "_source", NULL);
  const char *from = g_key_file_has_key (parser->keys, group, own, NULL) ? own : "source";
  g_autofree char *source = g_key_file_get_value (parser->keys, group, from, NULL);

  if (source == NULL)
    return gemem_key_file_complain (
        parser->file, group, key, error,
        "has no source; add '%s=' with 'guess: ', 'fact: ' or 'measured: ' and the reason", own);
  for (const char *const *word = (const char *const[]){ "guess:", "fact:", "measured:", NULL };
       *word != NULL; word++)
    if (g_str_has_prefix (source, *word) && source[strlen (*word)] == ' '
        && source[strlen (*word) + 1] != '\0')
      {
        parser->profile->numbers++;
        parser->profile->guesses += **word == 'g';
        return TRUE;
      }
  return gemem_key_file_complain (
      parser->file, group, from, error,
      "'%.40s' does not say what it is; begin with 'guess: ', 'fact: ' or 'measured: '", source);
}

/* The value of @key, whose source is checked; NULL if absent, with @error when @required. */
static char *
numeric_text (Parser *parser, const char *group, const char *key, gboolean required, GError **error)
{
  char *text = g_key_file_get_value (parser->keys, group, key, NULL);
  if (text == NULL && required)
    gemem_key_file_complain (parser->file, group, NULL, error, "has no %s; add it (%s)", key,
                             g_str_has_suffix (key, "_ns") ? "0 if it costs nothing"
                                                           : "as in 2MiB");
  if (text != NULL && !check_source (parser, group, key, error))
    g_clear_pointer (&text, g_free);
  return text;
}

static gboolean
read_ns (Parser *parser, const char *group, const char *key, gboolean required, guint64 *ns,
         GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *text = numeric_text (parser, group, key, required, &cause);

  *ns = 0;
  if (text == NULL && cause == NULL)
    return TRUE; /* optional and absent */
  if (text == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  if (!gemem_parse_uint (text, ns, &cause))
    return gemem_key_file_complain (parser->file, group, key, error,
                                    "'%s' is not a whole number of nanoseconds", text);
  return TRUE;
}

static gboolean
read_size (Parser *parser, const char *group, const char *key, guint64 *bytes, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *text = numeric_text (parser, group, key, TRUE, error);

  if (text == NULL)
    return FALSE;
  if (!gemem_parse_size (text, 1, 0, bytes, &cause))
    return gemem_key_file_complain (parser->file, group, key, error, "%s", cause->message);
  return TRUE;
}

/* Checks that every key of @group is one of @known, or the source of one. */
static gboolean
check_keys (Parser *parser, const char *group, const char *const *known, GError **error)
{
  g_auto (GStrv) keys = g_key_file_get_keys (parser->keys, group, NULL, NULL);

  for (guint i = 0; keys != NULL && keys[i] != NULL; i++)
    {
      gboolean found = strcmp (keys[i], "source") == 0;
      for (guint k = 0; known[k] != NULL && !found; k++)
        {
          g_autofree char *source = g_strconcat (known[k], "_source", NULL);
          found = strcmp (keys[i], known[k]) == 0 || strcmp (keys[i], source) == 0;
        }
      if (found)
        continue;
      const char *nearest = gemem_suggest (keys[i], known);
      g_autofree char *list = g_strjoinv (", ", (char **) known);
      if (nearest != NULL)
        return gemem_key_file_complain (parser->file, group, keys[i], error,
                                        "unknown key; did you mean '%s'?", nearest);
      return gemem_key_file_complain (parser->file, group, keys[i], error,
                                      "unknown key; known are %s, and their sources", list);
    }
  return TRUE;
}

static gboolean
check_groups (Parser *parser, GError **error)
{
  g_auto (GStrv) groups = g_key_file_get_groups (parser->keys, NULL);
  const char *known[GEMEM_CALL_COUNT + 3] = { "device", "allocator" };

  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    known[call + 2] = gemem_device_call_name (call);
  for (guint i = 0; groups[i] != NULL; i++)
    if (!g_strv_contains (known, groups[i]))
      {
        const char *nearest = gemem_suggest (groups[i], known);
        g_autofree char *list = g_strjoinv (", ", (char **) known);
        if (nearest != NULL)
          return gemem_key_file_complain (parser->file, groups[i], NULL, error,
                                          "unknown group; did you mean [%s]?", nearest);
        return gemem_key_file_complain (parser->file, groups[i], NULL, error,
                                        "unknown group; known are %s", list);
      }
  for (guint i = 0; known[i] != NULL; i++)
    if (!g_key_file_has_group (parser->keys, known[i]))
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s: has no group [%s]; add it (base_ns=0 for a call that costs nothing)",
                     parser->file->path, known[i]);
        return FALSE;
      }
  return TRUE;
}

/* One "SIZE:NS" of `sizes`, larger than the one before. */
static gboolean
read_size_cost (const char *text, GememCallCost *cost)
{
  GememSizeCost *point = &cost->sizes[cost->n_sizes];
  g_auto (GStrv) parts = g_strsplit (text, ":", 2);

  if (cost->n_sizes == GEMEM_CALL_SIZES_MAX || g_strv_length (parts) != 2
      || !gemem_parse_size (parts[0], 1, 0, &point->bytes, NULL)
      || !gemem_parse_uint (parts[1], &point->ns, NULL) || point->ns > G_MAXINT64)
    return FALSE;
  return cost->n_sizes++ == 0 || point->bytes > point[-1].bytes;
}

static gboolean
read_sizes (Parser *parser, const char *group, GememCallCost *cost, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *text = numeric_text (parser, group, "sizes", FALSE, &cause);
  g_auto (GStrv) words = g_strsplit (text != NULL ? text : "", " ", -1);

  if (cause != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  for (guint i = 0; text != NULL && words[i] != NULL; i++)
    if (!read_size_cost (words[i], cost))
      return gemem_key_file_complain (
          parser->file, group, "sizes", error,
          "'%s' is no SIZE:NANOSECONDS with a larger size than the one before; at most "
          "%d of them, as in 2MiB:40000 32MiB:50000",
          words[i], GEMEM_CALL_SIZES_MAX);
  if (text != NULL
      && (g_key_file_has_key (parser->keys, group, "base_ns", NULL)
          || g_key_file_has_key (parser->keys, group, "per_mib_ns", NULL)
          || g_key_file_has_key (parser->keys, group, "per_page_ns", NULL)))
    return gemem_key_file_complain (parser->file, group, "sizes", error,
                                    "stands for base_ns, per_mib_ns and per_page_ns; remove these");
  return TRUE;
}

guint64
gemem_call_sizes_ns (const GememCallCost *cost, guint64 size)
{
  const GememSizeCost *low = cost->sizes, *last = low + cost->n_sizes - 1;
  __int128 ns;

  if (cost->n_sizes == 1 || size <= low->bytes)
    return low->ns;
  while (low + 1 < last && size > low[1].bytes)
    low++;
  if (size > last->bytes && last->ns < low->ns)
    return last->ns; /* nothing is known to become ever cheaper */
  ns = low->ns
       + ((__int128) low[1].ns - low->ns) * (size - low->bytes) / (low[1].bytes - low->bytes);
  return CLAMP (ns, 0, G_MAXINT64);
}

/* The keys of @call; NULL-terminated. */
static const char *const *
known_keys (GememDeviceCall call)
{
#define ALWAYS "base_ns", "per_mib_ns", "per_page_ns", "sizes", "synchronises"
  static const char *const plain[] = { ALWAYS, NULL };
  static const char *const of_live[] = { ALWAYS, "per_1000_live_ns", NULL };
  static const char *const of_pages[] = { ALWAYS, "per_1000_live_ns", "shared_ns", NULL };
  static const char *const of_map[] = { ALWAYS, "per_1000_live_ns", "set_access_ns", NULL };
#undef ALWAYS

  return call == GEMEM_CALL_MAP       ? of_map
         : call <= GEMEM_CALL_FREE    ? of_pages
         : gemem_call_has_live (call) ? of_live
                                      : plain;
}

static gboolean
read_call (Parser *parser, GememDeviceCall call, GError **error)
{
  const char *group = gemem_device_call_name (call);
  GememCallCost *cost = &parser->profile->calls[call];
  gboolean waits = call == GEMEM_CALL_EVENT_SYNC || call == GEMEM_CALL_STREAM_SYNC
                   || call == GEMEM_CALL_DEVICE_SYNC;
  g_autofree char *flag = g_key_file_get_value (parser->keys, group, "synchronises", NULL);

  if (!check_keys (parser, group, known_keys (call), error)
      || !read_sizes (parser, group, cost, error)
      || !read_ns (parser, group, "base_ns", cost->n_sizes == 0, &cost->base_ns, error)
      || !read_ns (parser, group, "shared_ns", FALSE, &cost->shared_ns, error)
      || !read_ns (parser, group, "set_access_ns", FALSE, &cost->set_access_ns, error)
      || !read_ns (parser, group, "per_mib_ns", FALSE, &cost->per_mib_ns, error)
      || !read_ns (parser, group, "per_page_ns", FALSE, &cost->per_page_ns, error)
      || !read_ns (parser, group, "per_1000_live_ns", FALSE, &cost->per_1000_live_ns, error))
    return FALSE;
  if (flag == NULL)
    return TRUE;
  if (waits)
    return gemem_key_file_complain (parser->file, group, "synchronises", error,
                                    "this call waits by its meaning; remove the key");
  if (strcmp (flag, "yes") != 0 && strcmp (flag, "no") != 0)
    return gemem_key_file_complain (parser->file, group, "synchronises", error,
                                    "'%s' is neither yes nor no", flag);
  cost->synchronises = *flag == 'y';
  return TRUE;
}

static gboolean
read_device (Parser *parser, GError **error)
{
  static const char *const known[] = { "name", "capacity", "granularity", NULL };
  static const char *const known_allocator[] = { "hit_ns", NULL };
  GememProfile *profile = parser->profile;

  if (!check_keys (parser, "device", known, error)
      || !read_size (parser, "device", "capacity", &profile->capacity, error)
      || !read_size (parser, "device", "granularity", &profile->granularity, error)
      || !check_keys (parser, "allocator", known_allocator, error)
      || !read_ns (parser, "allocator", "hit_ns", TRUE, &profile->hit_ns, error))
    return FALSE;
  if (profile->granularity == 0 || (profile->granularity & (profile->granularity - 1)) != 0)
    return gemem_key_file_complain (parser->file, "device", "granularity", error,
                                    "is not a power of two");
  profile->device_name = g_key_file_get_value (parser->keys, "device", "name", NULL);
  if (profile->device_name == NULL || *profile->device_name == '\0')
    return gemem_key_file_complain (parser->file, "device", NULL, error,
                                    "has no name; add the name of the device as people know it");
  return TRUE;
}

static gboolean
parse (Parser *parser, GError **error)
{
  if (!check_groups (parser, error) || !read_device (parser, error))
    return FALSE;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    if (!read_call (parser, call, error))
      return FALSE;
  return TRUE;
}

GememProfile *
gemem_profile_parse (const char *text, gsize length, const char *path, GError **error)
{
  g_autoptr (GememKeyFile) file = gemem_key_file_parse (
      text, length, path, "a profile is a key file (see profiles/generic.ini)", error);
  g_autoptr (GememProfile) profile = g_new0 (GememProfile, 1);
  Parser parser = { .file = file, .profile = profile };

  if (file == NULL)
    return NULL;
  parser.keys = file->keys;
  profile->path = g_strdup (path);
  return parse (&parser, error) ? g_steal_pointer (&profile) : NULL;
}

void
gemem_profile_free (GememProfile *profile)
{
  if (profile == NULL)
    return;
  g_free (profile->path);
  g_free (profile->device_name);
  g_free (profile);
}

/* ---- what was parsed before: each device of a search has a profile, mostly the same */

#define KEPT 8u

typedef struct
{
  char *text;
  gsize length;
  GememProfile *profile;
} Kept;

static GMutex kept_lock; /* of both below */
static Kept kept[KEPT];  /* a ring; an empty one has no profile */
static guint n_kept;     /* so many came in */

static GememProfile *
copy_of (const GememProfile *profile)
{
  GememProfile *copy = g_memdup2 (profile, sizeof *copy);

  copy->path = g_strdup (copy->path);
  copy->device_name = g_strdup (copy->device_name);
  return copy;
}

/* The profile that is kept of @text; NULL. */
static GememProfile *
find_kept (const char *text, gsize length, const char *path)
{
  for (guint i = 0; i < KEPT; i++)
    if (kept[i].profile != NULL && kept[i].length == length
        && memcmp (kept[i].text, text, length) == 0 && strcmp (kept[i].profile->path, path) == 0)
      return copy_of (kept[i].profile);
  return NULL;
}

static void
keep (const char *text, gsize length, const GememProfile *profile)
{
  Kept *place = &kept[n_kept++ % KEPT];

  g_free (place->text);
  gemem_profile_free (place->profile);
  *place = (Kept){ g_memdup2 (text, length), length, copy_of (profile) };
}

/* gemem_profile_parse() of @text, of which the last few are kept. */
static GememProfile *
parse_once (const char *text, gsize length, const char *path, GError **error)
{
  g_mutex_lock (&kept_lock);
  GememProfile *profile = find_kept (text, length, path);
  if (profile == NULL)
    {
      profile = gemem_profile_parse (text, length, path, error);
      if (profile != NULL)
        keep (text, length, profile);
    }
  g_mutex_unlock (&kept_lock);
  return profile;
}

/* ---- finding a profile */

static GememProfile *
load_file (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: not a regular file; a profile is a key file (see profiles/generic.ini)",
                 path);
  else if (!g_file_get_contents (path, &text, &length, &cause))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s; check the profile's path and permissions", cause->message);
  else if (length > PROFILE_BYTES_MAX)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: larger than 1 MiB; a profile is a key file (see profiles/generic.ini)", path);
  else
    return parse_once (text, length, path, error);
  return NULL;
}

/* The directories searched, in order. */
static char **
directories (void)
{
  const char *own = g_getenv ("GEMEM_PROFILES");
  g_autofree char *all = g_strconcat (own != NULL ? own : "", ":", GEMEM_DATADIR "/profiles", NULL);
  return g_strsplit (all, ":", -1);
}

static void
add_name (GPtrArray *names, char *name)
{
  if (g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_free (name);
  else
    g_ptr_array_add (names, name);
}

static void
append_cost (GString *text, const GememCallCost *cost)
{
  const guint64 numbers[] = { cost->base_ns,          cost->per_mib_ns,    cost->per_page_ns,
                              cost->per_1000_live_ns, cost->set_access_ns, cost->shared_ns,
                              cost->synchronises };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    g_string_append_printf (text, " %" G_GUINT64_FORMAT, numbers[i]);
  for (guint i = 0; i < cost->n_sizes; i++)
    g_string_append_printf (text, " %" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, cost->sizes[i].bytes,
                            cost->sizes[i].ns);
  g_string_append_c (text, '\n');
}

char *
gemem_profile_costs (const GPtrArray *settings)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      GememProfile *profile = strcmp (setting->key, "profile") == 0
                                  ? gemem_profile_load (setting->value, NULL)
                                  : NULL;

      if (profile == NULL)
        continue;
      g_string_append_printf (text,
                              "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                              profile->capacity, profile->granularity, profile->hit_ns);
      for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
        append_cost (text, &profile->calls[call]);
      gemem_profile_free (profile);
    }
  return g_string_free (text, FALSE);
}

char **
gemem_profile_names (void)
{
  GPtrArray *names = g_ptr_array_new ();
  g_auto (GStrv) dirs = directories ();

  for (guint i = 0; dirs[i] != NULL; i++)
    {
      g_autoptr (GDir) dir = *dirs[i] != '\0' ? g_dir_open (dirs[i], 0, NULL) : NULL;
      const char *file;
      while (dir != NULL && (file = g_dir_read_name (dir)) != NULL)
        if (g_str_has_suffix (file, ".ini"))
          add_name (names, g_strndup (file, strlen (file) - strlen (".ini")));
    }
  for (guint i = 0; i < G_N_ELEMENTS (builtin_profiles); i++)
    add_name (names, g_strdup (builtin_profiles[i].name));
  g_ptr_array_sort (names, gemem_compare_texts);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

GememProfile *
gemem_profile_load (const char *name, GError **error)
{
  g_autofree char *file = g_strconcat (name, ".ini", NULL);
  g_auto (GStrv) dirs = NULL, known = NULL;

  if (strchr (name, '/') != NULL || g_str_has_suffix (name, ".ini"))
    return load_file (name, error);
  dirs = directories ();
  for (guint i = 0; dirs[i] != NULL; i++)
    {
      g_autofree char *path = *dirs[i] != '\0' ? g_build_filename (dirs[i], file, NULL) : NULL;
      if (path != NULL && g_file_test (path, G_FILE_TEST_EXISTS))
        return load_file (path, error);
    }
  for (guint i = 0; i < G_N_ELEMENTS (builtin_profiles); i++)
    if (strcmp (builtin_profiles[i].name, name) == 0)
      {
        g_autofree char *path = g_strconcat ("built-in ", file, NULL);
        return parse_once (builtin_profiles[i].text, strlen (builtin_profiles[i].text), path,
                           error);
      }

  known = gemem_profile_names ();
  const char *nearest = gemem_suggest (name, (const char *const *) known);
  g_autofree char *list = g_strjoinv (", ", known);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "profile '%s': not found; %s%s%sknown are %s; a path has a '/' or ends in .ini",
               name, nearest != NULL ? "did you mean '" : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "'? " : "", list);
  return NULL;
}
