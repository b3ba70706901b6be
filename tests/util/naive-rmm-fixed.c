/* naive-rmm-fixed.c - RMM's fixed_size_memory_resource, and its binning_memory_resource on it, from
 * peers.md 1c.3: one array of blocks, each free one with its list and the moment it came there. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, moment;
  gboolean used;
  guint list;
  guint32 id;
  gboolean leaves; /* to be freed on stream `to` */
  guint64 to;
} Block;

typedef struct
{
  guint64 size, count; /* of blocks */
  gboolean begun;
  GArray *blocks;  /* Block */
  GArray *streams; /* guint64, in order of first use */
} Bin;

typedef struct
{
  guint64 address, size;
  guint32 id;
} Passed;

typedef struct
{
  Naive base;
  Bin bins[4];
  guint n_bins;
  gboolean only;  /* there is nothing behind the bins */
  guint64 moment; /* counts what was put into lists */
  GArray *passed; /* Passed: from the device itself */
} Model;

#define AT(bin, i) (&g_array_index ((bin)->blocks, Block, i))

static Naive *
create (const guint64 *sizes, guint n, guint64 count, gboolean only)
{
  Model *model = g_new0 (Model, 1);

  for (model->n_bins = 0; model->n_bins < n; model->n_bins++)
    model->bins[model->n_bins] = (Bin){ .size = sizes[model->n_bins],
                                        .count = count,
                                        .blocks = g_array_new (FALSE, FALSE, sizeof (Block)),
                                        .streams = g_array_new (FALSE, FALSE, sizeof (guint64)) };
  model->only = only;
  model->passed = g_array_new (FALSE, FALSE, sizeof (Passed));
  return &model->base;
}

static Naive *
create_fixed (void)
{
  static const guint64 sizes[] = { 3 * MIB };

  return create (sizes, 1, 5, TRUE);
}

static Naive *
create_one (void)
{
  static const guint64 sizes[] = { 3 * MIB };

  return create (sizes, 1, 1, TRUE);
}

static Naive *
create_binning (void)
{
  static const guint64 sizes[] = { 1 << 13, 1 << 14, 1 << 15, 100096 };

  return create (sizes, 4, 128, FALSE);
}

static void
destroy (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->n_bins; i++)
    {
      g_array_unref (model->bins[i].blocks);
      g_array_unref (model->bins[i].streams);
    }
  g_array_unref (model->passed);
}

static guint
list_of (Bin *bin, guint64 stream)
{
  for (guint i = 0; i < bin->streams->len; i++)
    if (g_array_index (bin->streams, guint64, i) == stream)
      return i;
  g_array_append_val (bin->streams, stream);
  return bin->streams->len - 1;
}

static gboolean
add_chunk (Model *model, Bin *bin, guint64 stream)
{
  const guint64 address = naive_device_malloc (&model->base.device, bin->size * bin->count);
  const guint list = address != 0 ? list_of (bin, stream) : 0;

  for (guint64 i = 0; address != 0 && i < bin->count; i++)
    {
      const Block block = { address + i * bin->size, ++model->moment, FALSE, list, 0, FALSE, 0 };

      g_array_append_val (bin->blocks, block);
    }
  return address != 0;
}

static void
start (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->n_bins; i++)
    model->bins[i].begun = add_chunk (model, &model->bins[i], 0);
}

/* The block that came first into @list; NULL: none. */
static Block *
first_of (Bin *bin, guint list)
{
  Block *first = NULL;

  for (guint i = 0; i < bin->blocks->len; i++)
    if (!AT (bin, i)->used && AT (bin, i)->list == list
        && (first == NULL || AT (bin, i)->moment < first->moment))
      first = AT (bin, i);
  return first;
}

static Block *
from_bin (Model *model, Bin *bin, const NaiveRequest *request)
{
  Block *block;
  guint own;

  if (!bin->begun && !(bin->begun = add_chunk (model, bin, 0)))
    return NULL;
  own = list_of (bin, request->stream);
  if (request->size > bin->size)
    return NULL;
  block = first_of (bin, own);
  for (guint list = 0; block == NULL && list < bin->streams->len; list++)
    block = first_of (bin, list);
  if (block == NULL && add_chunk (model, bin, request->stream))
    block = first_of (bin, own);
  if (block != NULL)
    block->list = own;
  return block;
}

static gboolean
pass_on (Model *model, guint32 id, guint64 size, guint64 *address, guint64 *block)
{
  const Passed passed = { naive_device_malloc (&model->base.device, size), size, id };

  if (passed.address == 0)
    return FALSE;
  g_array_append_val (model->passed, passed);
  *address = passed.address;
  *block = size;
  return TRUE;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Model *model = (Model *) naive;
  Bin *bin = NULL;
  Block *block;

  for (guint i = 0; bin == NULL && i < model->n_bins; i++)
    if (request->size <= model->bins[i].size || model->only)
      bin = &model->bins[i];
  if (bin == NULL)
    return request->size <= G_MAXINT64 && pass_on (model, id, request->size, address, size);
  block = from_bin (model, bin, request);
  if (block == NULL)
    return FALSE;
  block->used = TRUE;
  block->id = id;
  *address = block->address;
  *size = bin->size;
  return TRUE;
}

/* The used block @id of a bin, in *@bin; NULL: none. */
static Block *
find (Model *model, guint32 id, Bin **bin)
{
  for (guint b = 0; b < model->n_bins; b++)
    for (guint i = 0; i < model->bins[b].blocks->len; i++)
      if (AT (&model->bins[b], i)->used && AT (&model->bins[b], i)->id == id)
        {
          *bin = &model->bins[b];
          return AT (*bin, i);
        }
  return NULL;
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  Bin *bin;
  Block *block = find (model, id, &bin);
  guint i = 0;

  if (block != NULL)
    {
      if (block->leaves)
        block->list = list_of (bin, block->to);
      block->leaves = block->used = FALSE;
      block->moment = ++model->moment;
      return;
    }
  while (g_array_index (model->passed, Passed, i).id != id)
    i++;
  naive_device_free (&naive->device, g_array_index (model->passed, Passed, i).address);
  g_array_remove_index (model->passed, i);
}

static void
stream_free (Naive *naive, guint32 id, guint64 stream)
{
  Bin *bin;
  Block *block = find ((Model *) naive, id, &bin);

  if (block == NULL)
    return;
  block->leaves = TRUE;
  block->to = stream;
}

#define RMM(system, text, function) \
  .name = system, .settings = text, .create = function, .start = start, .alloc = alloc, \
  .free = release, .stream_free = stream_free, .destroy = destroy
#define FIXED "block_size=3MiB,blocks_to_preallocate="
#define BINNING "min_size_exponent=13,max_size_exponent=15,bins=[100000,16200B]"

const NaiveClass naive_rmm_fixed = { RMM ("rmm-fixed-size", FIXED "5", create_fixed) };
const NaiveClass naive_rmm_fixed_faulty = { RMM ("rmm-fixed-size", FIXED "1", create_one),
                                            .every = 3 };
const NaiveClass naive_rmm_binning = { RMM ("rmm-binning", BINNING, create_binning) };
const NaiveClass naive_rmm_binning_faulty = {
  RMM ("rmm-binning", BINNING ",upstream=direct", create_binning), .every = 5
};
