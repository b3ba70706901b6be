/* program.h - a graph as PaddlePaddle's memory planners see it: operators that read and write named
 * variables.
 *
 * Variables.  All outputs of the graph that name a variable are that variable, for every write.  An
 * output without a variable is one named "NODE:k", of the output's element type and shape where
 * these account for its bytes, else of shape [bytes]; a workspace is one named "NODE:workspace k".
 * Items that must share or adjoin memory (references, continuous memory: gemem_graph_lifetimes())
 * are one variable, named after a variable of the graph among them, else after the first item.
 *
 * Life.  A variable of the graph dies by PaddlePaddle's own liveness (paddle.md 8.1): after a read
 * that no other read follows before the next write.  The list of operators is straight, so one
 * backward walk reaches the fixed point of the equations: inputs of an operator that are not live
 * after it die there.  Other variables die where gemem_graph_lifetimes() says that every later node
 * runs after their last use, also across streams; a variable that is never read stays live to the
 * end, and a workspace dies after its own operator.  In a graph of several streams variables of the
 * graph stay live to the end: PaddlePaddle's programs know one stream.
 *
 * Block of a variable: the one that declares it, where the graph says so.  Else the innermost block
 * that all operators which touch it see.  Where no operator of that block itself touches it, every
 * block below has a variable of its own under this name (`local`): what a block declares, an
 * operator of the block uses or lists for its blocks.
 *
 * What a block sees (paddle.md 13.2): itself, then for the block of a gradient operator that of its
 * forward operator, then the blocks around.
 *
 * Cost: memory and time O(items + inputs + variables), beside gemem_graph_lifetimes().
 */
#pragma once

#include "planners/convert.h"
#include "planners/planner.h"

typedef struct
{
  const char *name;
  const gint64 *dims; /* `length` serves as the shape of an unnamed variable */
  guint32 n_dims;
  guint32 block;      /* that declares it */
  guint32 type;       /* a number for each pair of element type and memory space */
  guint32 first_item; /* the first item in its memory; GEMEM_NONE: it is only read */
  guint32 writer;     /* the first node that writes it; GEMEM_NONE */
  guint32 n_items;
  guint32 begin; /* unnamed: the node at which its life begins */
  guint32 last;  /* unnamed: the last node that uses it */
  /* unnamed: the node after which it is dead; GEMEM_NONE: never */
  guint32 dead_after;
  guint64 elements; /* |product of the shape|, saturating */
  guint64 bytes;    /* of the largest item */
  guint64 space, alignment;
  gint64 length;
  GememDtype dtype;
  guint32 of_graph;     /* named: the variable of the graph whose name it has */
  gboolean named;       /* it is a variable of the graph */
  gboolean persistable; /* outlives the run: a plan does not place its items */
  gboolean is_tensor;   /* LOD_TENSOR */
  gboolean declared;    /* the graph says the block */
  gboolean local;       /* not in `block`: in each block below that touches it */
  gboolean spread;      /* operators of several blocks write it */
  /* unnamed, and its memory is needed from `begin` on, before the node that writes it */
  gboolean early;
} PaddleVariable;

typedef struct
{
  const GememGraph *graph;
  GememLifetimes *lifetimes;
  GememPlanPlace *places; /* per item */
  guint32 n_variables;
  PaddleVariable *variables;
  guint32 *inputs;   /* per input of the graph: variable, GEMEM_NONE if unconnected */
  guint32 *items;    /* per item: variable, GEMEM_NONE if without memory */
  guint32 *of_graph; /* per variable of the graph: its number here */
  guint32
      *forward; /* per node: of a gradient operator with blocks its forward operator; GEMEM_NONE */
  guint32 *outer; /* per block: the next block that it sees; of block 0: 0 */
  GStringChunk *names;
  gboolean one_stream;
  const gint *interrupted; /* GememPlanInput.interrupted; set by the planner */
} PaddleProgram;

PaddleProgram *gemem_paddle_program_new (const GememGraph *graph);
/* The program of the graph of @input, for a planner whose offsets are multiples of @alignment.
 * GEMEM_ERROR_USAGE: that is no power of two. */
PaddleProgram *gemem_paddle_program_begin (const GememPlanInput *input, guint64 alignment,
                                           GError **error);
void gemem_paddle_program_free (PaddleProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleProgram, gemem_paddle_program_free)

static inline const PaddleVariable *
gemem_paddle_variable (const PaddleProgram *program, guint32 variable)
{
  return &program->variables[variable];
}

/* The variables that @node reads (n_inputs, some GEMEM_NONE), and those that it writes: outputs,
 * then workspaces. */
static inline const guint32 *
gemem_paddle_reads (const PaddleProgram *program, guint32 node)
{
  return program->inputs + gemem_graph_node (program->graph, node)->first_input;
}
static inline const guint32 *
gemem_paddle_writes (const PaddleProgram *program, guint32 node)
{
  return program->items + gemem_node_item (gemem_graph_node (program->graph, node));
}
static inline guint32
gemem_paddle_n_writes (const GememNode *node)
{
  return node->n_outputs + node->n_workspaces;
}

/* The variable of a name ("x", "NODE:k"), which may be any of its names; of several that of the
 * global block, else any; GEMEM_NONE. */
guint32 gemem_paddle_find (const PaddleProgram *program, const char *name);

/* "x[-1, 100]": Python writes it with @separator ", ", C++ with ",". */
char *gemem_paddle_shape_text (const PaddleVariable *variable, const char *separator);

/* TRUE if the batch size is unknown before the run: the first dimension is -1. */
static inline gboolean
gemem_paddle_is_dynamic (const PaddleVariable *variable)
{
  return variable->n_dims > 0 && variable->dims[0] == -1;
}

/* TRUE if block @inner sees what block @outer declares.  O(depth). */
gboolean gemem_paddle_block_sees (const PaddleProgram *program, guint32 inner, guint32 outer);

/* ---- the plan of a program (program-plan.c) */

/* TRUE if a plan places the item: it needs memory and does not persist. */
gboolean gemem_paddle_has_place (const PaddleProgram *program, guint32 item);
GememPlan *gemem_paddle_plan_new (const PaddleProgram *program, const char *planner,
                                  guint64 alignment);
/* Places @item inside its variable, which begins at @offset. */
void gemem_paddle_place_item (const PaddleProgram *program, GememPlan *plan, guint32 item,
                              guint64 offset);
