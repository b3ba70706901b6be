/* vectors.c - see vectors.h. A line that cannot be parsed counts as a difference: no line is
 * skipped silently. */
#include "config.h"

#include <gio/gio.h>
#include <string.h>

#include "tests/util/vectors.h"

#define CHECK_EVERY 64

typedef struct
{
  const char *path;
  guint64 line;
  const TestVectorOptions *options;
  GememAllocator *allocator;
  GHashTable *live; /* id -> GememBlock *; only looked up, never iterated */
  TestVectorCounts counts;
} Replay;

char *
test_read_text (const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GError) error = NULL;
  g_autoptr (GInputStream) stream = G_INPUT_STREAM (g_file_read (file, NULL, &error));
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable ();

  g_assert_no_error (error);
  if (g_str_has_suffix (path, ".gz"))
    {
      g_autoptr (GConverter)
          gunzip = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
      GInputStream *plain = g_converter_input_stream_new (stream, gunzip);

      g_object_unref (stream);
      stream = plain;
    }
  g_output_stream_splice (memory, stream, G_OUTPUT_STREAM_SPLICE_CLOSE_SOURCE, NULL, &error);
  g_assert_no_error (error);
  g_output_stream_write_all (memory, "", 1, NULL, NULL, &error);
  g_assert_no_error (error);
  g_output_stream_close (memory, NULL, &error);
  g_assert_no_error (error);
  return g_memory_output_stream_steal_data (G_MEMORY_OUTPUT_STREAM (memory));
}

/* ---- first line */

static void
append_setting (GString *spec, const char *key, const char *rest)
{
  g_string_append_printf (spec, "%s%s%s", spec->str[spec->len - 1] == ':' ? "" : ",", key, rest);
}

/* "# single|two|exp --total=N --cap=N": modes of GE's pools, as options of a program. */
static char *
ge_spec (const char *mode, char **words)
{
  const gboolean expandable = g_str_equal (mode, "exp");
  GString *spec = g_string_new (expandable ? "ge-expandable:" : "ge-scalable:");

  if (!expandable)
    append_setting (spec, "stack=", mode);
  for (; *words != NULL; words++)
    if (g_str_has_prefix (*words, "--cap="))
      append_setting (spec, "capacity=", *words + strlen ("--cap="));
    else if (g_str_has_prefix (*words, "--"))
      append_setting (spec, "", *words + 2);
    else
      g_error ("%s: not an option of a ge-runtime vector", *words);
  return g_string_free (spec, FALSE);
}

static char *
spec_of_line (const char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  GString *spec;

  g_assert_cmpstr (words[0], ==, "#");
  g_assert_nonnull (words[1]);
  if (g_str_equal (words[1], "single") || g_str_equal (words[1], "two")
      || g_str_equal (words[1], "exp"))
    return ge_spec (words[1], words + 2);
  spec = g_string_new (words[1]);
  for (guint i = 2; words[i] != NULL; i++)
    g_string_append_printf (spec, "%c%s", i == 2 ? ':' : ',', words[i]);
  return g_string_free (spec, FALSE);
}

static char *
first_line (const char *text)
{
  return g_strndup (text, strcspn (text, "\n"));
}

char *
test_vector_spec (const char *path)
{
  g_autofree char *text = test_read_text (path);
  g_autofree char *line = first_line (text);

  return spec_of_line (line);
}

/* ---- making allocators */

static const char *
find_setting (const GPtrArray *settings, const char *key)
{
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);

      if (gemem_name_equal (setting->key, key))
        return setting->value;
    }
  return NULL;
}

/* The older Paddle vectors name the capacity `total`, which is an allocator setting there. */
static char *
device_of_spec (const GememAllocatorSpec *spec)
{
  GString *device = g_string_new ("sim");
  const char *total = find_setting (spec->settings, "total");

  if (total == NULL)
    total = find_setting (spec->device, "total");
  for (guint i = 0; i < spec->device->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (spec->device, i);

      g_string_append_printf (device, "%c%s=%s", i == 0 ? ':' : ',', setting->key, setting->value);
    }
  if (total != NULL && find_setting (spec->device, "capacity") == NULL
      && g_str_has_prefix (spec->klass->name, "paddle"))
    g_string_append_printf (device, "%ccapacity=%s", spec->device->len == 0 ? ':' : ',', total);
  return g_string_free (device, FALSE);
}

GememAllocator *
test_allocator_new (const char *text, const char *device_text)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *from_spec = NULL;
  GError *error = NULL;
  GememDevice *device;
  GememAllocator *allocator;

  gemem_allocator_spec_parse (text, specs, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (specs->len, ==, 1);
  if (device_text == NULL)
    device_text = from_spec = device_of_spec (g_ptr_array_index (specs, 0));
  device = gemem_device_new (device_text, NULL, 0, &error);
  g_assert_no_error (error);
  allocator = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, &error);
  g_assert_no_error (error);
  return allocator;
}

void
test_allocator_refused (const char *spec, const char *message)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememDevice *device = gemem_device_new ("sim:capacity=1GiB", NULL, 0, NULL);
  g_autoptr (GError) error = NULL;

  if (gemem_allocator_spec_parse (spec, specs, &error))
    g_assert_null (gemem_allocator_new (specs->pdata[0], NULL, device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, message) == NULL)
    g_error ("%s: %s", spec, error->message);
  g_assert_cmpuint (device->held, ==, 0);
  gemem_device_destroy (device);
}

void
test_allocator_destroy (GememAllocator *allocator)
{
  GememDevice *device = allocator->device;

  gemem_allocator_destroy (allocator);
  g_assert_cmpuint (device->held, ==, 0);
  gemem_device_destroy (device);
}

/* ---- invariants */

typedef struct
{
  guint64 live, live_bytes, physical, end;
  gboolean ok;
} WalkSum;

static void
add_span (const GememSpan *span, gpointer data)
{
  WalkSum *sum = data;
  const gboolean inside = span->address >= span->segment
                          && span->address + span->size <= span->segment + span->segment_size;

  if (!inside || span->address < sum->end || span->size == 0)
    {
      if (sum->ok)
        g_test_message ("walk: span 0x%" G_GINT64_MODIFIER "x of %" G_GUINT64_FORMAT
                        " overlaps, is empty, or leaves its segment",
                        span->address, span->size);
      sum->ok = FALSE;
    }
  sum->end = span->address + span->size;
  if (span->state != GEMEM_SPAN_UNMAPPED)
    sum->physical += span->size;
  if (span->state == GEMEM_SPAN_LIVE)
    {
      sum->live++;
      sum->live_bytes += span->size;
    }
}

gboolean
test_allocator_verify (GememAllocator *allocator, guint64 live, guint64 live_bytes)
{
  WalkSum sum = { .ok = TRUE };
  g_autoptr (GError) error = NULL;

  if (!allocator->klass->check (allocator, &error))
    {
      g_test_message ("check: %s", error->message);
      return FALSE;
    }
  allocator->klass->walk (allocator, add_span, &sum);
  if (sum.physical != allocator->device->held || sum.live != live
      || (live_bytes != G_MAXUINT64 && sum.live_bytes != live_bytes))
    {
      g_test_message ("walk: %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT
                      " live blocks of %" G_GUINT64_FORMAT " bytes; held %" G_GUINT64_FORMAT
                      ", %" G_GUINT64_FORMAT " live blocks",
                      sum.physical, sum.live, sum.live_bytes, allocator->device->held, live);
      return FALSE;
    }
  return sum.ok;
}

typedef struct
{
  const char *name;
  guint64 value;
  guint found;
} Wanted;

static void
take_stat (const char *name, guint64 value, G_GNUC_UNUSED const char *unit, gpointer data)
{
  Wanted *wanted = data;

  if (!g_str_equal (name, wanted->name))
    return;
  wanted->value = value;
  wanted->found++;
}

guint64
test_allocator_stat (GememAllocator *allocator, const char *name)
{
  Wanted wanted = { .name = name };

  allocator->klass->report.stats (allocator, take_stat, &wanted);
  if (wanted.found != 1)
    g_error ("%u statistics %s", wanted.found, name);
  return wanted.value;
}

/* ---- one line */

static gboolean
differs (const Replay *r, const char *what, guint64 expected, guint64 got)
{
  g_test_message ("%s:%" G_GUINT64_FORMAT ": %s is %" G_GUINT64_FORMAT " (0x%" G_GINT64_MODIFIER
                  "x), expected %" G_GUINT64_FORMAT " (0x%" G_GINT64_MODIFIER "x)",
                  r->path, r->line, what, got, got, expected, expected);
  return FALSE;
}

static gboolean
bad_line (const Replay *r, const char *line)
{
  g_test_message ("%s:%" G_GUINT64_FORMAT ": not understood: %s", r->path, r->line, line);
  return FALSE;
}

/* Compares the figures "key=value" and flags of a result. */
static gboolean
same_figures (Replay *r, char **words, const GememBlock *block, guint64 request)
{
  for (; *words != NULL; words++)
    {
      g_auto (GStrv) pair = g_strsplit (*words, "=", 2);
      const guint64 expected = pair[1] != NULL ? g_ascii_strtoull (pair[1], NULL, 0) : 1;
      guint64 got = 0;

      if (g_str_equal (pair[0], "reserved"))
        got = r->allocator->device->held;
      else if (g_str_equal (pair[0], "size") && block != NULL)
        got = block->size;
      else if (g_str_equal (pair[0], "real") && block != NULL)
        got = request;
      else if (r->options == NULL || r->options->figure == NULL
               || !r->options->figure (r->allocator, block, pair[0], &got, r->options->figure_data))
        return bad_line (r, *words);
      if (got != expected)
        return differs (r, pair[0], expected, got);
    }
  return TRUE;
}

static void
remember (Replay *r, guint64 id, const GememBlock *block)
{
  guint64 *key = g_new (guint64, 1);
  GememBlock *value = g_new (GememBlock, 1);

  *key = id;
  *value = *block;
  g_hash_table_insert (r->live, key, value);
}

/* a ID SIZE -> 0xADDR ... | NULL ... */
static gboolean
replay_alloc (Replay *r, char **operation, char **result)
{
  const guint64 id = g_ascii_strtoull (operation[1], NULL, 10);
  const GememRequest request = { .size = g_ascii_strtoull (operation[2], NULL, 10) };
  const gboolean expect_failure = g_str_equal (result[0], "NULL");
  GememBlock block = { 0 };
  const gboolean ok = r->allocator->klass->alloc (r->allocator, &request, &block);

  r->counts.allocs++;
  if (ok == expect_failure)
    return differs (r, ok ? "address (out of memory expected)" : "address (out of memory)",
                    g_ascii_strtoull (result[0], NULL, 0), block.address);
  if (!ok)
    {
      r->counts.failures++;
      return same_figures (r, result + 1, NULL, request.size);
    }
  if (block.address != g_ascii_strtoull (result[0], NULL, 0))
    return differs (r, "address", g_ascii_strtoull (result[0], NULL, 0), block.address);
  if (g_hash_table_contains (r->live, &id))
    return bad_line (r, operation[1]);
  remember (r, id, &block);
  return same_figures (r, result + 1, &block, request.size);
}

/* f ID -> reserved=... | ? */
static gboolean
replay_free (Replay *r, char **operation, char **result)
{
  const guint64 id = g_ascii_strtoull (operation[1], NULL, 10);
  const GememBlock *block = g_hash_table_lookup (r->live, &id);
  const gboolean failed = g_str_equal (result[0], "?");

  if (failed != (block == NULL))
    return bad_line (r, operation[1]);
  if (failed)
    {
      r->counts.skipped_frees++;
      return TRUE;
    }
  r->counts.frees++;
  r->allocator->klass->free (r->allocator, block, FALSE);
  g_hash_table_remove (r->live, &id);
  return same_figures (r, result, NULL, 0);
}

static gboolean
replay_line (Replay *r, const char *line)
{
  g_auto (GStrv) sides = g_strsplit (line, " -> ", 2);
  g_auto (GStrv) operation = g_strsplit (sides[0], " ", -1);
  g_auto (GStrv) result = g_strsplit (sides[1] != NULL ? sides[1] : "", " ", -1);
  const guint words = g_strv_length (operation);

  if (sides[1] == NULL || result[0] == NULL)
    return bad_line (r, line);
  r->counts.operations++;
  if (g_str_equal (operation[0], "a") && words == 3)
    return replay_alloc (r, operation, result);
  if (g_str_equal (operation[0], "f") && words == 2)
    return replay_free (r, operation, result);
  if (g_str_equal (operation[0], "r") && words == 1)
    {
      r->counts.trims++;
      if (r->allocator->klass->trim != NULL)
        r->allocator->klass->trim (r->allocator);
      return same_figures (r, result, NULL, 0);
    }
  return bad_line (r, line);
}

static gboolean
replay_lines (Replay *r, char **lines)
{
  const guint every = r->options != NULL && r->options->check_every != 0 ? r->options->check_every
                                                                         : CHECK_EVERY;

  for (r->line = 2; *lines != NULL && **lines != '\0'; lines++, r->line++)
    {
      const guint64 failures = r->counts.failures;

      if (!replay_line (r, *lines))
        return FALSE;
      if ((r->counts.operations % every == 0 || r->counts.failures != failures)
          && !test_allocator_verify (r->allocator, g_hash_table_size (r->live), G_MAXUINT64))
        {
          g_test_message ("%s:%" G_GUINT64_FORMAT ": after this line", r->path, r->line);
          return FALSE;
        }
    }
  return *lines != NULL ? lines[1] == NULL : bad_line (r, "the last line has no end: truncated");
}

gboolean
test_vector_replay (const char *path, const TestVectorOptions *options, TestVectorCounts *counts)
{
  g_autofree char *text = test_read_text (path);
  g_autofree char *line = first_line (text);
  g_autofree char *spec = options != NULL && options->spec != NULL ? g_strdup (options->spec)
                                                                   : spec_of_line (line);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  Replay replay = { .path = path, .options = options };
  gboolean ok;

  replay.allocator = test_allocator_new (spec, options != NULL ? options->device : NULL);
  replay.live = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  ok = replay_lines (&replay, lines + 1);
  g_hash_table_unref (replay.live);
  test_allocator_destroy (replay.allocator);
  if (!ok)
    g_test_fail ();
  if (counts != NULL)
    *counts = replay.counts;
  return ok;
}
