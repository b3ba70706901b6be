/* npu-conf.c - whole settings strings of torch_npu (PYTORCH_NPU_ALLOC_CONF), read as the release
 * reads them: accepted exactly when it accepts them, and with the same effect.
 *
 * Why apart from npu-settings.c: keys behind -a have gemem's reading of sizes, types and bounds.
 * Why not caching-conf.c: the keys, bounds and numbers of torch_npu are its own; words, lists and
 * messages are read there.
 *
 * Two grammars, as PyTorch's.  Before master spaces are removed and every separator is checked;
 * in master all white space is removed, and any separator stands for any other.  Three kinds of
 * numbers: what a text begins with as an int, where a negative one becomes a huge size; digits
 * alone; and, in master, what a text begins with in 64 bits, likewise, for the keys that
 * PyTorch has too.
 *
 * Invariants: every key is a parameter of gemem_npu_params too; nothing outside of NpuParams
 * and the divisions of CachingSettings changes; a refused string leaves them as they were
 * found half-way.
 * Origin: peers.md 1g.8; found by running the real binaries.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/npu.h"

typedef enum
{
  FLAG,
  SPLIT,
  ROUNDING,
  LARGE,
  THRESHOLD,
  FRACTION,
  DIVISIONS,
  ALIGN,
  PAGE,
  SEGMENT,
  NUMBER /* without effect */
} Kind;

typedef struct
{
  const char *name;
  Kind kind;
} Key;

static const Key keys[] = {
  { "max_split_size_mb", SPLIT },
  { "max_non_split_rounding_mb", ROUNDING },
  { "large_segment_size_mb", LARGE },
  { "garbage_collection_threshold", THRESHOLD },
  { "roundup_power2_divisions", DIVISIONS },
  { "expandable_segments", FLAG },
  { "base_addr_aligned_kb", ALIGN },
  { "page_size", PAGE },
  { "segment_size_mb", SEGMENT },
  { "multi_stream_lazy_reclaim", FLAG },
  { "per_process_memory_fraction", FRACTION },
  { "throw_on_npumalloc_oom", FLAG },
  { "release_lock_on_npumalloc", FLAG },
  { "pin_memory_expandable_segments", FLAG },
  { "pinned_mem_register", FLAG },
  { "pinned_reserve_segment_size_mb", NUMBER },
  { "pinned_use_background_threads", FLAG },
  { "pinned_max_round_threshold_mb", NUMBER },
  { "pinned_max_cached_size_mb", NUMBER },
};

typedef struct
{
  CachingConf conf; /* first */
  NpuRelease release;
  NpuParams *params;
} NpuConf;

#define refuse(...) gemem_caching_conf_refuse (&npu->conf, __VA_ARGS__)

static gboolean
is_token (const NpuConf *npu, guint i, const char *word)
{
  return gemem_caching_conf_is (&npu->conf, i, word);
}

static gboolean
refuse_unknown (NpuConf *npu, const char *name)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      const NpuRelease since = gemem_npu_since (keys[i].name);

      if (strcmp (keys[i].name, name) == 0)
        return refuse ("it does not have %s, which came with version=%s; leave it out", name,
                       gemem_npu_versions[since].caching.name);
      if (since <= npu->release)
        g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", keys[i].name);
    }
  return refuse ("unknown key %s; known are %s", name, known->str);
}

/* ---- numbers */

static gboolean
is_digits (const char *text)
{
  return *text != '\0' && text[strspn (text, "0123456789")] == '\0';
}

/* As number(), of digits alone where the release wants that; @own: of a key that
 * PyTorch has not. */
static gboolean
size_number (NpuConf *npu, guint i, gboolean own, guint64 *value)
{
  const NpuNumbers numbers = gemem_npu_versions[npu->release].numbers;

  if ((numbers == NPU_DIGITS || (numbers == NPU_WIDE && own))
      && !is_digits (gemem_caching_conf_token (&npu->conf, i)))
    return refuse ("'%s' is no whole number; use digits alone",
                   gemem_caching_conf_token (&npu->conf, i));
  return gemem_caching_conf_number (&npu->conf, i, numbers != NPU_WIDE || own, value);
}

/* ---- values: each reads from word *@i and leaves there the last one that it read */

/* Before master 0 is a number of divisions, too: none. */
static gboolean
divisions_value (NpuConf *npu, guint *i)
{
  guint64 value = 1;

  if (npu->conf.version->strict && !is_token (npu, *i, "[")
      && !gemem_caching_conf_number (&npu->conf, *i, TRUE, &value))
    return FALSE;
  npu->conf.has_divisions |= value == 0;
  if (value == 0)
    return TRUE;
  if (!gemem_caching_conf_divisions (&npu->conf, i))
    return FALSE;
  return *i < npu->conf.tokens->len || refuse ("the list is not closed; end it with ]");
}

static gboolean
megabytes_value (NpuConf *npu, const Key *key, guint i)
{
  const guint64 large = npu->conf.common->large_segment_size / GEMEM_MIB;
  guint64 least = 0, value;

  if (!size_number (npu, i, FALSE, &value))
    return FALSE;
  if (key->kind == SPLIT)
    least = large + (npu->conf.version->strict ? 1 : 0);
  else if (key->kind == ROUNDING)
    least = large;
  else if (key->kind == LARGE)
    least = CACHING_MIN_LARGE / GEMEM_MIB + 1;
  if (value < least)
    return refuse ("%s is too small; it has to be at least %" G_GUINT64_FORMAT, key->name, least);
  if (key->kind == SPLIT)
    npu->conf.common->max_split_size = gemem_caching_conf_mebibytes (value);
  else if (key->kind == ROUNDING)
    npu->conf.common->max_non_split_rounding = gemem_caching_conf_mebibytes (value);
  else if (key->kind == LARGE) /* a segment of more than this no device has */
    npu->conf.common->large_segment_size = MIN (gemem_caching_conf_mebibytes (value),
                                                GEMEM_GIB << 20);
  return TRUE;
}

/* Nothing but the number as it is printed. */
static gboolean
align_value (NpuConf *npu, guint i)
{
  g_autofree char *printed = NULL;
  guint64 value;

  if (!size_number (npu, i, TRUE, &value))
    return FALSE;
  printed = g_strdup_printf ("%" G_GUINT64_FORMAT, value);
  if (value > 16 || !is_token (npu, i, printed))
    return refuse ("base_addr_aligned_kb is a whole number from 0 to 16, not '%s'",
                   gemem_caching_conf_token (&npu->conf, i));
  npu->params->align_kb = value;
  return TRUE;
}

static gboolean
segment_value (NpuConf *npu, guint i)
{
  guint64 value;

  if (!size_number (npu, i, TRUE, &value))
    return FALSE;
  if (value < 20 || value > 512)
    return refuse ("segment_size_mb has to be from 20 to 512");
  npu->params->segment_size = value * GEMEM_MIB;
  return TRUE;
}

static gboolean
read_value (NpuConf *npu, const Key *key, guint *i)
{
  if (*i >= npu->conf.tokens->len)
    return gemem_caching_conf_separator (&npu->conf, *i, "");
  switch (key->kind)
    {
    case FLAG:
      return gemem_caching_conf_flag (
          &npu->conf, key->name, *i,
          G_STRUCT_MEMBER_P (npu->params, gemem_params_find (gemem_npu_params, key->name)->offset));
    case THRESHOLD:
    case FRACTION:
      return gemem_caching_conf_part (&npu->conf, key->name, key->kind == FRACTION, *i);
    case DIVISIONS:
      return divisions_value (npu, i);
    case ALIGN:
      return align_value (npu, *i);
    case SEGMENT:
      return segment_value (npu, *i);
    case PAGE:
      npu->params->page_size = NPU_PAGE_1G;
      return is_token (npu, *i, "1g")
             || refuse ("page_size is 1g, not '%s'; leave it out for the default",
                        gemem_caching_conf_token (&npu->conf, *i));
    case SPLIT:
    case ROUNDING:
    case LARGE:
    case NUMBER:
    default:
      return megabytes_value (npu, key, *i);
    }
}

/* ---- entries */

static const Key *
find_key (const NpuConf *npu, const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strcmp (keys[i].name, name) == 0 && gemem_npu_since (name) <= npu->release)
      return &keys[i];
  return NULL;
}

/* large_segment_size_mb bounds others, before and behind it. */
static gboolean
read_large (NpuConf *npu)
{
  for (guint i = 0; i < npu->conf.tokens->len; i++)
    {
      const Key *key = find_key (npu, gemem_caching_conf_token (&npu->conf, i));

      if (key != NULL && key->kind == LARGE && i + 2 < npu->conf.tokens->len
          && !megabytes_value (npu, key, i + 2))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_entries (NpuConf *npu)
{
  for (guint i = 0; i < npu->conf.tokens->len; i++)
    {
      const Key *key = find_key (npu, gemem_caching_conf_token (&npu->conf, i));

      if (key == NULL)
        return refuse_unknown (npu, gemem_caching_conf_token (&npu->conf, i));
      if (!gemem_caching_conf_separator (&npu->conf, ++i, ":") || (++i, !read_value (npu, key, &i)))
        return FALSE;
      if (i + 1 < npu->conf.tokens->len && !gemem_caching_conf_separator (&npu->conf, ++i, ","))
        return FALSE;
    }
  return TRUE;
}

gboolean
gemem_npu_conf_parse (const char *text, NpuParams *params, CachingSettings *settings,
                      gboolean *has_divisions, GError **error)
{
  const NpuRelease release = (NpuRelease) params->common.version;
  NpuConf npu = { .conf = { .text = text,
                            .prefix = "",
                            .system = "torch_npu",
                            .version = &gemem_npu_versions[release].caching,
                            .common = &params->common,
                            .settings = settings,
                            .error = error },
                  .release = release,
                  .params = params };
  gboolean ok;

  gemem_caching_conf_tokenize (&npu.conf);
  ok = read_large (&npu) && read_entries (&npu);
  g_ptr_array_unref (npu.conf.tokens);
  *has_divisions = npu.conf.has_divisions;
  return ok;
}
