/* check-private.h - shared by the parts of the checker: check-items.c has the rules of all plans,
 * check-graph.c those of graphs, check.c those of lifetimes and the entry. */
#pragma once

#include "planners/check.h"

typedef struct
{
  GememPlan *plan;
  GPtrArray *found; /* GememViolation */
  guint max;
  guint8 *
      reused; /* per item: TRUE if it lies on bytes of an earlier item, or in a variable that is fed */
  /* Describes an item with its life and its bytes; free with g_free(). */
  char *(*describe) (gconstpointer data, guint32 item);
  gconstpointer data;
} GememCheck;

/* Adds a violation; its text is "FIRST and SECOND: " and the message, or "FIRST: " and the message
 * if @second is GEMEM_NONE.  FALSE: `max` violations are found and the check ends. */
gboolean gemem_check_report (GememCheck *check, GememViolationKind kind, guint32 first,
                             guint32 second, const char *format, ...) G_GNUC_PRINTF (5, 6);

/* Checks offset, size and end of an item that needs @bytes at a multiple of @alignment (1: any
 * address).  *sound: the item has bytes inside its space, which can be compared with those of
 * others.  FALSE as gemem_check_report(). */
gboolean gemem_check_item (GememCheck *check, guint32 item, guint64 bytes, guint64 alignment,
                           gboolean *sound);

static inline guint64
gemem_check_space (const GememCheck *check, guint32 item)
{
  return check->plan->spaces != NULL ? check->plan->spaces[item] : 0;
}

/* check-graph.c */
void gemem_check_graph (GememCheck *check, const GememGraph *graph);
