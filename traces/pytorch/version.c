/* version.c - see version.h.  Versions are minors of 2. */
#include "config.h"

#include <string.h>

#include "traces/pytorch/version.h"

#define NEWEST 15

static const struct
{
  guint minor;
  gboolean optional; /* its absence tells nothing */
  const char *where, *what;
} features[GEMEM_PYTORCH_FEATURES] = {
  [GEMEM_PYTORCH_HAS_BLOCK_ADDRESS] = { 1, FALSE, "blocks have", "address" },
  [GEMEM_PYTORCH_HAS_TIME] = { 2, FALSE, "events have", "time_us" },
  [GEMEM_PYTORCH_HAS_SETTINGS] = { 3, FALSE, "there is", "allocator_settings" },
  [GEMEM_PYTORCH_HAS_ANNOTATIONS] = { 5, FALSE, "there is", "external_annotations" },
  [GEMEM_PYTORCH_HAS_COMPILE_CONTEXT] = { 8, FALSE, "events have", "compile_context" },
  [GEMEM_PYTORCH_HAS_GRAPH_REUSE] = { 9, FALSE, "there is", "graph_capture_record_stream_reuse" },
  [GEMEM_PYTORCH_HAS_USER_METADATA] = { 10, FALSE, "events have", "user_metadata" },
  [GEMEM_PYTORCH_HAS_LARGE_SEGMENT] = { 11, TRUE, "it was set", "large_segment_size_mb" },
  [GEMEM_PYTORCH_HAS_POOL_ID] = { 12, FALSE, "events have", "pool_id" },
  [GEMEM_PYTORCH_HAS_MAX_CACHED_SIZE] = { 13, FALSE, "there is", "max_cached_size" },
  [GEMEM_PYTORCH_HAS_HOST_TRACES] = { 14, FALSE, "there is", "host_traces" },
};

static void
append_range (GString *text, guint least, guint most)
{
  if (least == 0 && most == 0)
    g_string_append (text, "2.0 or older");
  else if (most >= NEWEST)
    g_string_append_printf (text, "2.%u or later", least);
  else if (least == most)
    g_string_append_printf (text, "2.%u", least);
  else if (least == 0)
    g_string_append_printf (text, "2.%u or older", most);
  else
    g_string_append_printf (text, "2.%u %s 2.%u", least, most == least + 1 ? "or" : "to", most);
}

/* The features that bound the version: the newest present, the oldest absent; -1: none. */
static void
find_bounds (guint seen, guint possible, int *present, int *absent)
{
  *present = *absent = -1;
  for (int f = 0; f < GEMEM_PYTORCH_FEATURES; f++)
    if (seen >> f & 1)
      *present = f;
  for (int f = GEMEM_PYTORCH_FEATURES - 1; f > *present; f--)
    if ((possible >> f & 1) != 0 && !features[f].optional)
      *absent = f;
}

guint
gemem_pytorch_version_newest (guint seen, guint possible)
{
  int present, absent;

  find_bounds (seen, possible, &present, &absent);
  if (absent >= 0)
    return features[absent].minor - 1;
  return present >= 0 ? NEWEST : 0;
}

char *
gemem_pytorch_version_infer (guint seen, guint possible)
{
  int present, absent;
  g_autoptr (GString) text = g_string_new (NULL);

  find_bounds (seen, possible, &present, &absent);
  append_range (text, present >= 0 ? features[present].minor : 0,
                absent >= 0 ? features[absent].minor - 1 : NEWEST);
  g_string_append (text, " (inferred: ");
  if (present >= 0)
    g_string_append_printf (text, "%s %s", features[present].where, features[present].what);
  if (absent >= 0)
    g_string_append_printf (text, "%sno %s", present >= 0 ? ", but " : "there is ",
                            features[absent].what);
  if (present < 0 && absent < 0)
    g_string_append (text, "nothing in the file tells");
  g_string_append_c (text, ')');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
gemem_pytorch_version_is_valid (const char *text)
{
  guint dots = 0;
  gboolean digit = FALSE;

  for (; *text != '\0'; text++)
    {
      if (*text == '.' && !digit)
        return FALSE;
      if (*text != '.' && !g_ascii_isdigit (*text))
        return FALSE;
      digit = *text != '.';
      dots += *text == '.';
    }
  return digit && (dots == 1 || dots == 2);
}

guint
gemem_pytorch_version_parse (const char *text)
{
  const guint64 major = g_ascii_strtoull (text, NULL, 10),
                minor = g_ascii_strtoull (strchr (text, '.') + 1, NULL, 10);

  if (major != 2)
    return major < 2 ? 0 : NEWEST;
  return (guint) MIN (minor, NEWEST);
}
