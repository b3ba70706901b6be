/* naive-gmlake.c - GMLake, from peers.md 1e: one array of blocks, and fused blocks that list their
 * chunks one by one under the addresses that these have at home; who uses a chunk is looked up there
 * every time. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

#define CHUNK (2 * MIB)

typedef struct
{
  guint64 address, size, stream, segment, segment_size;
  gboolean small, used;
  guint32 id;
} Block;

typedef struct
{
  guint64 address, range, stream, released, event;
  GArray *chunks; /* guint64, home addresses */
  gboolean live;
  guint64 taken;
  guint32 id;
} Fused;

typedef struct
{
  guint32 id;
  guint64 stream;
} Use;

typedef struct
{
  guint32 id;
  guint64 until;
} Late;

typedef struct
{
  Naive base;
  gboolean paper, extends, plain;
  guint64 least, level, stitched_most;
  double reuse;
  guint64 stitched, releases;
  GArray *blocks, *fused, *uses, *late;
} Model;

#define BLOCK(i) (&g_array_index (model->blocks, Block, i))
#define FUSED(i) (&g_array_index (model->fused, Fused, i))
#define HOME(f, i) g_array_index ((f)->chunks, guint64, i)

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->least = 2 * MIB;
  model->reuse = 10;
  model->stitched_most = 1000 * GIB;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  model->fused = g_array_new (FALSE, FALSE, sizeof (Fused));
  model->uses = g_array_new (FALSE, FALSE, sizeof (Use));
  model->late = g_array_new (FALSE, FALSE, sizeof (Late));
  return &model->base;
}

static Naive *
create_paper (void)
{
  Naive *naive = create ();

  ((Model *) naive)->paper = ((Model *) naive)->extends = TRUE;
  return naive;
}

static Naive *
create_extending (void)
{
  Naive *naive = create ();

  ((Model *) naive)->extends = TRUE;
  return naive;
}

static Naive *
create_strict (void)
{
  Naive *naive = create ();
  Model *model = (Model *) naive;

  model->least = 4 * MIB;
  model->reuse = 1.5;
  model->level = 1;
  model->stitched_most = 96 * MIB;
  return naive;
}

static Naive *
create_plain (void)
{
  Naive *naive = create ();

  ((Model *) naive)->plain = TRUE;
  return naive;
}

static void
destroy (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->fused->len; i++)
    g_array_unref (FUSED (i)->chunks);
  g_array_unref (model->blocks);
  g_array_unref (model->fused);
  g_array_unref (model->uses);
  g_array_unref (model->late);
}

/* ---- looking up */

static guint
containing (const Model *model, guint64 home)
{
  guint i = 0;

  while (home < BLOCK (i)->address || home - BLOCK (i)->address >= BLOCK (i)->size)
    i++;
  return i;
}

static gboolean
is_whole (const Model *model, const Fused *fused)
{
  for (guint i = 0; i < fused->chunks->len; i++)
    if (BLOCK (containing (model, HOME (fused, i)))->used)
      return FALSE;
  return !fused->live;
}

static int
best (const Model *model, guint64 size, guint64 stream, gboolean small, gboolean exact)
{
  int found = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    if (!BLOCK (i)->used && BLOCK (i)->small == small && BLOCK (i)->stream == stream
        && BLOCK (i)->size >= size && (!exact || BLOCK (i)->size == size)
        && (found < 0 || BLOCK (i)->size < BLOCK (found)->size
            || (BLOCK (i)->size == BLOCK (found)->size
                && BLOCK (i)->address < BLOCK (found)->address)))
      found = (int) i;
  return found;
}

static int
best_fused (const Model *model, guint64 size, guint64 stream)
{
  int found = -1;

  for (guint i = 0; i < model->fused->len; i++)
    {
      const Fused *fused = FUSED (i), *other = found >= 0 ? FUSED (found) : NULL;

      if (fused->stream == stream && fused->chunks->len * CHUNK >= size && is_whole (model, fused)
          && (other == NULL || fused->chunks->len < other->chunks->len
              || (fused->chunks->len == other->chunks->len && fused->address < other->address)))
        found = (int) i;
    }
  if (found < 0)
    return -1;
  if (model->paper)
    return FUSED (found)->chunks->len * CHUNK == size ? found : -1;
  return (double) (FUSED (found)->chunks->len * CHUNK) <= (double) size * model->reuse ? found : -1;
}

/* ---- cutting and merging */

/* Cuts what [@from, @from + @size) is part of at both ends; returns the part. */
static guint
isolate (Model *model, guint64 from, guint64 size)
{
  guint i = containing (model, from);

  if (BLOCK (i)->address < from)
    {
      Block high = *BLOCK (i);

      BLOCK (i)->size = from - high.address;
      high.address = from;
      high.size -= BLOCK (i)->size;
      g_array_append_val (model->blocks, high);
      i = model->blocks->len - 1;
    }
  if (BLOCK (i)->size > size)
    {
      Block rest = *BLOCK (i);

      rest.address += size;
      rest.size -= size;
      BLOCK (i)->size = size;
      g_array_append_val (model->blocks, rest);
    }
  return i;
}

static void
merge_all (Model *model)
{
  for (guint i = 0; i < model->blocks->len; i++)
    for (guint j = 0; j < model->blocks->len; j++)
      if (i != j && !BLOCK (i)->used && !BLOCK (j)->used && BLOCK (i)->segment == BLOCK (j)->segment
          && BLOCK (i)->address + BLOCK (i)->size == BLOCK (j)->address)
        {
          BLOCK (i)->size += BLOCK (j)->size;
          g_array_remove_index (model->blocks, j);
          i = 0;
          j = (guint) -1;
        }
}

/* ---- the device */

/* Makes a range show @n chunks; 0: refused.  @fresh: they are created first. */
static guint64
show (Model *model, guint64 n, gboolean fresh)
{
  NaiveDevice *device = &model->base.device;
  const guint64 address = naive_device_reserve (device, n * CHUNK);
  guint64 made = 0;
  gboolean ok;

  if (address == 0)
    return 0;
  while (fresh && made < n && naive_device_create_page (device, CHUNK))
    made++;
  ok = !fresh || made == n;
  for (guint64 i = 0; ok && i < n; i++)
    ok = naive_device_map (device);
  if (ok)
    return address;
  for (; made > 0; made--)
    naive_device_destroy_page (device, CHUNK);
  naive_device_release (device, address);
  return 0;
}

static int
add_segment (Model *model, guint64 size, gboolean small, guint64 stream)
{
  Block block = { .size = size, .stream = stream, .segment_size = size, .small = small };

  if (size > G_GUINT64_CONSTANT (1) << 46) /* addresses of a process */
    return -1;
  block.address = small || model->plain ? naive_device_malloc (&model->base.device, size)
                                        : show (model, size / CHUNK, TRUE);
  if (block.address == 0)
    return -1;
  block.segment = block.address;
  g_array_append_val (model->blocks, block);
  return (int) model->blocks->len - 1;
}

static void
end_fused (Model *model, guint i)
{
  naive_device_release (&model->base.device, FUSED (i)->address);
  model->stitched -= FUSED (i)->chunks->len * CHUNK;
  g_array_unref (FUSED (i)->chunks);
  g_array_remove_index (model->fused, i);
}

/* The segment at @segment leaves all fused blocks. */
static void
hide (Model *model, guint64 segment, guint64 size)
{
  for (guint i = 0; i < model->fused->len; i++)
    for (guint c = 0; c < FUSED (i)->chunks->len; c++)
      {
        if (HOME (FUSED (i), c) < segment || HOME (FUSED (i), c) >= segment + size)
          continue;
        if (!FUSED (i)->live)
          {
            end_fused (model, i--);
            break;
          }
        model->stitched -= (FUSED (i)->chunks->len - c) * CHUNK;
        g_array_set_size (FUSED (i)->chunks, c);
      }
}

static void
release_all (Model *model)
{
  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block block = *BLOCK (i);

      if (block.used || block.size != block.segment_size)
        continue;
      g_array_remove_index (model->blocks, i--);
      if (block.small || model->plain)
        {
          naive_device_free (&model->base.device, block.address);
          continue;
        }
      hide (model, block.segment, block.size);
      for (guint64 at = 0; at < block.size; at += CHUNK)
        naive_device_destroy_page (&model->base.device, CHUNK);
      naive_device_release (&model->base.device, block.address);
    }
}

/* ---- garbage */

/* The idle fused block, fragmented or whole, that was released first after @after; -1: none. */
static int
oldest (const Model *model, gboolean whole, guint64 after)
{
  int found = -1;

  for (guint i = 0; i < model->fused->len; i++)
    if (!FUSED (i)->live && FUSED (i)->released > after && is_whole (model, FUSED (i)) == whole
        && (found < 0 || FUSED (i)->released < FUSED (found)->released))
      found = (int) i;
  return found;
}

static void
collect (Model *model, guint level, guint64 needed)
{
  const guint64 enough = level == 0 ? 4 * needed : level == 1 ? 16 * needed : G_MAXUINT64;
  guint64 got = 0;

  for (guint kind = 0; kind <= (level > 0 ? 1 : 0); kind++)
    {
      guint64 after = 0;
      int i;

      while (got < enough && (i = oldest (model, kind == 1, after)) >= 0)
        {
          after = FUSED (i)->released;
          if (FUSED (i)->event > model->base.device.now)
            continue;
          got += FUSED (i)->chunks->len * CHUNK;
          end_fused (model, (guint) i);
        }
    }
}

/* ---- stitching */

static int
largest_below (const Model *model, guint64 stream, guint64 size, guint64 address)
{
  int found = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (i);

      if (b->used || b->small || b->stream != stream || b->size > size
          || (b->size == size && b->address >= address))
        continue;
      if (found < 0 || b->size > BLOCK (found)->size
          || (b->size == BLOCK (found)->size && b->address > BLOCK (found)->address))
        found = (int) i;
    }
  return found;
}

/* Home addresses of @size bytes of free chunks, the largest blocks first; *@blocks: free blocks. */
static GArray *
gather (const Model *model, guint64 size, guint64 stream, guint *blocks)
{
  GArray *chunks = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 last_size = G_MAXUINT64, last_address = G_MAXUINT64;
  int i;

  *blocks = 0;
  while ((i = largest_below (model, stream, last_size, last_address)) >= 0)
    {
      (*blocks)++;
      last_size = BLOCK (i)->size;
      last_address = BLOCK (i)->address;
      for (guint64 at = 0; at < last_size && chunks->len * CHUNK < size; at += CHUNK)
        {
          const guint64 home = last_address + at;

          g_array_append_val (chunks, home);
        }
    }
  return chunks;
}

static int
stitch (Model *model, guint64 size, guint64 stream, guint64 moment)
{
  Fused fused = { .stream = stream, .range = size, .live = TRUE, .taken = size };
  guint blocks;

  if (model->plain || size < model->least || (model->paper ? moment > 0 : moment < model->level))
    return -1;
  fused.chunks = gather (model, size, stream, &blocks);
  if (fused.chunks->len * CHUNK < size && model->extends && moment == 0 && blocks > 0
      && add_segment (model, size - fused.chunks->len * CHUNK, FALSE, stream) >= 0)
    {
      g_array_unref (fused.chunks);
      fused.chunks = gather (model, size, stream, &blocks);
    }
  if (fused.chunks->len * CHUNK == size && blocks >= 2)
    for (guint level = 0; fused.address == 0 && level <= 3; level++)
      {
        if (level > 0)
          collect (model, level - 1, size);
        fused.address = show (model, size / CHUNK, FALSE);
      }
  if (fused.address == 0)
    {
      g_array_unref (fused.chunks);
      return -1;
    }
  g_array_append_val (model->fused, fused);
  model->stitched += size;
  return (int) model->fused->len - 1;
}

/* What @fused takes is used, or free again. */
static void
mark (Model *model, const Fused *fused, gboolean used)
{
  for (guint i = 0; i < fused->taken / CHUNK; i++)
    {
      const guint at = isolate (model, HOME (fused, i), CHUNK);

      BLOCK (at)->used = used;
      BLOCK (at)->id = G_MAXUINT32;
    }
}

/* ---- the model */

static void
finish (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (i)->used && BLOCK (i)->id == id)
      BLOCK (i)->used = FALSE;
  for (guint i = 0; i < model->fused->len; i++)
    if (FUSED (i)->live && FUSED (i)->id == id)
      {
        mark (model, FUSED (i), FALSE);
        FUSED (i)->live = FALSE;
        FUSED (i)->released = ++model->releases;
      }
  merge_all (model);
}

static void
finish_late (Model *model, gboolean wait)
{
  for (guint i = 0; i < model->late->len;)
    {
      const Late late = g_array_index (model->late, Late, i);

      if (!wait && late.until > model->base.device.now)
        i++;
      else
        {
          g_array_remove_index (model->late, i);
          finish (model, late.id);
        }
    }
}

static int
new_memory (Model *model, guint64 size, gboolean small, guint64 stream)
{
  if (small)
    return add_segment (model, 2 * MIB, TRUE, stream);
  return add_segment (model, size < 10 * MIB ? 20 * MIB : (size + CHUNK - 1) / CHUNK * CHUNK, FALSE,
                      stream);
}

/* A block, or in *@fused a fused one. */
static int
obtain (Model *model, guint64 size, gboolean small, guint64 stream, int *fused)
{
  const gboolean fusing = !small && !model->plain;
  int i = -1;

  if (fusing && model->paper)
    {
      i = best (model, size, stream, small, TRUE);
      if (i < 0 && (*fused = best_fused (model, size, stream)) >= 0)
        return -1;
    }
  if (i < 0)
    i = best (model, size, stream, small, FALSE);
  if (i < 0 && fusing && !model->paper && (*fused = best_fused (model, size, stream)) >= 0)
    return -1;
  if (i < 0 && fusing && (*fused = stitch (model, size, stream, 0)) >= 0)
    return -1;
  if (i < 0)
    i = new_memory (model, size, small, stream);
  if (i < 0 && fusing && (*fused = stitch (model, size, stream, 1)) >= 0)
    return -1;
  if (i < 0)
    {
      finish_late (model, TRUE);
      release_all (model);
      i = new_memory (model, size, small, stream);
    }
  if (i < 0 && fusing)
    *fused = stitch (model, size, stream, 2);
  return i;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  guint64 size = (request->size + 511) / 512 * 512;
  const gboolean small = size <= MIB;
  int fused = -1, i;

  finish_late (model, FALSE);
  if (request->size >= G_GUINT64_CONSTANT (1) << 60)
    return FALSE;
  size = small || model->plain ? MAX (size, 512) : (size + CHUNK - 1) / CHUNK * CHUNK;
  i = obtain (model, size, small, request->stream, &fused);
  if (fused >= 0)
    {
      FUSED (fused)->live = TRUE;
      FUSED (fused)->taken = size;
      FUSED (fused)->id = id;
      mark (model, FUSED (fused), TRUE);
      *address = FUSED (fused)->address;
      *block = size;
      if (model->stitched > model->stitched_most && FUSED (fused)->released == 0)
        collect (model, 2, size);
      return TRUE;
    }
  if (i < 0)
    return FALSE;
  if (BLOCK (i)->size - size >= (small ? 512 : model->plain ? MIB + 1 : CHUNK))
    i = (int) isolate (model, BLOCK (i)->address, size);
  BLOCK (i)->used = TRUE;
  BLOCK (i)->id = id;
  *address = BLOCK (i)->address;
  *block = BLOCK (i)->size;
  return TRUE;
}

static guint64
stream_of (const Model *model, guint32 id)
{
  for (guint i = 0; i < model->fused->len; i++)
    if (FUSED (i)->live && FUSED (i)->id == id)
      return FUSED (i)->stream;
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (i)->used && BLOCK (i)->id == id)
      return BLOCK (i)->stream;
  return 0;
}

static void
use (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  const Use added = { id, stream };

  if (stream != stream_of (model, id))
    g_array_append_val (model->uses, added);
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const Late late = { id, naive_device_event (&naive->device) };
  gboolean waits = FALSE;

  for (guint i = 0; i < model->fused->len; i++)
    if (FUSED (i)->live && FUSED (i)->id == id)
      FUSED (i)->event = late.until;
  for (guint i = 0; i < model->uses->len;)
    if (g_array_index (model->uses, Use, i).id == id)
      {
        waits = TRUE;
        g_array_remove_index (model->uses, i);
      }
    else
      i++;
  if (waits)
    g_array_append_val (model->late, late);
  else
    finish (model, id);
}

static void
trim (Naive *naive)
{
  finish_late ((Model *) naive, TRUE);
  release_all ((Model *) naive);
}

#define GMLAKE(text, function) \
  .name = "gmlake", .settings = text, .create = function, .alloc = alloc, .free = release, \
  .use_on_stream = use, .trim = trim, .destroy = destroy

const NaiveClass naive_gmlake = { GMLAKE ("fragLimit=2MiB", create) };
const NaiveClass naive_gmlake_slow = { GMLAKE ("fragLimit=2MiB", create), .delay = 3 };
const NaiveClass naive_gmlake_faulty = { GMLAKE ("fragLimit=2MiB", create), .every = 37 };
const NaiveClass naive_gmlake_paper = { GMLAKE ("variant=paper,fragLimit=2MiB", create_paper) };
const NaiveClass naive_gmlake_extending = { GMLAKE ("reAlloc=1,fragLimit=2MiB", create_extending),
                                            .every = 101 };
const NaiveClass naive_gmlake_strict = { GMLAKE (
    "fragLimit=4MiB,reuseLimit=1.5,defragLevel=1,autoGC=96MiB", create_strict) };
const NaiveClass naive_gmlake_plain = { GMLAKE ("vmmDefragment=0", create_plain) };
