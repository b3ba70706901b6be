/* options.h - the settings of all GE planners (ge-static.md appendix C), and their tables. */
#pragma once

#include "base/named.h"
#include "base/rules.h"
#include "graphs/graph.h"

#include <glib.h>

typedef struct
{
  int rules;                /* GememRules: what differs stands in ge-static.md 8.4 */
  gboolean memory_priority; /* ge.exec.memoryOptimizationPolicy == "MemoryPriority" */
  gboolean disable_reuse;   /* ge.exec.disableReuseMemory == "1" */
  char *option;             /* ge.exec.staticMemoryPolicy, as policy.h reads it */
  char *environment;        /* GE_USE_STATIC_MEMORY */
  int atomic_clean_policy;  /* ge.exec.atomicCleanPolicy: 0, 1 */
  char *input_reuse;        /* ge.exec.inputReuseMemIndexes: "0,1" */
  char *output_reuse;       /* ge.exec.outputReuseMemIndexes */
  gboolean feature_base_refreshable;
  int io_mem_alloc_mode;     /* ge.exec.graphIOMemAllocMode: ByApp, ByGE */
  int zero_copy_alignment;   /* of inputs and outputs: auto, 32, 512 (7.2) */
  guint64 input_fusion_size; /* ge.exec.input_fusion_size */
  int build_graph_mode;      /* ge.buildGraphMode: online, offline */
  gboolean static_model_addr_fixed;
  char *op_no_reuse_mem; /* OP_NO_REUSE_MEM: names and types */
  guint64 split_limit;   /* 400 MiB (4.3) */
  guint64 segment_limit; /* 8.1: 0 = by the kind of graph */
  guint64 device_memory; /* ge.hardwareInfo memory_size; 0: no check */
  /* yes: everything marked [QUIRK] in ge-static.md is done as in GE.  no: the correct behaviour
   * replaces it where one exists, among others: sorts are stable (appendix A), op_reuse cleared by
   * one output is not cleared for later ones (2.3), blocks whose last node has id 0 are reused
   * across streams (4.1), a failed interleave clears no flags (4.1).  Kept in both cases, as
   * measured behaviour: range lists that drop sizes (3.2), scores with HOST bases (3.3), cached
   * sizes of split blocks (4.1). */
  gboolean quirks;
} GeOptions;

/* ---- params.c: the parameter tables, and what they cannot say */

/* `ge-block`: a ReuseStrategy whose fields are parameters (ge-static.md 3.3). */
typedef struct
{
  GeOptions common;
  gboolean use_range, ascending_sort, reuse_first_release, memory_priority_mode;
} GeBlockOptions;

/* check() and notes() of all of these (named.h). */
gboolean gemem_ge_options_check (gconstpointer options, GError **error);
void gemem_ge_options_notes (gconstpointer options, GememNoteFunc func, gpointer data);
/* graph_notes() (planner.h): numbers and names that nothing in @graph has. */
void gemem_ge_options_graph_notes (gconstpointer options, const GememGraph *graph,
                                   GememNoteFunc func, gpointer data);

/* TRUE if memory can be extended: the static bit of the policy (policy.h). */
gboolean gemem_ge_options_extend (const GeOptions *options);

extern const GememParam gemem_ge_params[];
/* memory_priority=yes, the only mode with range strategies */
extern const GememParam gemem_ge_priority_params[];
extern const GememParam gemem_ge_block_params[];
