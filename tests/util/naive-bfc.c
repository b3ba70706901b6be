/* naive-bfc.c - TensorFlow's BFC allocator and ONNX Runtime's arena, from peers.md 1b and 1h: bins as
 * written there, chunks in one array. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 region, address, size;
  guint number; /* regions that there were before this one */
  gboolean used;
  guint32 id;
} Chunk;

typedef struct
{
  Naive base;
  gboolean growth, collection;
  gboolean ort, exact;                 /* ONNX Runtime's; kSameAsRequested */
  guint64 limit, waste, current, pool; /* current: 0 until the first request */
  GArray *chunks;                      /* Chunk, by address; those of a region follow each other */
} Model;

#define CHUNK(i) (&g_array_index (model->chunks, Chunk, i))

static Naive *
create_with (gboolean growth, gboolean collection, guint64 limit, guint64 waste)
{
  Model *model = g_new0 (Model, 1);

  model->growth = growth;
  model->collection = collection;
  model->limit = limit;
  model->waste = waste;
  model->chunks = g_array_new (FALSE, FALSE, sizeof (Chunk));
  return &model->base;
}

static Naive *
create (void)
{
  return create_with (TRUE, TRUE, 0, 128 * MIB);
}

static Naive *
create_limited (void)
{
  return create_with (FALSE, TRUE, 90 * MIB, 128 * MIB);
}

static Naive *
create_kept (void)
{
  return create_with (TRUE, FALSE, 0, 128 * MIB);
}

static Naive *
create_ort (void)
{
  Naive *naive = create_with (TRUE, FALSE, G_GUINT64_CONSTANT (1) << 62, 128 * MIB);

  ((Model *) naive)->ort = TRUE;
  ((Model *) naive)->current = MIB;
  return naive;
}

static Naive *
create_ort_exact (void)
{
  Naive *naive = create_ort ();

  ((Model *) naive)->exact = TRUE;
  return naive;
}

static Naive *
create_strict (void)
{
  return create_with (TRUE, TRUE, 100 * MIB, 10 * MIB);
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->chunks);
}

static guint
bin_of (guint64 size)
{
  guint64 n = MAX (size, 256) / 256;
  guint bin = 0;

  while (n > 1 && bin < 20)
    {
      n /= 2;
      bin++;
    }
  return bin;
}

/* The first chunk of the lowest bin that fits, in the order of its size and address; -1: none. */
static int
find (Model *model, guint64 size)
{
  for (guint bin = bin_of (size); bin <= 20; bin++)
    {
      int best = -1;

      for (guint i = 0; i < model->chunks->len; i++)
        if (!CHUNK (i)->used && bin_of (CHUNK (i)->size) == bin && CHUNK (i)->size >= size
            && (best < 0 || CHUNK (i)->size < CHUNK (best)->size))
          best = (int) i;
      if (best >= 0)
        return best;
    }
  return -1;
}

static guint
regions (Model *model)
{
  guint n = 0;

  for (guint i = 0; i < model->chunks->len; i++)
    n += CHUNK (i)->address == CHUNK (i)->region;
  return n;
}

static gboolean
extend (Model *model, guint64 size)
{
  const guint64 left = (model->limit - model->pool) / 256 * 256;
  gboolean grown = FALSE;
  guint64 want, address;
  guint at = 0;

  if (size > left)
    return FALSE;
  while (size > model->current && !model->exact)
    {
      model->current *= 2;
      grown = TRUE;
    }
  want = model->exact ? size : MIN (model->current, left);
  if (model->ort && !grown)
    model->current = MIN (2 * model->current, 1024 * MIB);
  for (; (address = naive_device_malloc (&model->base.device, want)) == 0;)
    {
      const float tenth = (float) want * 0.9f;
      const guint64 next = ((guint64) tenth + 255) / 256 * 256;

      want = next >= want ? want - 256 : next;
      if (want < size || (model->ort && want < 8192))
        return FALSE;
    }
  if (!grown && !model->ort)
    model->current *= 2;
  model->pool += want;
  const Chunk chunk = { address, address, want, regions (model), FALSE, 0 };
  while (at < model->chunks->len && CHUNK (at)->address < address)
    at++;
  g_array_insert_val (model->chunks, at, chunk);
  return TRUE;
}

static gboolean
is_whole (Model *model, guint i)
{
  return !CHUNK (i)->used && (i == 0 || CHUNK (i - 1)->region != CHUNK (i)->region)
         && (i + 1 == model->chunks->len || CHUNK (i + 1)->region != CHUNK (i)->region);
}

static gboolean
release_idle (Model *model, guint64 size)
{
  guint64 sum = 0;

  for (guint i = 0; i < model->chunks->len; i++)
    sum += is_whole (model, i) ? CHUNK (i)->size : 0;
  if (sum == 0 || size > model->limit - model->pool + sum)
    return FALSE;
  for (guint i = model->chunks->len; i-- > 0;)
    if (is_whole (model, i))
      {
        naive_device_free (&model->base.device, CHUNK (i)->address);
        model->pool -= CHUNK (i)->size;
        g_array_remove_index (model->chunks, i);
      }
  return TRUE;
}

/* ONNX Runtime's Shrink(). */
static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = model->chunks->len; model->ort && i-- > 0;)
    if (is_whole (model, i) && (model->exact || CHUNK (i)->number != 0))
      {
        naive_device_free (&naive->device, CHUNK (i)->address);
        model->pool -= CHUNK (i)->size;
        g_array_remove_index (model->chunks, i);
      }
  if (model->ort)
    model->current = 2 * MIB;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  guint64 size;
  int i;

  if (model->limit == 0)
    model->limit = naive->device.capacity;
  if (model->current == 0)
    model->current = model->growth ? MIN (model->limit, 2 * MIB) : model->limit;
  if (request->size > model->limit)
    return FALSE;
  size = (request->size + 255) / 256 * 256;
  i = find (model, size);
  if (i < 0 && extend (model, size))
    i = find (model, size);
  if (i < 0 && model->collection && release_idle (model, size) && extend (model, size))
    i = find (model, size);
  if (i < 0)
    return FALSE;
  if (CHUNK (i)->size > size
      && (CHUNK (i)->size >= 2 * size || CHUNK (i)->size - size >= model->waste))
    {
      Chunk rest = *CHUNK (i);

      rest.address += size;
      rest.size -= size;
      CHUNK (i)->size = size;
      g_array_insert_val (model->chunks, i + 1, rest);
    }
  CHUNK (i)->used = TRUE;
  CHUNK (i)->id = id;
  *address = CHUNK (i)->address;
  *block = CHUNK (i)->size;
  return TRUE;
}

static void
merge (Model *model, guint low)
{
  if (low + 1 >= model->chunks->len || CHUNK (low)->used || CHUNK (low + 1)->used
      || CHUNK (low)->region != CHUNK (low + 1)->region)
    return;
  CHUNK (low)->size += CHUNK (low + 1)->size;
  g_array_remove_index (model->chunks, low + 1);
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (!CHUNK (i)->used || CHUNK (i)->id != id)
    i++;
  CHUNK (i)->used = FALSE;
  merge (model, i);
  if (i > 0)
    merge (model, i - 1);
}

#define BFC(text, function) \
  .name = "tf-bfc", .settings = text, .create = function, .alloc = alloc, .free = release, \
  .destroy = destroy

const NaiveClass naive_bfc = { BFC ("", create) };
const NaiveClass naive_bfc_faulty = { BFC ("allow_growth=yes", create), .every = 5 };
const NaiveClass naive_bfc_limited = { BFC ("allow_growth=no,limit=90MiB", create_limited) };
const NaiveClass naive_bfc_kept = { BFC ("garbage_collection=no", create_kept) };
const NaiveClass naive_bfc_strict = { BFC ("limit=100MiB,fragmentation_fraction=0.1",
                                           create_strict) };

#define ORT(text, function) \
  .name = "ort-bfc", .settings = text, .create = function, .alloc = alloc, .free = release, \
  .trim = trim, .destroy = destroy

const NaiveClass naive_ort = { ORT ("", create_ort) };
const NaiveClass naive_ort_faulty = { ORT ("max_mem=unlimited", create_ort), .every = 5 };
const NaiveClass naive_ort_exact = { ORT ("arena_extend_strategy=kSameAsRequested",
                                          create_ort_exact) };
