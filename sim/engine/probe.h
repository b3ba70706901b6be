/* probe.h - the interface of observers of a run: logs, comparisons with the recording, checks.
 *
 * Why: the event loop tests once per event whether any probe is attached; a plain replay pays for
 * that branch alone.  A probe is one file that defines a GememProbeClass, and one line in
 * probes.def.  The probes that the job asks for are attached when the run begins
 * (gemem_probes_attach).
 *
 * Order: the first probe in probes.def is nearest to the allocator: its before() is called last,
 * its after() first.  All other functions are called in the order of probes.def.
 *
 * Invariants: a probe makes no decision and changes no number of the result but its own.  It may
 * read the run (run.h), observe the device's calls (gemem_device_add_observer), and set run->stop.
 * Accounting and timeline are no probes: every run has them, inline.
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

typedef struct _GememRun GememRun;
typedef struct _GememProbe GememProbe;

/* The allocator's decision about an event that reached it. */
typedef struct
{
  const GememTraceEvent *event;
  gboolean request;        /* the allocator was asked for a block, and served or refused it */
  gboolean of_block;       /* the event concerns a block or graph: event->id */
  guint64 size;            /* of_block: bytes requested */
  const GememBlock *block; /* NULL: the request was refused, or the event has no block */
} GememDecision;

/* Functions other than wanted() may be NULL.  Errors begin with the name of the trace and, where
 * they concern an event, its number. */
typedef struct
{
  gsize size; /* size of the probe: a struct that begins with a GememProbe; zeroed at creation */

  /* Whether the job asks for the probe.  The device exists, the allocator does not yet. */
  gboolean (*wanted) (const GememRun *run);
  gboolean (*attach) (GememProbe *probe, GememRun *run, GError **error);
  /* The allocator has been created; the first event is next. */
  gboolean (*start) (GememProbe *probe, GememRun *run, GError **error);

  /* Event run->seq is next; its block is still live if it frees one. */
  void (*before) (GememProbe *probe, GememRun *run, const GememTraceEvent *event);
  /* The allocator has decided; between before() and after(), at most once for most events. */
  void (*decided) (GememProbe *probe, GememRun *run, const GememDecision *decision);
  /* The event was served and accounted for.  FALSE ends the run. */
  gboolean (*after) (GememProbe *probe, GememRun *run, const GememTraceEvent *event,
                     GError **error);

  /* The epoch has ended.  FALSE ends the run.  A probe that sets `done` is detached. */
  gboolean (*end_epoch) (GememProbe *probe, GememRun *run, GError **error);
  /* Another epoch begins: next, live blocks are freed, without events. */
  void (*next_epoch) (GememProbe *probe, GememRun *run);
  /* Adds to run->result (gemem_result_add_stat). */
  void (*gather) (GememProbe *probe, GememRun *run);
  /* The allocator is destroyed next; called after errors too. */
  void (*shut_down) (GememProbe *probe, GememRun *run);
  /* The run succeeded, the allocator is destroyed, and the device is idle. */
  gboolean (*finish) (GememProbe *probe, GememRun *run, GError **error);
  /* Frees the state but not @probe, also when attach() or start() failed; the device still
   * exists. */
  void (*clear) (GememProbe *probe, GememRun *run);
} GememProbeClass;

struct _GememProbe
{
  const GememProbeClass *klass;
  gboolean done;
};

enum
{
#define GEMEM_PROBE(symbol) GEMEM_PROBE_##symbol,
#include "sim/engine/probes.def"
#undef GEMEM_PROBE
  GEMEM_N_PROBES
};

#define GEMEM_PROBE(symbol) extern const GememProbeClass symbol;
#include "sim/engine/probes.def"
#undef GEMEM_PROBE

/* The probes of a run. */
typedef struct
{
  GememProbe *attached[GEMEM_N_PROBES];
  guint n;
} GememProbes;

/* Each calls the function of that name of every attached probe. */
gboolean gemem_probes_attach (GememRun *run, GError **error);
/* Attaches one more, during the run: gemem_probes_attach() did not want it. */
gboolean gemem_probes_attach_late (GememRun *run, const GememProbeClass *klass, GError **error);
gboolean gemem_probes_start (GememRun *run, GError **error);
void gemem_probes_before (GememRun *run, const GememTraceEvent *event);
void gemem_probes_decided (GememRun *run, const GememDecision *decision);
gboolean gemem_probes_after (GememRun *run, const GememTraceEvent *event, GError **error);
gboolean gemem_probes_end_epoch (GememRun *run, GError **error);
void gemem_probes_next_epoch (GememRun *run);
void gemem_probes_gather (GememRun *run);
void gemem_probes_shut_down (GememRun *run);
gboolean gemem_probes_finish (GememRun *run, GError **error);
/* Detaches and frees them. */
void gemem_probes_clear (GememRun *run);
