/* probes.c - the registry of probes, and the calls of those that are attached: see probe.h. */
#include "config.h"

#include "sim/engine/run.h"

static const GememProbeClass *const classes[] = {
#define GEMEM_PROBE(symbol) &symbol,
#include "sim/engine/probes.def"
#undef GEMEM_PROBE
};

/* Calls @function of all probes that have it, with these arguments after the probe. */
#define TELL_ALL(function, ...) \
  for (guint i = 0; i < run->probes.n; i++) \
    if (run->probes.attached[i]->klass->function != NULL) \
  run->probes.attached[i]->klass->function (run->probes.attached[i], __VA_ARGS__)

/* The same; returns FALSE as soon as one does. */
#define ASK_ALL(function, ...) \
  for (guint i = 0; i < run->probes.n; i++) \
    if (run->probes.attached[i]->klass->function != NULL \
        && !run->probes.attached[i]->klass->function (run->probes.attached[i], __VA_ARGS__)) \
  return FALSE

gboolean
gemem_probes_attach_late (GememRun *run, const GememProbeClass *klass, GError **error)
{
  GememProbe *probe = g_malloc0 (klass->size);

  probe->klass = klass;
  run->probes.attached[run->probes.n++] = probe;
  return klass->attach == NULL || klass->attach (probe, run, error);
}

gboolean
gemem_probes_attach (GememRun *run, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    if (classes[i]->wanted (run) && !gemem_probes_attach_late (run, classes[i], error))
      return FALSE;
  return TRUE;
}

static void
detach (GememRun *run, GememProbe *probe)
{
  if (probe->klass->clear != NULL)
    probe->klass->clear (probe, run);
  g_free (probe);
}

gboolean
gemem_probes_start (GememRun *run, GError **error)
{
  ASK_ALL (start, run, error);
  return TRUE;
}

void
gemem_probes_before (GememRun *run, const GememTraceEvent *event)
{
  for (guint i = run->probes.n; i-- > 0;)
    {
      GememProbe *probe = run->probes.attached[i];
      if (probe->klass->before != NULL)
        probe->klass->before (probe, run, event);
    }
}

void
gemem_probes_decided (GememRun *run, const GememDecision *decision)
{
  TELL_ALL (decided, run, decision);
}

gboolean
gemem_probes_after (GememRun *run, const GememTraceEvent *event, GError **error)
{
  ASK_ALL (after, run, event, error);
  return TRUE;
}

gboolean
gemem_probes_end_epoch (GememRun *run, GError **error)
{
  guint kept = 0;
  gboolean ok = TRUE;

  for (guint i = 0; i < run->probes.n; i++)
    {
      GememProbe *probe = run->probes.attached[i];
      if (ok && probe->klass->end_epoch != NULL)
        ok = probe->klass->end_epoch (probe, run, error);
      if (probe->done)
        detach (run, probe);
      else
        run->probes.attached[kept++] = probe;
    }
  run->probes.n = kept;
  return ok;
}

void
gemem_probes_next_epoch (GememRun *run)
{
  TELL_ALL (next_epoch, run);
}

void
gemem_probes_gather (GememRun *run)
{
  TELL_ALL (gather, run);
}

void
gemem_probes_shut_down (GememRun *run)
{
  TELL_ALL (shut_down, run);
}

gboolean
gemem_probes_finish (GememRun *run, GError **error)
{
  ASK_ALL (finish, run, error);
  return TRUE;
}

void
gemem_probes_clear (GememRun *run)
{
  for (guint i = 0; i < run->probes.n; i++)
    detach (run, run->probes.attached[i]);
  run->probes.n = 0;
}
