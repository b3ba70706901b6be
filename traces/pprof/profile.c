/* profile.c - a memory profile of pprof, as jax.profiler.save_device_memory_profile() or writer.c writes it: who holds the memory of a
 * device at one moment.
 *
 * Events delivered: an ALLOC for each buffer, flagged INITIAL, with the call stack that made it; the profile knows how many buffers a
 * stack holds and their bytes together, so each has an equal part. There are no requests and no frees: a note says so, and how to
 * record them. The device is the number in the label ("gpu:0"); "cpu:0" is the host, and so is a profile of a heap without that label, as
 * Go and tcmalloc write it. Executables are tagged as such. A location of writer.c's name for a missing stack is none.
 *
 * Refused: other profiles of pprof (of processor time), and numbers that name nothing in the file.
 * Memory: the profile (base/io/proto-read.h).
 * Origin: profile.proto of pprof's documentation; profiles written by JAX 0.10.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "traces/pprof/writer.h"

#define GEMEM_PROTO_LIST "traces/pprof/profile.def"
#include "base/io/proto-list.h"
#define GEMEM_PROTO_TABLES
#include "base/io/proto-list.h"

#define BATCH 1024

extern const GememTraceFormat gemem_format_pprof;

typedef struct
{
  guint64 count, bytes, stream;
  guint32 stack, tag;
  guint16 device;
} Holder;

typedef struct
{
  GememTraceReader reader;
  GArray *holders; /* Holder */
  guint holder;    /* the next event */
  guint64 at, id;
  GememTraceEvent batch[BATCH];
} Profile;

/* What is read, with the numbers by which its parts are named. */
typedef struct
{
  const PprofProfile *profile;
  GememTraceInfo *info;
  GHashTable *functions, *locations; /* id -> PprofFunction, PprofLocation */
  gint64 count, space;               /* places of these values in each sample; -1: none */
  gboolean heap;                     /* they have the names that profiles of heaps give them */
} Parse;

/* ---- the parts */

static const char *
text_of (const Parse *parse, gint64 number)
{
  return number > 0 && (guint64) number < parse->profile->text.n ? parse->profile->text.at[number]
                                                                 : "";
}

static GHashTable *
index_new (void)
{
  return g_hash_table_new (g_int64_hash, g_int64_equal);
}

static void
index_parts (Parse *parse)
{
  const PprofProfile *profile = parse->profile;

  parse->functions = index_new ();
  parse->locations = index_new ();
  for (gsize i = 0; i < profile->function.n; i++)
    g_hash_table_insert (parse->functions, &profile->function.at[i]->id, profile->function.at[i]);
  for (gsize i = 0; i < profile->location.n; i++)
    g_hash_table_insert (parse->locations, &profile->location.at[i]->id, profile->location.at[i]);
  parse->count = parse->space = -1;
  for (gsize i = 0; i < profile->type.n; i++)
    {
      const char *type = text_of (parse, profile->type.at[i]->type);
      const gboolean heap = strcmp (type, PPROF_BYTES_HELD) == 0;
      if (heap || strcmp (type, "space") == 0)
        parse->space = (gint64) i;
      else if (strcmp (type, PPROF_BLOCKS_HELD) == 0 || strcmp (type, "allocations") == 0)
        parse->count = (gint64) i;
      parse->heap |= heap;
    }
}

/* The number of the frame of @line; 0: its function is not in the file. */
static guint32
frame_of (const Parse *parse, const PprofLine *line)
{
  const PprofFunction *function = g_hash_table_lookup (parse->functions, &line->function);
  GememFrame frame = { 0 };

  if (function == NULL)
    return 0;
  if (function->file == 0 && strcmp (text_of (parse, function->name), PPROF_NO_STACK) == 0)
    return 0;
  frame.name = gemem_trace_info_intern (parse->info, text_of (parse, function->name));
  frame.file = gemem_trace_info_intern (parse->info, text_of (parse, function->file));
  frame.line = line->line > 0 && line->line <= G_MAXINT32 ? (guint32) line->line : 0;
  return gemem_call_stacks_frame (gemem_trace_info_stacks (parse->info), &frame);
}

/* pprof writes the innermost location first, as we do, and so the lines of a location. */
static guint32
stack_of (const Parse *parse, const PprofSample *sample)
{
  g_autoptr (GArray) frames = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (gsize i = 0; i < sample->location.n; i++)
    {
      const PprofLocation *location = g_hash_table_lookup (parse->locations,
                                                           &sample->location.at[i]);
      for (gsize l = 0; location != NULL && l < location->line.n; l++)
        {
          const guint32 frame = frame_of (parse, location->line.at[l]);
          g_array_append_val (frames, frame);
        }
    }
  return frames->len == 0 ? 0
                          : gemem_call_stacks_extend (gemem_trace_info_stacks (parse->info), 0,
                                                      (const guint32 *) frames->data, frames->len);
}

static gint64
value_of (const PprofSample *sample, gint64 place)
{
  return place >= 0 && (guint64) place < sample->value.n ? sample->value.at[place] : -1;
}

static void
read_labels (const Parse *parse, const PprofSample *sample, Holder *holder)
{
  for (gsize i = 0; i < sample->label.n; i++)
    {
      const PprofLabel *label = sample->label.at[i];
      const char *key = text_of (parse, label->key), *text = text_of (parse, label->text);
      const char *colon = strrchr (text, ':');
      if (strcmp (key, PPROF_DEVICE) == 0)
        holder->device = g_str_has_prefix (text, "cpu") || colon == NULL
                             ? GEMEM_DEVICE_HOST
                             : (guint16) MIN (g_ascii_strtoull (colon + 1, NULL, 10),
                                              GEMEM_DEVICE_HOST - 1);
      else if (strcmp (key, PPROF_KIND) == 0 && strcmp (text, "buffer") != 0)
        holder->tag = gemem_trace_info_intern (parse->info, text);
      else if (strcmp (key, PPROF_STREAM) == 0)
        holder->stream = (guint64) label->number;
    }
}

/* Adds what @sample holds, which may be nothing; FALSE: its numbers are none of memory. */
static gboolean
read_sample (const Parse *parse, const PprofSample *sample, GArray *holders)
{
  const gint64 count = value_of (sample, parse->count), bytes = value_of (sample, parse->space);
  Holder holder = { .count = (guint64) MAX (count, 1),
                    .bytes = (guint64) bytes,
                    .device = parse->heap ? GEMEM_DEVICE_HOST : 0 };

  if (count < 0 || bytes < 0 || count > G_MAXINT32 || bytes > G_MAXINT64 >> 3)
    return FALSE;
  if (bytes == 0)
    return TRUE;
  holder.count = MIN (holder.count, holder.bytes);
  read_labels (parse, sample, &holder);
  holder.stack = stack_of (parse, sample);
  g_array_append_val (holders, holder);
  return TRUE;
}

/* ---- the reader */

static gssize
profile_next (GememTraceReader *reader, const GememTraceEvent **events,
              G_GNUC_UNUSED GError **error)
{
  Profile *self = (Profile *) reader;
  guint n = 0;

  *events = self->batch;
  while (n < BATCH && self->holder < self->holders->len)
    {
      const Holder *holder = &g_array_index (self->holders, Holder, self->holder);
      const guint64 each = holder->bytes / holder->count;
      self->batch[n++] = (GememTraceEvent){
        .kind = GEMEM_EVENT_ALLOC,
        .flags = GEMEM_EVENT_INITIAL,
        .id = ++self->id,
        .size = self->at == 0 ? holder->bytes - each * (holder->count - 1) : each,
        .device = holder->device,
        .stream = holder->stream,
        .stack = holder->stack,
        .tag = holder->tag,
      };
      if (++self->at < holder->count)
        continue;
      self->at = 0;
      self->holder++;
    }
  return n;
}

static void
profile_close (GememTraceReader *reader)
{
  Profile *self = (Profile *) reader;

  g_array_unref (self->holders);
  gemem_trace_info_clear (&reader->info);
  g_free (self);
}

/* Drops what is of another device than @device; -1: the host's, if there is a GPU. */
static void
choose_device (Profile *self, int device)
{
  gboolean gpu = FALSE;

  for (guint i = 0; i < self->holders->len; i++)
    gpu |= g_array_index (self->holders, Holder, i).device != GEMEM_DEVICE_HOST;
  for (guint i = self->holders->len; i-- > 0;)
    {
      const guint16 of = g_array_index (self->holders, Holder, i).device;
      if (device >= 0 ? of != device : gpu && of == GEMEM_DEVICE_HOST)
        g_array_remove_index (self->holders, i);
    }
  for (guint i = 0; i < self->holders->len; i++)
    self->reader.info.events += g_array_index (self->holders, Holder, i).count;
}

static gboolean
read_profile (Profile *self, GememInput *input, GError **error)
{
  g_autoptr (GPtrArray) memory = g_ptr_array_new_with_free_func (g_free);
  Parse parse = { .info = &self->reader.info };
  gboolean ok = TRUE;

  parse.profile = gemem_proto_read (input, &gemem_proto_PprofProfile, 0, memory, error);
  if (parse.profile == NULL)
    return FALSE;
  index_parts (&parse);
  ok = parse.count >= 0 && parse.space >= 0;
  for (gsize i = 0; ok && i < parse.profile->sample.n; i++)
    ok = read_sample (&parse, parse.profile->sample.at[i], self->holders);
  g_hash_table_unref (parse.functions);
  g_hash_table_unref (parse.locations);
  if (!ok)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
        "%s: a profile of pprof that does not count what is held and its bytes ('inuse_objects', "
        "'inuse_space'); of JAX, jax.profiler.save_device_memory_profile() writes one that does",
        gemem_input_name (input));
  return ok;
}

static GememTraceReader *
profile_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Profile *self = g_new0 (Profile, 1);
  GememTraceInfo *info = &self->reader.info;

  self->reader.format = &gemem_format_pprof;
  self->reader.next = profile_next;
  self->reader.close = profile_close;
  self->holders = g_array_new (FALSE, FALSE, sizeof (Holder));
  gemem_trace_info_init (info, "pprof", gemem_input_name (input));
  const gboolean ok = read_profile (self, input, error);
  gemem_input_close (input);
  if (!ok)
    {
      profile_close (&self->reader);
      return NULL;
    }
  choose_device (self, options->device);
  info->flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  gemem_trace_info_note (
      info, GEMEM_TRACE_STATE,
      "who held memory at one moment; for requests use gemem-record or gemem-dry-run");
  return &self->reader;
}

/* The names of the two values stand within the first bytes of what JAX and writer.c write: it begins with their types. */
static int
probe (const guint8 *head, gsize size)
{
  static const char of_jax[] = "\x05space\x32\x05"
                               "bytes",
                    of_heap[] = "\x32\x0b" PPROF_BYTES_HELD;

  return size > 2 && head[0] == '\n'
                 && (memmem (head, size, of_jax, strlen (of_jax)) != NULL
                     || memmem (head, size, of_heap, strlen (of_heap)) != NULL)
             ? 90
             : 0;
}

const GememTraceFormat gemem_format_pprof = {
  .name = "pprof",
  .assumed = "tf-bfc", /* JAX's, unless XLA_PYTHON_CLIENT_ALLOCATOR chose another */
  .aliases = "jax-memory-profile",
  .extensions = "prof|pb|pb.gz",
  .summary =
      "who holds memory, at one moment (written: the peak): memory profile of pprof, also of "
      "jax.profiler.save_device_memory_profile()",
  .origin = "profile.proto",
  .probe = probe,
  .open = profile_open,
  .create = gemem_pprof_create,
};
