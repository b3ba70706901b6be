/* program-plan.c - what a plan begins with and ends in: the program, and a plan of items from offsets
 * of variables; see program.h. */
#include "config.h"

#include "base/error.h"
#include "planners/paddle/program.h"

PaddleProgram *
gemem_paddle_program_begin (const GememPlanInput *input, guint64 alignment, GError **error)
{
  PaddleProgram *program;

  if ((alignment & (alignment - 1)) != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "alignment: %" G_GUINT64_FORMAT " is no power of two; try 256", alignment);
      return NULL;
    }
  program = gemem_paddle_program_new (input->graph);
  program->interrupted = input->interrupted;
  return program;
}

gboolean
gemem_paddle_has_place (const PaddleProgram *program, guint32 item)
{
  const guint32 variable = program->items[item];

  return program->places[item].lifetime != GEMEM_NONE && variable != GEMEM_NONE
         && !gemem_paddle_variable (program, variable)->persistable;
}

GememPlan *
gemem_paddle_plan_new (const PaddleProgram *program, const char *planner, guint64 alignment)
{
  GememPlan *plan = gemem_plan_new (planner, gemem_graph_n_items (program->graph));

  plan->alignment = alignment;
  plan->spaces = g_new0 (guint64, (gsize) plan->n_items + 1);
  return plan;
}

void
gemem_paddle_place_item (const PaddleProgram *program, GememPlan *plan, guint32 item,
                         guint64 offset)
{
  plan->offsets[item] = offset + program->places[item].inner;
  plan->sizes[item] = program->places[item].bytes;
  plan->spaces[item] = gemem_paddle_variable (program, program->items[item])->space;
}
