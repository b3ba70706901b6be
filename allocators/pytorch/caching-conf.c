/* caching-conf.c - whole settings strings of PyTorch (PYTORCH_ALLOC_CONF), read as the version
 * reads them: accepted exactly when it accepts them, and with the same effect.
 *
 * Why apart from caching-settings.c: keys behind -a have gemem's reading of sizes, types and
 * bounds. A string that a program was started with must mean what it meant there: "64.5", "64MB"
 * and "64 x" are 64, "-1" is as good as unlimited, and "max_split_size_mb,64" is read since 2.10.
 *
 * Two grammars.  Up to 2.9 spaces are removed, every separator is checked, and numbers are read
 * as int.  Since 2.10 all white space is removed, any separator stands for any other, numbers
 * have 64 bits, and the string is walked three times: for the backend, for the keys of CUDA, for
 * those of all accelerators (of which large_segment_size_mb first); a walk passes over the keys
 * of the others, and over a bracket to its end.  A string whose backend is cudaMallocAsync is not
 * read any further.
 *
 * Invariants: nothing outside of CachingParams and CachingSettings changes; a refused string leaves
 * them as they were found half-way.
 * Origin: peers.md 1a.11 and 1a.14; found by running the real binaries.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/pytorch/caching.h"

typedef enum
{
  BACKEND,
  FLAG,
  MAX_SPLIT,
  ROUNDING,
  LARGE,
  THRESHOLD,
  FRACTION,
  DIVISIONS,
  THREADS,
  POSITIVE,
  NUMBER,
  RESERVE,
  CLASSES,
} Kind;

typedef struct
{
  const char *name;
  CachingRelease since;
  Kind kind;
  gboolean general; /* since 2.10: of all accelerators, else of CUDA */
  gssize field;     /* FLAG: in CachingParams; -1: decides nothing */
} Key;

#define FIELD(name) (gssize) G_STRUCT_OFFSET (CachingParams, name)

static const Key keys[] = {
  { "backend", CACHING_2_6, BACKEND, FALSE, -1 },
  { "max_split_size_mb", CACHING_2_6, MAX_SPLIT, TRUE, -1 },
  { "max_non_split_rounding_mb", CACHING_2_6, ROUNDING, TRUE, -1 },
  { "garbage_collection_threshold", CACHING_2_6, THRESHOLD, TRUE, -1 },
  { "roundup_power2_divisions", CACHING_2_6, DIVISIONS, TRUE, -1 },
  { "expandable_segments", CACHING_2_6, FLAG, TRUE, FIELD (common.expandable_segments) },
  { "pinned_use_background_threads", CACHING_2_6, FLAG, TRUE, -1 },
  { "release_lock_on_cudamalloc", CACHING_2_6, FLAG, FALSE, FIELD (common.release_lock) },
  { "release_lock_on_hipmalloc", CACHING_2_6, FLAG, FALSE, FIELD (common.release_lock) },
  { "pinned_use_cuda_host_register", CACHING_2_6, FLAG, FALSE, -1 },
  { "pinned_use_hip_host_register", CACHING_2_6, FLAG, FALSE, -1 },
  { "pinned_num_register_threads", CACHING_2_6, THREADS, FALSE, -1 },
  { "pinned_reserve_segment_size_mb", CACHING_2_10, POSITIVE, FALSE, -1 },
  { "graph_capture_record_stream_reuse", CACHING_2_9, FLAG, FALSE, FIELD (capture_reuse) },
  { "per_process_memory_fraction", CACHING_2_10, FRACTION, FALSE, -1 },
  { "large_segment_size_mb", CACHING_2_11, LARGE, TRUE, -1 },
  { "throw_on_cudamalloc_oom", CACHING_2_12_1, FLAG, FALSE, FIELD (common.throw_on_oom) },
  { "pinned_free_catch_all", CACHING_2_12_1, FLAG, FALSE, -1 },
  { "pinned_max_round_threshold_mb", CACHING_2_13, NUMBER, FALSE, -1 },
  { "pinned_max_cached_size_mb", CACHING_2_13, NUMBER, FALSE, -1 },
  { "expandable_segments_reserve", CACHING_2_15, RESERVE, FALSE, -1 },
  { "expandable_segments_reserve_by_class", CACHING_2_15, CLASSES, FALSE, -1 },
};

typedef CachingConf Conf;

gboolean
gemem_caching_conf_reads (gconstpointer params, const char *key)
{
  const int release = ((const CachingParams *) params)->common.version;

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i].name, key) == 0)
      return (int) keys[i].since <= release;
  return FALSE;
}

/* ---- messages */

/* @what: what is wrong and what to do; always FALSE. */
gboolean
gemem_caching_conf_refuse (Conf *conf, const char *what, ...)
{
  va_list arguments;
  g_autofree char *problem = NULL;

  va_start (arguments, what);
  problem = g_strdup_vprintf (what, arguments);
  va_end (arguments);
  g_set_error (conf->error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%sconf='%s': %s %s refuses it: %s",
               conf->prefix, conf->text, conf->system, conf->version->name, problem);
  return FALSE;
}

static gboolean
refuse_unknown (Conf *conf, const char *name)
{
  g_autoptr (GString) known = g_string_new (NULL);
  const char *near;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i].name, name) == 0)
      return gemem_caching_conf_refuse (conf,
                                        "it does not have %s, which came with %s; leave it out",
                                        name, gemem_caching_versions[keys[i].since].name);
    else if (keys[i].since <= conf->release)
      {
        g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", keys[i].name);
        g_ptr_array_add (names, (gpointer) keys[i].name);
      }
  g_ptr_array_add (names, NULL);
  near = gemem_suggest (name, (const char *const *) names->pdata);
  if (near != NULL)
    return gemem_caching_conf_refuse (conf, "unknown key %s; did you mean %s?", name, near);
  return gemem_caching_conf_refuse (conf, "unknown key %s; known are %s", name, known->str);
}

/* ---- words */

static gboolean
is_removed (const Conf *conf, char c)
{
  /* g_ascii_isspace() leaves out the vertical tab */
  return c == ' ' || (!conf->version->strict && (g_ascii_isspace (c) || c == '\v'));
}

/* Splits the text at the separators, which are words too. */
void
gemem_caching_conf_tokenize (Conf *conf)
{
  g_autoptr (GString) word = g_string_new (NULL);

  conf->tokens = g_ptr_array_new_with_free_func (g_free);
  for (const char *p = conf->text;; p++)
    {
      const gboolean separates = *p == '\0' || strchr (",:[]", *p) != NULL;

      if (!separates && !is_removed (conf, *p))
        g_string_append_c (word, *p);
      if (separates && word->len > 0)
        {
          g_ptr_array_add (conf->tokens, g_strdup (word->str));
          g_string_truncate (word, 0);
        }
      if (*p == '\0')
        return;
      if (separates)
        g_ptr_array_add (conf->tokens, g_strndup (p, 1));
    }
}

/* Word @i, or NULL after the end. */
const char *
gemem_caching_conf_token (const Conf *conf, guint i)
{
  return i < conf->tokens->len ? g_ptr_array_index (conf->tokens, i) : NULL;
}

gboolean
gemem_caching_conf_is (const Conf *conf, guint i, const char *word)
{
  return gemem_caching_conf_token (conf, i) != NULL
         && strcmp (gemem_caching_conf_token (conf, i), word) == 0;
}

/* Word @i is there, and is @word where separators are checked. */
gboolean
gemem_caching_conf_separator (Conf *conf, guint i, const char *word)
{
  if (gemem_caching_conf_token (conf, i) == NULL)
    return gemem_caching_conf_refuse (
        conf, "it ends too early; each entry is KEY:VALUE, as in max_split_size_mb:200");
  if (conf->version->strict && !gemem_caching_conf_is (conf, i, word))
    return gemem_caching_conf_refuse (conf,
                                      "'%s' stands where '%s' should; write KEY:VALUE,KEY:VALUE",
                                      gemem_caching_conf_token (conf, i), word);
  return TRUE;
}

/* The number that word @i begins with; @small: which 2.9 reads as an int. */
gboolean
gemem_caching_conf_number (Conf *conf, guint i, gboolean small, guint64 *value)
{
  const char *text = gemem_caching_conf_token (conf, i) != NULL ? gemem_caching_conf_token (conf, i)
                                                                : "";
  char *end;

  small = small && conf->version->strict;
  errno = 0;
  if (small)
    {
      const gint64 n = g_ascii_strtoll (text, &end, 10);

      if (errno == 0 && (n < G_MININT32 || n > G_MAXINT32))
        errno = ERANGE;
      *value = (guint64) n;
    }
  else
    *value = g_ascii_strtoull (text, &end, 10);
  if (end == text)
    return gemem_caching_conf_refuse (conf, "'%s' is no number; use a whole one", text);
  if (errno != 0)
    return gemem_caching_conf_refuse (conf, "'%s' is too large; it has to be below 2^%u", text,
                                      small ? 31 : 64);
  return TRUE;
}

static gboolean
is_power (guint64 value)
{
  return value != 0 && (value & (value - 1)) == 0;
}

/* @value MiB in bytes, as far as they go. */
guint64
gemem_caching_conf_mebibytes (guint64 value)
{
  return MIN (value, G_MAXUINT64 / GEMEM_MIB) * GEMEM_MIB;
}

/* ---- values: each reads from word *@i and leaves there the last one that it read */

static gboolean
list_entry (Conf *conf, guint i, guint *last, gboolean *first)
{
  const gboolean rest = gemem_caching_conf_is (conf, i, ">");
  guint64 key = 0, divisions;

  if (!rest && !gemem_caching_conf_number (conf, i, FALSE, &key))
    return FALSE;
  if (!rest && !is_power (key))
    return gemem_caching_conf_refuse (
        conf, "the sizes of roundup_power2_divisions have to be powers of two");
  if (!gemem_caching_conf_separator (conf, i + 1, ":")
      || !gemem_caching_conf_number (conf, i + 2, TRUE, &divisions))
    return FALSE;
  if (divisions != 0 && !is_power (divisions))
    return gemem_caching_conf_refuse (conf,
                                      "the divisions have to be powers of two, or 0 for none");
  if (rest)
    gemem_caching_divisions_set_rest (conf->version, conf->settings->divisions, divisions, *last);
  else
    gemem_caching_divisions_set (conf->settings->divisions, key, divisions, last, first);
  return TRUE;
}

static gboolean
division_list (Conf *conf, guint *i)
{
  guint last = 0;
  gboolean first = TRUE;

  for ((*i)++;
       gemem_caching_conf_token (conf, *i) != NULL && !gemem_caching_conf_is (conf, *i, "]");)
    {
      if (!list_entry (conf, *i, &last, &first))
        return FALSE;
      *i += 3;
      if (gemem_caching_conf_is (conf, *i, "]"))
        break;
      if (!gemem_caching_conf_separator (conf, *i, ","))
        return FALSE;
      (*i)++;
    }
  if (gemem_caching_conf_token (conf, *i) == NULL && !conf->version->strict)
    return gemem_caching_conf_refuse (conf, "the list is not closed; end it with ]");
  return TRUE;
}

gboolean
gemem_caching_conf_divisions (Conf *conf, guint *i)
{
  guint64 divisions;

  conf->has_divisions = TRUE;
  if (gemem_caching_conf_is (conf, *i, "["))
    return division_list (conf, i);
  if (!gemem_caching_conf_number (conf, *i, TRUE, &divisions))
    return FALSE;
  if (!is_power (divisions))
    return gemem_caching_conf_refuse (conf, "roundup_power2_divisions has to be a power of two");
  for (guint slot = 0; slot < CACHING_DIVISION_SLOTS; slot++)
    conf->settings->divisions[slot] = divisions;
  return TRUE;
}

/* [NAME:RESERVE,...]: for pools of such a class, which no trace names.  Only the end is looked for:
 * what opens the list may be another word, and separators other ones, or none between entries. */
static gboolean
classes_value (Conf *conf, guint *i)
{
  for ((*i)++; !gemem_caching_conf_is (conf, *i, "]");)
    {
      if (gemem_caching_conf_token (conf, *i) == NULL)
        return gemem_caching_conf_refuse (
            conf,
            "expandable_segments_reserve_by_class is a list that ends with ], as in [NAME:0.5]");
      *i += 3;
      if (gemem_caching_conf_is (conf, *i, ","))
        (*i)++;
    }
  return TRUE;
}

gboolean
gemem_caching_conf_flag (Conf *conf, const char *name, guint i, gboolean *value)
{
  *value = gemem_caching_conf_is (conf, i, "True");
  return *value || gemem_caching_conf_is (conf, i, "False")
         || gemem_caching_conf_refuse (conf, "%s is True or False, not '%s'", name,
                                       gemem_caching_conf_token (conf, i));
}

/* A size in MiB that large_segment_size_mb bounds. */
static gboolean
bounded_value (Conf *conf, const Key *key, guint i, guint64 *bytes)
{
  const guint64 least = conf->common->large_segment_size / GEMEM_MIB;
  guint64 value;

  if (!gemem_caching_conf_number (conf, i, TRUE, &value))
    return FALSE;
  if (value < least || (conf->version->strict && value == least))
    return gemem_caching_conf_refuse (conf, "%s is too small; it has to be %s %" G_GUINT64_FORMAT,
                                      key->name, conf->version->strict ? "above" : "at least",
                                      least);
  *bytes = gemem_caching_conf_mebibytes (value);
  return TRUE;
}

static gboolean
counted_value (Conf *conf, const Key *key, guint i)
{
  guint64 value;

  if (!gemem_caching_conf_number (conf, i, TRUE, &value))
    return FALSE;
  if (key->kind == THREADS && (!is_power (value) || value > 128))
    return gemem_caching_conf_refuse (conf, "%s has to be a power of two up to 128", key->name);
  if (key->kind == POSITIVE && value == 0)
    return gemem_caching_conf_refuse (conf, "%s has to be above 0", key->name);
  if (key->kind == LARGE && value <= CACHING_MIN_LARGE / GEMEM_MIB)
    return gemem_caching_conf_refuse (conf, "%s has to be above 10", key->name);
  if (key->kind == LARGE)
    conf->common->large_segment_size = gemem_caching_conf_mebibytes (value);
  return TRUE;
}

gboolean
gemem_caching_conf_part (Conf *conf, const char *name, gboolean fraction, guint i)
{
  const char *text = gemem_caching_conf_token (conf, i);
  char *end;
  double value;

  errno = 0;
  value = g_ascii_strtod (text, &end);
  if (end == text || errno != 0)
    return gemem_caching_conf_refuse (conf, "'%s' is no number that fits; use one such as 0.8",
                                      text);
  if (!fraction && !(value > 0 && value < 1))
    return gemem_caching_conf_refuse (conf, "%s has to be between 0 and 1", name);
  if (fraction && !(value >= 0 && value <= 1))
    return gemem_caching_conf_refuse (conf, "%s has to be from 0 to 1", name);
  if (fraction)
    conf->common->memory_fraction = value;
  else
    conf->common->garbage_collection_threshold = value;
  return TRUE;
}

static gboolean
read_value (Conf *conf, const Key *key, guint *i)
{
  gboolean unused;

  if (gemem_caching_conf_token (conf, *i) == NULL)
    return gemem_caching_conf_separator (conf, *i, "");
  switch (key->kind)
    {
    case BACKEND:
      return gemem_caching_conf_is (conf, *i, "native")
             || gemem_caching_conf_refuse (
                 conf, "the backend is native or cudaMallocAsync, named first, not '%s'",
                 gemem_caching_conf_token (conf, *i));
    case FLAG:
      return gemem_caching_conf_flag (conf, key->name, *i,
                                      key->field >= 0 ? G_STRUCT_MEMBER_P (conf->params, key->field)
                                                      : &unused);
    case MAX_SPLIT:
      return bounded_value (conf, key, *i, &conf->common->max_split_size);
    case ROUNDING:
      return bounded_value (conf, key, *i, &conf->common->max_non_split_rounding);
    case THRESHOLD:
    case FRACTION:
      return gemem_caching_conf_part (conf, key->name, key->kind == FRACTION, *i);
    case DIVISIONS:
      return gemem_caching_conf_divisions (conf, i);
    case RESERVE: /* another value is passed over, with a warning */
      gemem_caching_reserve_parse (gemem_caching_conf_token (conf, *i), conf->settings);
      return TRUE;
    case CLASSES:
      return classes_value (conf, i);
    case LARGE:
    case THREADS:
    case POSITIVE:
    case NUMBER:
    default:
      return counted_value (conf, key, *i);
    }
}

/* ---- entries */

static const Key *
find_key (const Conf *conf, const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i].since <= conf->release && strcmp (keys[i].name, name) == 0)
      return &keys[i];
  return NULL;
}

static gboolean
read_strict (Conf *conf)
{
  for (guint i = 0; i < conf->tokens->len; i++)
    {
      const Key *key = find_key (conf, gemem_caching_conf_token (conf, i));

      if (key == NULL)
        return refuse_unknown (conf, gemem_caching_conf_token (conf, i));
      if (!gemem_caching_conf_separator (conf, i + 1, ":"))
        return FALSE;
      i += 2;
      if (!read_value (conf, key, &i))
        return FALSE;
      if (gemem_caching_conf_token (conf, i + 1) != NULL
          && !gemem_caching_conf_separator (conf, ++i, ","))
        return FALSE;
    }
  return TRUE;
}

/* Passes over the value that begins at word *@i. */
static gboolean
skip_value (Conf *conf, guint *i)
{
  if (gemem_caching_conf_token (conf, *i) == NULL)
    return gemem_caching_conf_separator (conf, *i, "");
  if (!gemem_caching_conf_is (conf, *i, "["))
    return TRUE;
  while (!gemem_caching_conf_is (conf, *i, "]"))
    if (gemem_caching_conf_token (conf, ++*i) == NULL)
      return gemem_caching_conf_refuse (conf, "a bracket is not closed; end the list with ]");
  return TRUE;
}

/* large_segment_size_mb bounds others, before and behind it; it is read wherever it stands, be it
 * within the value of another key. */
static gboolean
read_large (Conf *conf)
{
  for (guint i = 0; i < conf->tokens->len; i++)
    {
      const Key *key = find_key (conf, gemem_caching_conf_token (conf, i));

      if (key != NULL && key->kind == LARGE
          && (!gemem_caching_conf_separator (conf, i + 2, "") || !counted_value (conf, key, i + 2)))
        return FALSE;
    }
  return TRUE;
}

/* A walk that reads the general keys, or those of CUDA. */
static gboolean
walk (Conf *conf, gboolean general)
{
  for (guint i = 0; i < conf->tokens->len; i += 2)
    {
      const Key *key = find_key (conf, gemem_caching_conf_token (conf, i));

      if (key == NULL)
        return refuse_unknown (conf, gemem_caching_conf_token (conf, i));
      i += 2;
      if (!(key->general == general && key->kind != LARGE ? read_value (conf, key, &i)
                                                          : skip_value (conf, &i)))
        return FALSE;
    }
  return TRUE;
}

/* The walk for the backend; @name: its name, or NULL. */
static gboolean
find_backend (Conf *conf, const char **name)
{
  for (guint i = 0; i < conf->tokens->len; i += 2)
    {
      const gboolean here = gemem_caching_conf_is (conf, i, "backend");

      i += 2;
      if (here && gemem_caching_conf_token (conf, i) != NULL)
        {
          *name = gemem_caching_conf_token (conf, i);
          return TRUE;
        }
      if (!skip_value (conf, &i))
        return FALSE;
    }
  return TRUE;
}

/* Up to 2.9 entries end at white space too as the backend is looked for. */
static gboolean
chooses_async (const char *text)
{
  g_auto (GStrv) entries = g_strsplit_set (text, ", \t\n\v\f\r", -1);

  for (guint i = 0; entries[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (entries[i], ":", -1);

      if (parts[0] != NULL && parts[1] != NULL && strcmp (parts[0], "backend") == 0)
        return strcmp (parts[1], "cudaMallocAsync") == 0;
    }
  return FALSE;
}

static gboolean
parse (Conf *conf)
{
  const char *backend = NULL;

  if (!conf->version->strict && !find_backend (conf, &backend))
    return FALSE;
  if (conf->version->strict ? chooses_async (conf->text)
                            : g_strcmp0 (backend, "cudaMallocAsync") == 0)
    {
      conf->params->backend = CACHING_BACKEND_ASYNC;
      return TRUE;
    }
  return conf->version->strict ? read_strict (conf)
                               : walk (conf, FALSE) && read_large (conf) && walk (conf, TRUE);
}

gboolean
gemem_caching_conf_parse (const char *text, CachingParams *params, CachingSettings *settings,
                          gboolean *has_divisions, GError **error)
{
  Conf conf = { .text = text,
                .prefix = "allocator pytorch-caching: ",
                .system = "PyTorch",
                .version = settings->version,
                .release = (CachingRelease) params->common.version,
                .common = &params->common,
                .params = params,
                .settings = settings,
                .error = error };
  gboolean ok;

  gemem_caching_conf_tokenize (&conf);
  ok = parse (&conf);
  g_ptr_array_unref (conf.tokens);
  *has_divisions = conf.has_divisions;
  return ok;
}
