/* check-private.h - what check.c (every plan, plans of lifetimes) and check-graph.c (plans of
 * graphs) share. */
#pragma once

#include "planners/check.h"

typedef struct
{
  GememPlan *plan;
  GPtrArray *found; /* GememViolation */
  guint max;
  guint8 *reused; /* per item: lies on bytes that an earlier item had */
  /* The text of an item with its life and its bytes; free with g_free(). */
  char *(*describe) (gconstpointer data, guint32 item);
  gconstpointer data;
} GememCheck;

/* FALSE when there are enough of them.  The text is "FIRST and SECOND: " and the rest. */
gboolean gemem_check_report (GememCheck *check, GememViolationKind kind, guint32 first,
                             guint32 second, const char *format, ...) G_GNUC_PRINTF (5, 6);

/* Offset, size and end of an item that needs @bytes at a multiple of @alignment (1: anywhere). 
 * FALSE when there are enough violations; *sound says whether the item has bytes that can be
 * compared with others'. */
gboolean gemem_check_item (GememCheck *check, guint32 item, guint64 bytes, guint64 alignment,
                           gboolean *sound);

static inline guint64
gemem_check_space (const GememCheck *check, guint32 item)
{
  return check->plan->spaces != NULL ? check->plan->spaces[item] : 0;
}

void gemem_check_graph (GememCheck *check, const GememGraph *graph);
