/* naive.c - the naive device, the list of models, and the model of `direct`. */
#include "config.h"

#include "tests/util/naive-models.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define STEP (G_GUINT64_CONSTANT (2) << 20)

/* ---- the device */

static guint64
steps (guint64 size)
{
  return (size + STEP - 1) / STEP * STEP;
}

static guint64
lowest_place (const NaiveDevice *device, guint64 size, guint *index)
{
  guint64 place = BASE;

  for (*index = 0; *index < device->pieces->len; (*index)++)
    {
      const NaivePiece *piece = &g_array_index (device->pieces, NaivePiece, *index);

      if (place + steps (size) <= piece->address)
        return place;
      place = piece->address + steps (piece->size);
    }
  return place;
}

guint64
naive_device_malloc (NaiveDevice *device, guint64 size)
{
  guint index = device->pieces->len;
  NaivePiece piece = { device->next, size };

  if (size == 0 || size > device->capacity - device->held)
    return 0;
  if (device->first_fit)
    piece.address = lowest_place (device, size, &index);
  device->next += steps (size);
  device->held += size;
  g_array_insert_val (device->pieces, index, piece);
  return piece.address;
}

void
naive_device_free (NaiveDevice *device, guint64 address)
{
  for (guint i = 0; i < device->pieces->len; i++)
    if (g_array_index (device->pieces, NaivePiece, i).address == address)
      {
        device->held -= g_array_index (device->pieces, NaivePiece, i).size;
        g_array_remove_index (device->pieces, i);
        return;
      }
  g_assert_not_reached ();
}

/* ---- models */

Naive *
naive_new (const NaiveClass *klass, guint64 capacity, gboolean first_fit)
{
  Naive *naive = klass->create ();

  naive->klass = klass;
  naive->device = (NaiveDevice) { .capacity = capacity, .next = BASE, .first_fit = first_fit };
  naive->device.pieces = g_array_new (FALSE, FALSE, sizeof (NaivePiece));
  if (klass->start != NULL)
    klass->start (naive);
  return naive;
}

void
naive_free (Naive *naive)
{
  if (naive == NULL)
    return;
  g_array_unref (naive->device.pieces);
  naive->klass->destroy (naive);
  g_free (naive);
}

const NaiveClass *const naive_classes[] = {
  &naive_direct,       &naive_caching,      &naive_buddy_default, &naive_buddy_fixed,   &naive_buddy_initial, &naive_growth_plain,
  &naive_best_fit_odd, &naive_best_fit_initial,
  &naive_growth_chunk, &naive_growth_idle,  &naive_growth_before, &naive_growth_p16,
  &naive_ge_rdma,      &naive_ge_bins,      &naive_ge_bins_padded, &naive_ge_bins_bare,  NULL,
};

/* ---- direct: a device call per request */

typedef struct
{
  guint32 id;
  guint64 address;
} DirectBlock;

typedef struct
{
  Naive   base;
  GArray *blocks; /* DirectBlock */
} Direct;

static Naive *
direct_create (void)
{
  Direct *direct = g_new0 (Direct, 1);

  direct->blocks = g_array_new (FALSE, FALSE, sizeof (DirectBlock));
  return &direct->base;
}

static gboolean
direct_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  const DirectBlock block = { id, naive_device_malloc (&naive->device, request->size) };

  if (block.address == 0)
    return FALSE;
  g_array_append_val (((Direct *) naive)->blocks, block);
  *address = block.address;
  *size = request->size;
  return TRUE;
}

static void
direct_free (Naive *naive, guint32 id, gboolean completion_follows)
{
  GArray *blocks = ((Direct *) naive)->blocks;
  guint i = 0;

  while (g_array_index (blocks, DirectBlock, i).id != id)
    i++;
  naive_device_free (&naive->device, g_array_index (blocks, DirectBlock, i).address);
  g_array_remove_index (blocks, i);
}

static void
direct_destroy (Naive *naive)
{
  g_array_unref (((Direct *) naive)->blocks);
}

const NaiveClass naive_direct
    = { .name = "direct", .settings = "", .create = direct_create, .alloc = direct_alloc, .free = direct_free, .destroy = direct_destroy };
