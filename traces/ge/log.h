/* log.h - parses the lines in which GE's static planner logs its result (ge-static.md 11.2).
 * Traces are made from these lines; graphs take ids and streams from them.
 *
 *   [IMAS]Set G_1 name[N] optype[T] output[0] offset to [512] streamid[0--1] memtype[2] size[1024]
 *   realsize[1000] noalignsize[1000]
 *     lifetime begin[3--2] lifetime end[5--7] child[1:1:0:0:1] isref[0] batch[], block_type[]
 *     (one line)
 *
 * Nothing is copied: pieces point into the line.  O(line).
 */
#pragma once

#include <glib.h>

typedef struct
{
  const char *text;
  gsize length;
} GememGeLogPiece;

typedef struct
{
  GememGeLogPiece graph, node, type, batch; /* graph: NAME_NUMBER; node: cut to 512 bytes by GE */
  GememGeLogPiece kind;                     /* "output", "workspace", "output_desc" */
  guint64 index;
  gint64 offset;
  gint64 stream, own_stream; /* effective stream; stream in the graph */
  guint64 memory_type;
  guint64 size, real_size; /* bytes: of the block, of its content */
  guint64 begin, id;       /* begin of the lifetime; id of the node */
  guint64 end;        /* the last node that uses it, on any stream; G_MAXUINT64: never released */
  gboolean reference; /* an alias of an item in an earlier line */
} GememGeLogEntry;

typedef enum
{
  GEMEM_GE_LOG_OTHER, /* no line about a placed output or workspace */
  GEMEM_GE_LOG_ENTRY,
  GEMEM_GE_LOG_RESULT,  /* totals of a plan ("AfterAssignMemory"): *what is their text */
  GEMEM_GE_LOG_DAMAGED, /* *what is the field that is missing or not a number */
} GememGeLogLine;

/* The line [p, end). */
GememGeLogLine gemem_ge_log_parse (const char *p, const char *end, GememGeLogEntry *entry,
                                   GememGeLogPiece *what);

/* TRUE if @head, the start of a file, has such lines. */
gboolean gemem_ge_log_probe (const guint8 *head, gsize size);
