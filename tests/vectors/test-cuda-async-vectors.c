/* test-cuda-async-vectors.c - the pools of `cuda-async` decide as an H100 did: every address, error
 * and attribute of the logs in shared/gpu/cuda-async (format: its README).
 *
 * A pool has a simulated device of its own, whose events are complete unless a gate is closed that
 * their stream is behind; what a stream waits for is told to all pools.  In e12 each capture is a
 * pool that never hears of the device.
 *
 * Not replayed: the five requests of e10 while two pools share a full device, and what a plain
 * allocation there takes from them: a pool here knows of no other (peers.md 1d).
 */
#include "config.h"

#include <string.h>

#include "allocators/cuda/async.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

#define LEGACY 16 /* the number here of the stream that the files call "-" */
#define STREAMS 17
#define POOLS 8
#define CAPTURE 7       /* the number here of the pool of a capture */
#define JOIN_ID 1000000 /* of events that are no line of a file */
#define TOTAL G_GUINT64_CONSTANT (85017493504)
#define RANGE (5068 * G_GUINT64_CONSTANT (33554432))
#define FAILED G_MAXUINT64

static const struct
{
  const char *name;
  guint allocs;
} files[] = {
  { "e01-sizes", 769 },
  { "e02-growth", 4660 },
  { "e03-fit", 11292 },
  { "e04-split-merge", 218 },
  { "e05-streams", 1622 },
  { "e06-release", 5263 },
  { "e07-trim", 2619 },
  { "e08-remap", 2806 },
  { "e09-limit", 431 },
  { "e10-full", 117 },
  { "e12-graphs", 319 },
  { "t01-training-1", 9740 },
  { "t03-serving-1", 3244 },
  { "t05-large-1", 1518 },
  { "t07-four-streams-1", 3871 },
  { "t09-pressure-streams-1", 2926 },
  { "t11-threshold-x-1", 2501 },
  { "t13-training-threshold-0", 3664 },
  { "t15-random-no-attributes", 6193 },
  { "t19-multiples-2m", 3059 },
  { "t21-flags", 2451 },
};

typedef struct
{
  GememAllocator *allocator;
  guint64 base; /* address of its first block in the log; 0: none yet */
  guint64 reserved, used, reserved_high, used_high;
} Pool;

typedef struct
{
  guint pool;
  GememBlock block; /* handle NULL: freed, failed, or of 0 bytes */
} Block;

typedef struct
{
  Pool pools[POOLS];
  GArray *blocks;                                      /* Block by ID */
  gboolean blocking[STREAMS], attributes, full, skips; /* full: e10 */
  guint64 free;                                        /* of the device, as the log last said */
  guint line, allocs;
} Replay;

/* ---- the device: streams behind gates */

static guint32 behind[STREAMS]; /* closed gates, a bit for each stream */
static GArray *marks;           /* guint32: of the events that pools record */
static GArray *recorded;        /* guint32: of the events of the file */

static GememDeviceEvent
record_gated (G_GNUC_UNUSED GememDevice *device, guint64 stream)
{
  g_array_append_val (marks, behind[stream]);
  return marks->len;
}

static gboolean
query_gated (G_GNUC_UNUSED GememDevice *device, GememDeviceEvent event)
{
  return g_array_index (marks, guint32, event - 1) == 0;
}

static void
open_gate (guint stream)
{
  const guint32 left = ~(1u << stream);

  for (guint i = 0; i < STREAMS; i++)
    behind[i] &= left;
  for (guint i = 0; i < marks->len; i++)
    g_array_index (marks, guint32, i) &= left;
  for (guint i = 0; i < recorded->len; i++)
    g_array_index (recorded, guint32, i) &= left;
}

/* ---- pools */

static GememCudaPool *
pool_of (const Replay *replay, guint number)
{
  return (GememCudaPool *) replay->pools[number].allocator;
}

static void
make_pool (Replay *replay, guint number, guint64 max, const char *settings)
{
  static GememDeviceClass klass;
  g_autofree char *spec = g_strdup_printf ("cuda-async:max_size=%" G_GUINT64_FORMAT "B%s", max,
                                           settings);
  Pool *pool = &replay->pools[number];

  if (pool->allocator != NULL)
    g_error ("line %u", replay->line);
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "B",
                                             replay->full ? replay->free : TOTAL);

  *pool = (Pool){ .allocator = test_allocator_new (spec, device) };
  pool_of (replay, number)->range_size = RANGE;
  klass = *pool->allocator->device->klass;
  klass.event_record = record_gated;
  klass.event_query = query_gated;
  pool->allocator->device->klass = &klass;
  for (guint i = 0; i < 2; i++) /* two streams: the pool records an event with every free */
    pool->allocator->klass->streams.record (pool->allocator, JOIN_ID, i, G_MAXUINT64);
}

static void
end_pool (Replay *replay, guint number)
{
  g_autoptr (GError) error = NULL;

  gemem_cuda_pool_check (replay->pools[number].allocator, &error);
  g_assert_no_error (error);
  g_clear_pointer (&replay->pools[number].allocator, test_allocator_destroy);
  for (guint i = 0; i < replay->blocks->len; i++)
    if (g_array_index (replay->blocks, Block, i).pool == number)
      g_array_index (replay->blocks, Block, i).block.handle = NULL;
}

/* ---- streams */

static guint
stream_of (const char *word)
{
  return strcmp (word, "-") == 0 ? LEGACY : (guint) g_ascii_strtoull (word, NULL, 10);
}

static void
tell (const Replay *replay, gboolean wait, guint64 id, guint stream)
{
  for (guint i = 0; i < POOLS; i++)
    {
      GememAllocator *a = replay->pools[i].allocator;

      if (a != NULL && wait)
        a->klass->streams.wait (a, id, stream);
      else if (a != NULL)
        a->klass->streams.record (a, id, stream, G_MAXUINT64);
    }
}

static void
join (const Replay *replay, guint from, guint to)
{
  tell (replay, FALSE, JOIN_ID, from);
  tell (replay, TRUE, JOIN_ID, to);
  behind[to] |= behind[from];
}

/* Work on @stream: the legacy stream and blocking streams follow one another. */
static guint
work_on (const Replay *replay, const char *word)
{
  const guint stream = stream_of (word);

  for (guint i = 0; stream == LEGACY && i < LEGACY; i++)
    if (replay->blocking[i])
      join (replay, i, LEGACY);
  if (stream != LEGACY && replay->blocking[stream])
    join (replay, LEGACY, stream);
  return stream;
}

static void
host_waits (const Replay *replay, guint64 stream)
{
  for (guint i = 0; i < POOLS; i++)
    if (replay->pools[i].allocator != NULL)
      gemem_cuda_pool_sync (replay->pools[i].allocator, stream);
}

/* ---- lines */

static guint64
number (const char *word)
{
  static const char suffixes[] = "kmg";
  char *end;
  guint64 value = g_ascii_strtoull (word, &end, 10);

  if (strcmp (word, "max") == 0)
    return G_MAXUINT64;
  if (*end != '\0')
    value <<= 10 * (guint) (strchr (suffixes, *end) - suffixes + 1);
  return value;
}

static Block *
block_of (Replay *replay, const char *word)
{
  const guint id = (guint) number (word);

  if (id >= replay->blocks->len)
    g_array_set_size (replay->blocks, id + 1);
  return &g_array_index (replay->blocks, Block, id);
}

/* The block must lie where the log says, or fail as there. */
static void
run_alloc (Replay *replay, char **words, const char *said)
{
  const guint number_of_pool = strcmp (words[2], "-") == 0 ? CAPTURE : (guint) number (words[2]);
  Pool *pool = &replay->pools[number_of_pool];
  const GememRequest request = { .stream = work_on (replay, words[3]), .size = number (words[4]) };
  Block *block = block_of (replay, words[1]);
  const guint64 expected = *said == 'E' ? FAILED : g_ascii_strtoull (said, NULL, 16);
  guint64 got = FAILED;

  *block = (Block){ .pool = number_of_pool };
  replay->allocs++;
  if (gemem_cuda_pool_alloc (pool->allocator, &request, &block->block))
    got = block->block.address;
  if (pool->base == 0 && expected != FAILED && expected != 0)
    pool->base = expected;
  if (got != FAILED && got != 0)
    got = got - pool_of (replay, number_of_pool)->range + pool->base;
  if (got != expected)
    g_error ("line %u: block at 0x%" G_GINT64_MODIFIER "x, not 0x%" G_GINT64_MODIFIER "x",
             replay->line, got, expected);
}

static void
run_free (Replay *replay, char **words)
{
  Block *block = block_of (replay, words[1]);
  const guint stream = work_on (replay, words[2]);

  if (block->block.handle != NULL)
    gemem_cuda_pool_free_on (replay->pools[block->pool].allocator, &block->block, stream);
  block->block.handle = NULL;
}

static void
run_set (Replay *replay, char **words)
{
  GememCudaPool *pool = pool_of (replay, (guint) number (words[1]));
  const guint64 value = number (words[3]);

  switch (words[2][0])
    {
    case 't':
      gemem_cuda_pool_set_threshold (pool, value);
      break;
    case 'f':
      pool->params.follow_event_dependencies = value != 0;
      break;
    case 'o':
      pool->params.allow_opportunistic = value != 0;
      break;
    default:
      pool->params.allow_internal_dependencies = value != 0;
    }
}

static void
run_event (Replay *replay, char **words)
{
  const gboolean wait = words[0][0] == 'w';
  const guint id = (guint) number (words[wait ? 2 : 1]);
  const guint stream = work_on (replay, words[wait ? 1 : 2]);

  if (id >= recorded->len)
    g_array_set_size (recorded, id + 1);
  tell (replay, wait, id, stream);
  *(wait ? &behind[stream] : &g_array_index (recorded, guint32, id)) =
      wait ? behind[stream] | g_array_index (recorded, guint32, id) : behind[stream];
}

static void
run_trim (Replay *replay, char **words)
{
  GememCudaPool *pool = pool_of (replay, (guint) number (words[1]));

  pool->params.trim_to = number (words[2]);
  gemem_cuda_pool_trim (&pool->base);
}

static void
run_pool (Replay *replay, char **words)
{
  const guint64 max = words[2] != NULL && words[3] != NULL ? number (words[3]) : 0;

  if (replay->full && number (words[1]) == 2)
    end_pool (replay, 1);
  replay->skips = replay->full && number (words[1]) == 2;
  if (!replay->skips)
    make_pool (replay, (guint) number (words[1]), max, "");
}

static void
run_host (Replay *replay, char **words)
{
  switch (words[0][0])
    {
    case 'd':
      host_waits (replay, G_MAXUINT64);
      break;
    case 's':
      host_waits (replay, stream_of (words[1]));
      break;
    default:
      for (guint i = 0; i < POOLS; i++)
        if (replay->pools[i].allocator != NULL)
          gemem_cuda_pool_sync_event (pool_of (replay, i), number (words[1]));
    }
}

static void
run_line (Replay *replay, char **words, const char *said)
{
  const char *op = words[0];

  if (replay->skips && strcmp (op, "pool") != 0)
    return;
  if (strcmp (op, "a") == 0)
    run_alloc (replay, words, said);
  else if (strcmp (op, "f") == 0)
    run_free (replay, words);
  else if (strcmp (op, "stream") == 0)
    replay->blocking[number (words[1])] = words[2] != NULL && strcmp (words[2], "blocking") == 0;
  else if (strcmp (op, "pool") == 0)
    run_pool (replay, words);
  else if (strcmp (op, "destroy") == 0)
    end_pool (replay, (guint) number (words[1]));
  else if (strcmp (op, "set") == 0)
    run_set (replay, words);
  else if (strcmp (op, "trim") == 0)
    run_trim (replay, words);
  else if (strcmp (op, "rec") == 0 || strcmp (op, "wait") == 0)
    run_event (replay, words);
  else if (strcmp (op, "ssync") == 0 || strcmp (op, "dsync") == 0 || strcmp (op, "esync") == 0)
    run_host (replay, words);
  else if (strcmp (op, "gate") == 0)
    behind[work_on (replay, words[1])] |= 1u << stream_of (words[1]);
  else if (strcmp (op, "open") == 0)
    open_gate (stream_of (words[1]));
  else if (strcmp (op, "kernel") == 0)
    work_on (replay, words[1]);
  else if (strcmp (op, "memset") == 0)
    work_on (replay, words[2]);
  else if (strcmp (op, "attrs") == 0)
    replay->attributes = number (words[1]) != 0;
  else if (strcmp (op, "cap") == 0)
    make_pool (replay, CAPTURE, 0,
               ",reuse_allow_opportunistic=no,reuse_allow_internal_dependencies=no");
  else if (strcmp (op, "endcap") == 0)
    end_pool (replay, CAPTURE);
}

/* ---- attributes */

/* Notes what the log says of pools: "r1=33554432". */
static void
note_attributes (Replay *replay, char **said)
{
  for (; *said != NULL; said++)
    if (g_str_has_prefix (*said, "free="))
      replay->free = number (*said + 5);
    else if (strchr ("ruRU", **said) != NULL && g_ascii_isdigit ((*said)[1]) && (*said)[2] == '=')
      {
        Pool *pool = &replay->pools[(*said)[1] - '0'];
        const guint64 value = number (*said + 3);

        *(**said == 'r'   ? &pool->reserved
          : **said == 'u' ? &pool->used
          : **said == 'R' ? &pool->reserved_high
                          : &pool->used_high) = value;
      }
}

static void
compare (const Replay *replay, const char *what, guint64 got, guint64 expected)
{
  if (got != expected)
    g_error ("line %u: %s is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, replay->line, what,
             got, expected);
}

static void
compare_attributes (const Replay *replay)
{
  for (guint i = 0; i < POOLS; i++)
    {
      const Pool *pool = &replay->pools[i];

      if (pool->allocator == NULL || i == CAPTURE)
        continue;
      compare (replay, "reserved", pool_of (replay, i)->reserved, pool->reserved);
      compare (replay, "used", pool_of (replay, i)->used, pool->used);
      compare (replay, "reserved_high", pool_of (replay, i)->reserved_high, pool->reserved_high);
      compare (replay, "used_high", pool_of (replay, i)->used_high, pool->used_high);
    }
}

/* ---- files */

static char **
lines_of (const char *name, const char *suffix)
{
  g_autofree char *relative = g_strdup_printf ("gpu/cuda-async/%s%s", name, suffix);
  g_autofree char *path = test_shared_path (relative), *text = NULL;

  if (path == NULL)
    return NULL;
  text = test_read_text (path);
  return g_strsplit (text, "\n", -1);
}

static void
replay_lines (Replay *replay, char **ops, char **log)
{
  for (; ops[replay->line] != NULL && *log != NULL; replay->line++)
    {
      g_auto (GStrv) words = g_strsplit (ops[replay->line], " ", -1), said = NULL;

      if (words[0] == NULL || *words[0] == '#' || *words[0] == '@' || *words[0] == '\0')
        continue;
      while (**log == '#' || g_ascii_strtoull (*log, NULL, 10) < replay->line + 1)
        log++;
      said = g_strsplit (*log, " ", -1);
      run_line (replay, words, said[0] != NULL && said[1] != NULL ? said[1] : "");
      note_attributes (replay, said);
      if (replay->attributes)
        compare_attributes (replay);
    }
}

static void
test_file (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_auto (GStrv) ops = lines_of (files[i].name, ".ops.gz"), log = NULL;
  Replay replay = { .attributes = TRUE, .full = strcmp (files[i].name, "e10-full") == 0 };

  if (ops == NULL)
    return;
  log = lines_of (files[i].name, ".log.gz");
  memset (behind, 0, sizeof behind);
  marks = g_array_new (FALSE, TRUE, sizeof (guint32));
  recorded = g_array_new (FALSE, TRUE, sizeof (guint32));
  replay.blocks = g_array_new (FALSE, TRUE, sizeof (Block));
  replay_lines (&replay, ops, log);
  for (guint p = 0; p < POOLS; p++)
    if (replay.pools[p].allocator != NULL)
      end_pool (&replay, p);
  g_assert_cmpuint (replay.allocs, ==, files[i].allocs);
  g_array_unref (marks);
  g_array_unref (recorded);
  g_array_unref (replay.blocks);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strdup_printf ("/cuda-async/vectors/%s", files[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_file);
    }
  return g_test_run ();
}
