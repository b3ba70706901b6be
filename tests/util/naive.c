/* naive.c - the naive device, the list of models, and the model of `direct`. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

/* ---- addresses */

static guint64
steps (const NaiveRegion *region, guint64 size)
{
  return (size + region->step - 1) / region->step * region->step;
}

static guint64
lowest_place (const NaiveRegion *region, guint64 size, guint *index)
{
  guint64 place = region->base;

  for (*index = 0; *index < region->pieces->len; (*index)++)
    {
      const NaivePiece *piece = &g_array_index (region->pieces, NaivePiece, *index);

      if (place + steps (region, size) <= piece->address)
        return place;
      place = piece->address + steps (region, piece->size);
    }
  return place;
}

static guint64
take_place (NaiveRegion *region, gboolean first_fit, guint64 size)
{
  guint index = region->pieces->len;
  NaivePiece piece = { region->next, size };

  if (first_fit)
    piece.address = lowest_place (region, size, &index);
  region->next += steps (region, size);
  g_array_insert_val (region->pieces, index, piece);
  return piece.address;
}

/* Removes the piece at @address; returns its size. */
static guint64
give_place (NaiveRegion *region, guint64 address)
{
  for (guint i = 0; i < region->pieces->len; i++)
    {
      const NaivePiece piece = g_array_index (region->pieces, NaivePiece, i);

      if (piece.address != address)
        continue;
      g_array_remove_index (region->pieces, i);
      return piece.size;
    }
  g_assert_not_reached ();
}

/* ---- the device */

static gboolean
fails (NaiveDevice *device)
{
  return device->every != 0 && ++device->calls % device->every == 0;
}

guint64
naive_device_malloc (NaiveDevice *device, guint64 size)
{
  if (fails (device) || size == 0 || size > device->capacity - device->held)
    return 0;
  device->held += size;
  return take_place (&device->memory, device->first_fit, size);
}

void
naive_device_free (NaiveDevice *device, guint64 address)
{
  device->held -= give_place (&device->memory, address);
}

guint64
naive_device_reserve (NaiveDevice *device, guint64 size)
{
  return fails (device) || device->no_virtual
             ? 0
             : take_place (&device->ranges, device->first_fit, size);
}

void
naive_device_release (NaiveDevice *device, guint64 address)
{
  give_place (&device->ranges, address);
}

gboolean
naive_device_create_page (NaiveDevice *device, guint64 size)
{
  if (fails (device) || size > device->capacity - device->held)
    return FALSE;
  device->held += size;
  return TRUE;
}

void
naive_device_destroy_page (NaiveDevice *device, guint64 size)
{
  device->held -= size;
}

gboolean
naive_device_map (NaiveDevice *device)
{
  return !fails (device);
}

guint64
naive_device_event (const NaiveDevice *device)
{
  return device->now + device->latency;
}

/* ---- models */

Naive *
naive_new (const NaiveClass *klass, guint64 capacity, gboolean first_fit)
{
  Naive *naive = klass->create ();

  naive->klass = klass;
  naive->device = (NaiveDevice){
    .capacity = capacity,
    .first_fit = first_fit,
    .no_virtual = klass->no_virtual,
    .every = klass->every,
    .latency = klass->delay * NAIVE_TICK,
    .memory = { 0x100000000000, 2 * MIB, 0x100000000000,
                g_array_new (FALSE, FALSE, sizeof (NaivePiece)) },
    .ranges = { 0x200000000000, 1024 * MIB, 0x200000000000,
                g_array_new (FALSE, FALSE, sizeof (NaivePiece)) },
  };
  if (klass->start != NULL)
    klass->start (naive);
  return naive;
}

void
naive_free (Naive *naive)
{
  if (naive == NULL)
    return;
  naive->klass->destroy (naive);
  g_array_unref (naive->device.memory.pieces);
  g_array_unref (naive->device.ranges.pieces);
  g_free (naive);
}

char *
naive_path (const char *prefix, const NaiveClass *klass)
{
  g_autofree char *every = klass->every > 0
                               ? g_strdup_printf (":every=%" G_GUINT64_FORMAT, klass->every)
                               : g_strdup ("");
  g_autofree char *delay = klass->delay > 0 ? g_strdup_printf (":delay=%u", klass->delay)
                                            : g_strdup ("");

  return g_strconcat (prefix, klass->name, ":", klass->settings,
                      klass->no_virtual ? ":no-virtual-memory" : "", every, delay, NULL);
}

const NaiveClass *const naive_classes[] = {
  &naive_direct,
  &naive_caching,
  &naive_caching_2_12,
  &naive_caching_2_11,
  &naive_expandable,
  &naive_expandable_faulty,
  &naive_npu,
  &naive_npu_unpadded,
  &naive_npu_rejecting,
  &naive_npu_lazy,
  &naive_npu_slow,
  &naive_npu_ranges,
  &naive_npu_faulty,
  &naive_npu_kept,
  &naive_npu_kept_faulty,
  &naive_npu_huge,
  &naive_bfc,
  &naive_bfc_faulty,
  &naive_bfc_limited,
  &naive_bfc_kept,
  &naive_bfc_strict,
  &naive_ort,
  &naive_ort_faulty,
  &naive_ort_exact,
  &naive_rmm,
  &naive_rmm_faulty,
  &naive_rmm_initial,
  &naive_rmm_limited,
  &naive_rmm_old,
  &naive_rmm_arena,
  &naive_rmm_arena_small,
  &naive_rmm_arena_faulty,
  &naive_rmm_arena_classes,
  &naive_rmm_fixed,
  &naive_rmm_fixed_faulty,
  &naive_rmm_binning,
  &naive_rmm_binning_faulty,
  &naive_rmm_limiting_pool,
  &naive_pinned,
  &naive_pinned_late,
  &naive_pinned_exact,
  &naive_pinned_reserving,
  &naive_cupy,
  &naive_cupy_faulty,
  &naive_cupy_limited,
  &naive_quick,
  &naive_quick_faulty,
  &naive_quick_half,
  &naive_quick_blocks,
  &naive_quick_one_block,
  &naive_list,
  &naive_list_faulty,
  &naive_list_half,
  &naive_list_blocks,
  &naive_cuda,
  &naive_cuda_slow,
  &naive_cuda_faulty,
  &naive_cuda_kept,
  &naive_cuda_ordered,
  &naive_cuda_strict,
  &naive_cuda_rmm,
  &naive_gmlake,
  &naive_gmlake_slow,
  &naive_gmlake_faulty,
  &naive_gmlake_paper,
  &naive_gmlake_extending,
  &naive_gmlake_strict,
  &naive_gmlake_plain,
  &naive_buddy_default,
  &naive_buddy_fixed,
  &naive_buddy_initial,
  &naive_buddy_ragged,
  &naive_buddy_idle,
  &naive_buddy_idle_ragged,
  &naive_buddy_p13,
  &naive_buddy_p14,
  &naive_buddy_cpu,
  &naive_buddy_cpu_ragged,
  &naive_buddy_pinned,
  &naive_threads_stream,
  &naive_threads_pool,
  &naive_growth_plain,
  &naive_growth_chunk,
  &naive_growth_idle,
  &naive_growth_before,
  &naive_growth_p16,
  &naive_growth_2_2,
  &naive_growth_slow,
  &naive_growth_slow_idle,
  &naive_growth_pools,
  &naive_growth_pools_filled,
  &naive_growth_v2,
  &naive_vmm,
  &naive_vmm_slow,
  &naive_vmm_bare,
  &naive_vmm_limited,
  &naive_vmm_aligned,
  &naive_vmm_faulty,
  &naive_ge_scalable,
  &naive_ge_models,
  &naive_ge_models_faulty,
  &naive_ge_expandable,
  &naive_ge_expandable_plain,
  &naive_ge_expandable_faulty,
  &naive_ge_expandable_poor,
  &naive_ge_documented,
  &naive_ge_as_built,
  &naive_ge_as_built_faulty,
  &naive_ge_policy4,
  &naive_ge_policy4_plain,
  &naive_ge_policy4_faulty,
  &naive_ge_policy4_poor,
  &naive_ge_whole_0,
  &naive_ge_whole_0_faulty,
  &naive_ge_whole_actual,
  &naive_ge_whole_actual_faulty,
  &naive_ge_whole_1,
  &naive_ge_whole_1_faulty,
  &naive_ge_whole_2,
  &naive_ge_whole_2_faulty,
  &naive_ge_whole_3,
  &naive_ge_whole_3_faulty,
  &naive_ge_whole_4,
  &naive_ge_whole_4_faulty,
  &naive_ge_whole_both,
  &naive_ge_whole_strict,
  &naive_ge_whole_external,
  &naive_ge_whole_addr_fixed,
  &naive_ge_fixed_base,
  &naive_ge_fixed_base_large,
  &naive_ge_fixed_base_plain,
  &naive_ge_fixed_base_faulty,
  &naive_ge_streams,
  &naive_ge_streams_faulty,
  &naive_ge_rdma,
  &naive_ge_bins,
  &naive_ge_bins_padded,
  &naive_ge_bins_bare,
  &naive_best_fit_odd,
  &naive_best_fit_initial,
  NULL,
};

/* ---- direct: a device call per request */

typedef struct
{
  guint32 id;
  guint64 address;
} DirectBlock;

typedef struct
{
  Naive base;
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
direct_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address,
              guint64 *size)
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

const NaiveClass naive_direct = { .name = "direct",
                                  .settings = "",
                                  .create = direct_create,
                                  .alloc = direct_alloc,
                                  .free = direct_free,
                                  .destroy = direct_destroy };
