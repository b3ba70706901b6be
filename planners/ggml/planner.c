/* planner.c - planner `ggml-alloc`: the offsets that ggml's graph allocator gives the tensors of a
 * graph.
 *
 * The graph becomes tensors (model.h), gallocr.h places them, one offset allocator per memory type.
 * Chunks are buffers of their own in ggml; in the plan they lie one behind the other, each as long
 * as what was used of it, and are segments of the plan where there are several.
 *
 * Cost: O(items log items).
 * Origin: peers.md section 1l.
 */
#include "config.h"

#include "planners/ggml/model.h"
#include "planners/ggml/offsets.h"
#include "planners/planner.h"

/* The offset of @tensor where the chunks of its buffer lie one behind the other. */
static guint64
flat_offset (const GgmlOffsets *offsets, const GgmlTensor *tensor)
{
  guint64 base = 0;

  for (guint32 c = 0; c < tensor->chunk; c++)
    base += offsets->chunks[c].high;
  return base + tensor->offset;
}

/* The plan of the buffers of @model. */
static GememPlan *
plan_buffers (const GgmlModel *model, const GgmlOffsets *offsets)
{
  const guint32 n = model->lifetimes->items->len;
  GememPlan *plan = gemem_plan_new ("ggml-alloc", n);

  plan->alignment = offsets->alignment;
  plan->spaces = g_new0 (guint64, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const GgmlTensor *tensor = &g_array_index (model->ggml.tensors, GgmlTensor, i);

      plan->offsets[i] = flat_offset (&offsets[tensor->buffer], tensor);
      plan->sizes[i] = tensor->bytes;
      plan->spaces[i] = g_array_index (model->spaces, guint32, tensor->buffer);
    }
  for (guint i = 0; i < model->spaces->len; i++)
    gemem_plan_add_total (plan, g_array_index (model->spaces, guint32, i),
                          gemem_ggml_offsets_total (&offsets[i]));
  return plan;
}

static void
add_segments (GememPlan *plan, const GgmlModel *model, const GgmlOffsets *offsets)
{
  for (guint i = 0; i < model->spaces->len; i++)
    {
      GememPlanSegment segment = { .space = gemem_space_unpack (
                                       g_array_index (model->spaces, guint32, i)) };

      for (guint32 c = 0; offsets[i].n_chunks > 1 && c < offsets[i].n_chunks; c++)
        {
          segment.size = offsets[i].chunks[c].high;
          g_array_append_val (plan->segments, segment);
          segment.base += segment.size;
        }
    }
}

static gboolean
is_possible (const GgmlModel *model, const GgmlOffsets *offsets, gboolean placed, GError **error)
{
  guint64 too_many = 0;

  for (guint i = 0; i < model->spaces->len; i++)
    too_many += offsets[i].too_many;
  if (!placed)
    g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                         "a tensor is larger than 2^62 bytes; plan a smaller graph");
  else if (too_many > 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "a chunk gets more than %d holes, at which the real program ends; give another "
                 "alignment or max_chunk",
                 GGML_HOLES);
  return placed && too_many == 0;
}

static GememPlan *
plan_ggml (gconstpointer data, const GememPlanInput *input, GError **error)
{
  const GgmlParams *params = data;
  g_autoptr (GgmlModel) model = NULL;
  g_autoptr (GememPlan) buffers = NULL;
  g_autofree GgmlOffsets *offsets = NULL;
  GememPlan *plan = NULL;
  gboolean placed;

  if (!gemem_ggml_params_check (params, error))
    return NULL;
  model = gemem_ggml_model_new (input->graph);
  offsets = g_new (GgmlOffsets, (gsize) model->spaces->len + 1);
  for (guint i = 0; i < model->spaces->len; i++)
    gemem_ggml_offsets_init (&offsets[i], params->alignment, gemem_ggml_params_max_chunk (params));
  placed = gemem_ggml_graph_plan (&model->ggml, offsets);
  if (is_possible (model, offsets, placed, error))
    {
      buffers = plan_buffers (model, offsets);
      plan = gemem_plan_spread (input->graph, buffers, model->places);
      add_segments (plan, model, offsets);
    }
  for (guint i = 0; i < model->spaces->len; i++)
    gemem_ggml_offsets_clear (&offsets[i]);
  return plan;
}

const GememPlanner gemem_planner_ggml_alloc = {
  { "ggml-alloc", "ggml",
    "ggml's graph allocator: holes, sources overwritten in place, one buffer or chunks",
    "ggml of August 2026 (peers.md 1l)", gemem_ggml_params, sizeof (GgmlParams) },
  GEMEM_PLANNER_GRAPH,
  128,
  plan_ggml,
  600
};
