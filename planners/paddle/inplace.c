/* inplace.c - planner `paddle-inplace-pass`: outputs written over inputs, with the three meanings
 * of FLAGS_enable_inplace_whitelist.
 *
 * Rules (paddle.md 7).  Operators of the global block are visited in planning order; their pairs
 * come from the in-place rule (graphs/overlay.h: attribute `inplace_pairs`, else first input and
 * first output of the whitelisted types):
 *   version=1.4  the flag on: only whitelisted operators;
 *   version=1.5  the flag on: only operators that are not whitelisted (as the documentation says);
 *   version=1.6  no flag; the rules of the buffer-sharing pass (8.5).
 * rules=documented: in every version the flag means what it means in 1.5, since the manual says so
 * from 1.4 on without an end.
 * In 1.4 and 1.5 a pair shares if neither is in the skip set, the names differ, the input is once
 * among the inputs and the output once among the outputs, neither is on the other side, no other
 * operator uses the input later or at an unknown time, both are reusable (8.4), and NodeSize is
 * equal (except for reshape2 and reshape2_grad).  In 1.6: if both are non-persistent tensors of
 * equal bytes, the input is dead after the operator, the output is the first version of its name.
 *
 * Not known: which of these checks release 1.4 lacked; all of them are made.  Its rule "withdraw if
 * the graph would get a cycle" here requires that the other readers come first.
 *
 * Cost: O(inputs + outputs) per operator, and gemem_paddle_is_over() per pair.
 * Origin: paddle.md 7.
 */
#include "config.h"

#include <string.h>

#include "base/rules.h"
#include "graphs/meaning.h"
#include "graphs/overlay.h"
#include "planners/paddle/inplace.h"
#include "planners/paddle/node-size.h"
#include "planners/paddle/params.h"
#include "planners/paddle/skip.h"

/* ---- the state of sharing */

void
gemem_paddle_sharing_init (PaddleSharing *sharing, const PaddleProgram *program)
{
  sharing->program = program;
  sharing->touches = gemem_paddle_touches_new (program);
  gemem_paddle_names_init (&sharing->names, program->n_variables);
  sharing->gave = g_new0 (guint8, (gsize) program->n_variables + 1);
  sharing->took = g_new0 (guint8, (gsize) program->n_variables + 1);
  sharing->n_reads = g_new0 (guint32, (gsize) program->n_variables + 1);
  sharing->n_writes = g_new0 (guint32, (gsize) program->n_variables + 1);
  sharing->renames = g_array_new (FALSE, FALSE, sizeof (PaddleRename));
}

void
gemem_paddle_sharing_clear (PaddleSharing *sharing)
{
  gemem_paddle_touches_free (sharing->touches);
  gemem_paddle_names_clear (&sharing->names);
  g_free (sharing->gave);
  g_free (sharing->took);
  g_free (sharing->n_reads);
  g_free (sharing->n_writes);
  g_array_unref (sharing->renames);
}

void
gemem_paddle_share (PaddleSharing *sharing, guint32 node, guint32 in, guint32 out)
{
  const PaddleRename rename = { 0, node, out, in, 0, 0 };

  g_array_append_val (sharing->renames, rename);
  sharing->gave[in] = sharing->took[out] = TRUE;
  gemem_paddle_rename (&sharing->names, gemem_paddle_name (&sharing->names, out),
                       gemem_paddle_name (&sharing->names, in));
}

void
gemem_paddle_count_node (PaddleSharing *sharing, guint32 node, int by)
{
  const GememNode *op = gemem_graph_node (sharing->program->graph, node);
  const guint32 *reads = gemem_paddle_reads (sharing->program, node),
                *writes = gemem_paddle_writes (sharing->program, node);

  for (guint32 i = 0; i < op->n_inputs; i++)
    if (reads[i] != GEMEM_NONE)
      sharing->n_reads[reads[i]] += (guint32) by;
  for (guint32 i = 0; i < gemem_paddle_n_writes (op); i++)
    if (writes[i] != GEMEM_NONE)
      sharing->n_writes[writes[i]] += (guint32) by;
}

gboolean
gemem_paddle_is_shareable (const PaddleProgram *program, guint32 variable, const guint8 *foreign)
{
  const PaddleVariable *v = gemem_paddle_variable (program, variable);

  return strcmp (v->name, PADDLE_EMPTY) != 0 && !v->persistable && v->is_tensor && v->bytes > 0
         && !foreign[variable];
}

/* ---- the pass */

typedef struct
{
  PaddleSharing *sharing;
  const PaddleInplace *settings;
  guint8 *skip, *foreign;
} Pass;

static gboolean
may_operate (const Pass *pass, guint32 id)
{
  const GememNode *node = gemem_graph_node (pass->sharing->program->graph, id);

  if (node->block != 0 || node->n_blocks > 0)
    return FALSE;
  if (!pass->settings->enable_inplace_whitelist)
    return TRUE;
  if (pass->settings->rules == GEMEM_RULES_DOCUMENTED)
    return !gemem_inplace_whitelisted (node->type);
  return pass->settings->version == PADDLE_INPLACE_1_6
         || gemem_inplace_whitelisted (node->type)
                == (pass->settings->version == PADDLE_INPLACE_1_4);
}

/* TRUE if both items lie at the start of their variables. */
static gboolean
is_at_start (const PaddleProgram *program, guint32 id, guint32 input, guint32 output)
{
  const guint32 in = gemem_graph_input_item (program->graph, id, input);
  const guint32 out = gemem_node_output_item (gemem_graph_node (program->graph, id), output);

  return (in == GEMEM_NONE || program->places[in].inner == 0) && program->places[out].inner == 0;
}

static gboolean
is_old_pair (const Pass *pass, guint32 id, guint32 in, guint32 out)
{
  const PaddleProgram *program = pass->sharing->program;
  const char *type = gemem_graph_node (program->graph, id)->type;
  const PaddleVariable *x = gemem_paddle_variable (program, in),
                       *y = gemem_paddle_variable (program, out);
  const gboolean any_size = strcmp (type, "reshape2") == 0 || strcmp (type, "reshape2_grad") == 0;

  return !pass->skip[in] && !pass->skip[out]
         && gemem_paddle_is_reusable (program, in, pass->settings->place)
         && gemem_paddle_is_reusable (program, out, pass->settings->place)
         && (any_size || gemem_paddle_node_size (x) == gemem_paddle_node_size (y))
         && ((y->named && program->one_stream)
             || gemem_paddle_is_first (pass->sharing->touches, out, id));
}

static gboolean
is_new_pair (const Pass *pass, guint32 id, guint32 in, guint32 out)
{
  const PaddleProgram *program = pass->sharing->program;

  return gemem_paddle_is_shareable (program, in, pass->foreign)
         && gemem_paddle_is_shareable (program, out, pass->foreign)
         && gemem_paddle_variable (program, in)->bytes
                == gemem_paddle_variable (program, out)->bytes
         && !pass->sharing->gave[in] && !pass->sharing->took[out]
         && gemem_paddle_is_first (pass->sharing->touches, out, id);
}

static void
try_pair (const Pass *pass, guint32 id, guint32 input, guint32 output)
{
  PaddleSharing *sharing = pass->sharing;
  const PaddleProgram *program = sharing->program;
  const guint32 in = gemem_paddle_reads (program, id)[input],
                out = gemem_paddle_writes (program, id)[output];
  const char *debug = pass->settings->memory_optimize_debug;

  if (in == GEMEM_NONE || out == GEMEM_NONE
      || gemem_paddle_variable (program, in)->type >> 8
             != gemem_paddle_variable (program, out)->type >> 8)
    return;
  if (sharing->n_reads[in] != 1 || sharing->n_writes[out] != 1 || sharing->n_writes[in] != 0
      || sharing->n_reads[out] != 0)
    return;
  if (debug != NULL && strcmp (debug, gemem_paddle_variable (program, out)->name) == 0)
    return;
  if (is_at_start (program, id, input, output) && gemem_paddle_is_over (sharing->touches, in, id)
      && (pass->settings->version == PADDLE_INPLACE_1_6 ? is_new_pair (pass, id, in, out)
                                                        : is_old_pair (pass, id, in, out)))
    gemem_paddle_share (sharing, id, in, out);
}

static void
visit (const Pass *pass, guint32 id)
{
  const GememNode *node = gemem_graph_node (pass->sharing->program->graph, id);
  guint n;
  const gint64 *pairs = gemem_graph_inplace_rule (pass->sharing->program->graph, id, &n);

  if (n == 0)
    return;
  gemem_paddle_count_node (pass->sharing, id, 1);
  for (guint i = 0; i + 1 < n; i += 2)
    if (pairs[i] >= 0 && pairs[i] < node->n_inputs && pairs[i + 1] >= 0
        && pairs[i + 1] < node->n_outputs)
      try_pair (pass, id, (guint32) pairs[i], (guint32) pairs[i + 1]);
  gemem_paddle_count_node (pass->sharing, id, -1);
}

void
gemem_paddle_inplace (PaddleSharing *sharing, const PaddleInplace *settings, PaddleRewrite *rewrite)
{
  const PaddleProgram *program = sharing->program;
  g_autofree guint8 *skip = g_new0 (guint8, (gsize) program->n_variables + 1);
  g_autofree guint8 *foreign = g_new0 (guint8, (gsize) program->n_variables + 1);
  g_autoptr (GArray) lists = gemem_paddle_lists (program, FALSE);
  const Pass pass = { sharing, settings, skip, foreign };

  gemem_paddle_skip_for_passes (program, skip);
  gemem_paddle_skip_foreign (program, lists, FALSE, foreign);
  for (guint32 v = 0; v < program->n_variables; v++)
    skip[v] |= foreign[v];
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      if (may_operate (&pass, id))
        visit (&pass, id);
      gemem_paddle_rewrite_node (program, &sharing->names, id, rewrite);
    }
}

/* ---- the planner */

static GememPlan *
plan (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const PaddleInplace *settings = params;
  g_autoptr (PaddleProgram)
      program = gemem_paddle_program_begin (input, settings->alignment, error);
  PaddleRewrite *rewrite;
  PaddleSharing sharing;

  if (program == NULL
      || (settings->memory_optimize_debug != NULL
          && !gemem_paddle_check_name (program, settings->memory_optimize_debug,
                                       "memory_optimize_debug", error)))
    return NULL;
  rewrite = gemem_paddle_rewrite_new (program);
  gemem_paddle_sharing_init (&sharing, program);
  gemem_paddle_inplace (&sharing, settings, rewrite);
  gemem_paddle_sharing_clear (&sharing);
  return gemem_paddle_rewrite_plan (program, rewrite, "paddle-inplace-pass", settings->alignment);
}

static const GememParam params[] = {
  { .name = "enable_inplace_whitelist",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (PaddleInplace, enable_inplace_whitelist),
    .help = "1.4: only listed operators may; 1.5, and rules=documented: listed operators may not; "
            "1.6: no effect." },
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "1.5",
    .choices = "1.4|1.5|1.6|1.3=1.4",
    .offset = G_STRUCT_OFFSET (PaddleInplace, version),
    .help = "Release whose pass it is." },
  GEMEM_RULES_ROW (PaddleInplace, rules,
                   "enable_inplace_whitelist keeps listed operators out in every version."),
  { .name = "memory_optimize_debug",
    .type = GEMEM_PARAM_STRING,
    .offset = G_STRUCT_OFFSET (PaddleInplace, memory_optimize_debug),
    .help = "Name of an output that stays where it is, one that the program has." },
  PADDLE_PLACE_PARAM (PaddleInplace),
  PADDLE_ALIGNMENT_PARAM (PaddleInplace),
  { NULL },
};

const GememPlanner gemem_planner_paddle_inplace = {
  .base = { .name = "paddle-inplace-pass",
            .summary = "PaddlePaddle's in-place passes: outputs written over inputs",
            .origin = "paddle.md 7",
            .params = params,
            .params_size = sizeof (PaddleInplace) },
  .capabilities = GEMEM_PLANNER_GRAPH,
  .alignment = PADDLE_ALIGNMENT,
  .plan = plan,
  .item_bytes = 400,
};
