/* naive-rmm.c - RMM's pool_memory_resource, from peers.md 1c.1: one array of blocks, each free one
 * with the number of its stream's list. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, size;
  gboolean head; /* a device allocation begins here */
  guint64 whole; /* its bytes, if so */
  gboolean used;
  guint list;
  guint32 id;
  gboolean leaves; /* to be freed on stream `to` */
  guint64 to;
} Block;

typedef struct
{
  Naive base;
  guint64 initial, maximum, pool; /* maximum 0: none */
  gboolean old;                   /* RMM 24.12 */
  GArray *streams;                /* guint64, in order of first use */
  GArray *blocks;                 /* Block, by address */
} Model;

#define AT(i) (&g_array_index (model->blocks, Block, i))

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->streams = g_array_new (FALSE, FALSE, sizeof (guint64));
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return &model->base;
}

static Naive *
create_initial (void)
{
  Naive *naive = create ();

  ((Model *) naive)->initial = 16 * MIB;
  return naive;
}

static Naive *
create_limited (void)
{
  Naive *naive = create ();

  ((Model *) naive)->maximum = 96 * MIB;
  return naive;
}

static Naive *
create_old (void)
{
  Naive *naive = create_limited ();

  ((Model *) naive)->old = TRUE;
  return naive;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->streams);
  g_array_unref (((Model *) naive)->blocks);
}

static guint
list_of (Model *model, guint64 stream)
{
  for (guint i = 0; i < model->streams->len; i++)
    if (g_array_index (model->streams, guint64, i) == stream)
      return i;
  g_array_append_val (model->streams, stream);
  return model->streams->len - 1;
}

static gboolean
belong_together (Model *model, guint low)
{
  const Block *a = AT (low), *b = AT (low + 1);

  return !a->used && !b->used && a->list == b->list && a->address + a->size == b->address
         && !b->head;
}

/* Merges what may merge, anywhere. */
static void
merge_all (Model *model)
{
  for (guint i = 0; i + 1 < model->blocks->len;)
    if (belong_together (model, i))
      {
        AT (i)->size += AT (i + 1)->size;
        g_array_remove_index (model->blocks, i + 1);
      }
    else
      i++;
}

static int
best_fit (Model *model, guint list, guint64 size)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    if (!AT (i)->used && AT (i)->list == list && AT (i)->size >= size
        && (best < 0 || AT (i)->size < AT (best)->size))
      best = (int) i;
  return best;
}

static int
add (Model *model, guint64 address, guint64 size, guint list)
{
  const Block block = { address, size, TRUE, size, FALSE, list, 0, FALSE, 0 };
  guint at = 0;

  while (at < model->blocks->len && AT (at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  model->pool += size;
  return (int) at;
}

/* Returns whole allocations, the lowest first, until @size bytes may be added. */
static void
make_room (Model *model, guint64 size)
{
  for (guint i = 0;
       i < model->blocks->len && size > (model->maximum - model->pool + 255) / 256 * 256;)
    if (AT (i)->head && !AT (i)->used && AT (i)->size == AT (i)->whole)
      {
        naive_device_free (&model->base.device, AT (i)->address);
        model->pool -= AT (i)->whole;
        g_array_remove_index (model->blocks, i);
      }
    else
      i++;
}

static int
grow (Model *model, guint64 size, guint list)
{
  if (model->maximum != 0 && size <= model->maximum && !model->old)
    make_room (model, size);

  const guint64 left = (model->maximum - model->pool + 255) / 256 * 256;
  guint64 wanted = MAX (size, model->pool), address;

  if (model->maximum != 0)
    wanted = size <= left ? MAX (size, left / 2) : 0;
  while (wanted >= size)
    {
      if ((address = naive_device_malloc (&model->base.device, wanted)) != 0)
        return add (model, address, wanted, list);
      if (wanted == size)
        return -1;
      wanted = MAX (size, wanted / 2);
    }
  return -1;
}

static void
start (Naive *naive)
{
  Model *model = (Model *) naive;
  const guint64 first = model->initial != 0 ? naive_device_malloc (&naive->device, model->initial)
                                            : 0;

  if (first != 0)
    add (model, first, model->initial, list_of (model, 0));
}

static int
search (Model *model, guint own, guint64 size)
{
  int found = best_fit (model, own, size);

  for (guint list = 0; found < 0 && list < model->streams->len; list++)
    found = best_fit (model, list, size);
  for (guint list = 0; found < 0 && list < model->streams->len; list++)
    {
      for (guint i = 0; i < model->blocks->len; i++)
        if (!AT (i)->used && AT (i)->list == list)
          AT (i)->list = own;
      merge_all (model);
      found = best_fit (model, own, size);
    }
  return found;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  guint64 size;
  guint own;
  int i;

  if (request->size > G_MAXINT64)
    return FALSE;
  own = list_of (model, request->stream);
  size = (request->size + 255) / 256 * 256;
  i = search (model, own, size);
  if (i < 0)
    i = grow (model, size, own);
  if (i < 0)
    return FALSE;
  if (AT (i)->size > size)
    {
      Block rest = *AT (i);

      rest.address += size;
      rest.size -= size;
      rest.head = FALSE;
      AT (i)->size = size;
      g_array_insert_val (model->blocks, i + 1, rest);
    }
  AT (i)->used = TRUE;
  AT (i)->list = own;
  AT (i)->id = id;
  merge_all (model);
  *address = AT (i)->address;
  *block = size;
  return TRUE;
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (!AT (i)->used || AT (i)->id != id)
    i++;
  if (AT (i)->leaves)
    AT (i)->list = list_of (model, AT (i)->to);
  AT (i)->leaves = AT (i)->used = FALSE;
  merge_all (model);
}

/* Block @id will go to the list of @stream, which counts from then on. */
static void
stream_free (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->blocks->len; i++)
    if (AT (i)->used && AT (i)->id == id)
      {
        AT (i)->leaves = TRUE;
        AT (i)->to = stream;
      }
}

#define RMM(text, function) \
  .name = "rmm-pool", .settings = text, .create = function, .start = start, .alloc = alloc, \
  .free = release, .stream_free = stream_free, .destroy = destroy

const NaiveClass naive_rmm = { RMM ("", create) };
const NaiveClass naive_rmm_faulty = { RMM ("maximum_pool_size=none", create), .every = 5 };
const NaiveClass naive_rmm_initial = { RMM ("initial_pool_size=16MiB", create_initial) };
const NaiveClass naive_rmm_old = { RMM ("maximum_pool_size=96MiB,version=24.12", create_old) };
const NaiveClass naive_rmm_limited = { RMM ("maximum_pool_size=96MiB", create_limited) };
