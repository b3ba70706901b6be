/* glue-private.h - what joining of boxes consists of, for its files: glue-borders.c lists what begins and ends at a border and adds
 * up sizes, glue-join.c decides what belongs together, glue.c begins, fills and takes apart.  See glue.h.
 *
 * Invariants: a joint comes after its parts; both sides of `listed` are what its lists say.
 */
#pragma once

#include "planners/optimal/glue.h"

#define GEMEM_GLUE_NONE G_MAXUINT32
#define GEMEM_GLUE_NO_JOINT 0x7fffffffu
#define GEMEM_GLUE_UNKNOWN G_MAXUINT8

typedef struct
{
  gint64 size;
  guint64 life;
  guint32 first, last;
  guint32 a : 31,
      stacked : 1;          /* joints: b lies above a, or begins where it ends; NO_JOINT: a box */
  guint32 b : 31, gone : 1; /* gone: part of another joint */
} GememGlueNode;

/* Nodes by border: nodes[starts[b]] to below nodes[starts[b] + used[b]], some of them gone.  A join takes at least one from each
 * border that it adds one to, so there is place for all that ever come. */
typedef struct
{
  guint32 *starts, *used, *nodes;
} GememGlueLists;

/* How many boxes a sum is of; ALL: those with the same other border. */
#define GEMEM_GLUE_ALL 0
#define GEMEM_GLUE_COUNTS 4

typedef struct
{
  gint64 sum;
  guint32 n;
  guint32 at[3]; /* places in the list of its side; ALL: from at[0] on */
} GememGlueSum;

/* Sums of one count, ascending. */
typedef struct
{
  GememGlueSum *sums; /* MAX_SUMS */
  guint32 n;
  gboolean known; /* of the border that is listed */
} GememGlueSums;

/* A node of a side of a border, and its other border. */
typedef struct
{
  guint32 border;
  guint32 node;
  gint64 size;
} GememGlueListed;

typedef struct
{
  GArray *nodes; /* GememGlueListed, by other border and size */
  GememGlueSums all[GEMEM_GLUE_COUNTS];
  GememGlueSum *spare;      /* MAX_SUMS */
  const GememGlueSum *sums; /* those of the step at hand */
  guint32 n;
} GememGlueSide;

/* What is left of a joint once all is joined: part b lies @up above part a, which is where the joint is. */
typedef struct
{
  gint64 up;
  guint32 a, b;
} GememGlueJoint;

struct _GememGlue
{
  guint32 n, n_filled, n_nodes, columns;
  gint64 grain; /* divides all sizes */
  GememGlueNode
      *nodes; /* the boxes, fillers up to n_filled, then joints; a joint comes after its parts */
  GememGlueJoint *joints;       /* the nodes from n_filled on */
  GememGlueLists firsts, lasts; /* of the nodes that begin and end at each border */
  GememGlueLevel level;
  /* by border: the step that was not tried yet, those with one shift after another; or, by how rare it is, 1 + the highest level
   * of what fits, less the least; 0: not known since something changed */
  guint8 *due;
  guint8 *n_ending,
      *n_beginning; /* by border: no more nodes than that; GEMEM_GLUE_UNKNOWN: or as many, or more */
  guint32 listed;   /* the border whose nodes are listed; GEMEM_GLUE_NONE */
  GememGlueSide ending, beginning;
  GememBoxes rest;
};

/* ---- glue-borders.c */

/* Makes the lists of the nodes that there are, and frees them. */
void gemem_glue_borders_init (GememGlue *glue);
void gemem_glue_borders_clear (GememGlue *glue);
/* Adds node @i to the lists of its borders, from which what is gone goes if there is no place. */
void gemem_glue_list_node (GememGlue *glue, guint32 i);
/* Lists what begins at @border. */
void gemem_glue_list_beginning (GememGlue *glue, guint32 border);
/* Lists both sides of @border, unless they are. */
void gemem_glue_list_sides (GememGlue *glue, guint32 border);
/* Makes the sums of @count those at hand. */
void gemem_glue_find_sums (GememGlueSide *side, guint32 count);

static inline const GememGlueListed *
gemem_glue_listed_at (const GememGlueSide *side, guint32 i)
{
  return &g_array_index (side->nodes, GememGlueListed, i);
}

/* ---- glue-join.c */

/* Joins all that the level of @glue allows. */
void gemem_glue_join_all (GememGlue *glue);
/* The same where all that GEMEM_GLUE_SUMS allows is joined. */
void gemem_glue_join_more (GememGlue *glue);
