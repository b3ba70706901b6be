/* glue.h - boxes that fit together edge to edge, joined into one, and taken apart again.
 *
 * Why: what fills time and memory without waste was cut from larger rectangles, or can be thought of so: a box ends
 * where another of the same size begins, several live for the same time.  Undoing cuts leaves few and large boxes,
 * whose placement is found at once: of a packing of 10 000 boxes some tens are left, of the eleven of MiniMalloc
 * half.  It only chooses: no join is sure to be in a least placement, so a search has to try without, too.
 *
 * Invariants: every placement of what remains without overlaps is one of all boxes.  The same boxes in the same
 * order are joined in the same way.
 * Cost: O(n) joins, each looks again at the boxes that begin or end at two borders; 100 bytes a box
 * while it joins, 16 for each join then.
 */
#pragma once

#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_GLUE_PAIRS,  /* one box to one box */
  GEMEM_GLUE_SUMS,   /* as well some to some, whose sizes add up to the same */
  GEMEM_GLUE_LOOSE,  /* as well what is nearly the same, which wastes up to 1/32 of a box */
  GEMEM_GLUE_FILLED, /* as well with what is free where the load is below the largest */
  GEMEM_GLUE_RARE,   /* of very many: as loose, but what is least by chance first */
  GEMEM_GLUE_LEVELS
} GememGlueLevel;

typedef struct _GememGlue GememGlue;

/* Boxes whose places and columns have changed since: by their order then, where each stands now, and its columns then. */
typedef struct
{
  guint32 *places, *firsts, *lasts;
} GememGlueOrigins;

/* Joins @boxes, all of unit 1, in columns of which none was dropped; in the order of @origins and with their columns, NULL:
 * as they are.  Neither is kept. */
GememGlue *gemem_glue_new (const GememBoxes *boxes, const GememGlueOrigins *origins,
                           GememGlueLevel level);
void gemem_glue_free (GememGlue *glue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememGlue, gemem_glue_free)

/* Of GEMEM_GLUE_SUMS, which can go on until this: frees what only joining needs. */
void gemem_glue_finish (GememGlue *glue);
/* Joins as GEMEM_GLUE_FILLED would what @glue, of GEMEM_GLUE_SUMS, left, if there is nothing to fill; NULL: there is.  It
 * can be done once, and then @glue is finished. */
GememGlue *gemem_glue_go_on (GememGlue *glue);

/* Whether any of what is free was joined with. */
gboolean gemem_glue_is_filled (const GememGlue *glue);

/* What remains, owned by @glue; their order and columns may be changed, and they get offsets. */
GememBoxes *gemem_glue_rest (GememGlue *glue);

/* Sets the offsets of @boxes, @origins as when they were joined, from those of what remains; @glue is finished then. */
void gemem_glue_take_apart (GememGlue *glue, GememBoxes *boxes, const GememGlueOrigins *origins);

GEMEM_END_DECLS
