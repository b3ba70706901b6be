/* naive-rmm-limiting.c - RMM's limiting_resource_adaptor on its pool, from peers.md 1c.3 and 1c.4:
 * the sizes of the live blocks, added up for each request, before the model of the pool. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

#define LIMIT (60 * MIB)

typedef struct
{
  guint64 size; /* as counted */
  guint32 id;
} Counted;

typedef struct
{
  Naive base;
  Naive *pool;
  GArray *live; /* Counted */
} Model;

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->pool = naive_rmm_initial.create ();
  model->live = g_array_new (FALSE, FALSE, sizeof (Counted));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  Model *model = (Model *) naive;

  naive_rmm_initial.destroy (model->pool);
  g_free (model->pool);
  g_array_unref (model->live);
}

/* The pool works on the device of the whole. */
static Naive *
lend (Model *model)
{
  model->pool->device = model->base.device;
  return model->pool;
}

static void
take_back (Model *model)
{
  model->base.device = model->pool->device;
}

static void
start (Naive *naive)
{
  Model *model = (Model *) naive;

  naive_rmm_initial.start (lend (model));
  take_back (model);
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const Counted counted = { (request->size + 1023) / 1024 * 1024, id };
  guint64 sum = counted.size;
  gboolean served;

  for (guint i = 0; i < model->live->len; i++)
    sum += g_array_index (model->live, Counted, i).size;
  if (request->size > G_MAXINT64 || sum > LIMIT)
    return FALSE;
  served = naive_rmm_initial.alloc (lend (model), id, request, address, block);
  take_back (model);
  if (served)
    g_array_append_val (model->live, counted);
  *block = request->size;
  return served;
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (g_array_index (model->live, Counted, i).id != id)
    i++;
  g_array_remove_index (model->live, i);
  naive_rmm_initial.free (lend (model), id, completion_follows);
  take_back (model);
}

static void
stream_free (Naive *naive, guint32 id, guint64 stream)
{
  naive_rmm_initial.stream_free (((Model *) naive)->pool, id, stream);
}

#define RMM(text) \
  .name = "rmm-limiting", .settings = "allocation_limit=60MiB,alignment=1KiB,upstream=" text, \
  .create = create, .start = start, .alloc = alloc, .free = release, .stream_free = stream_free, \
  .destroy = destroy

const NaiveClass naive_rmm_limiting_pool = { RMM ("[rmm-pool:initial_pool_size=16MiB]") };
