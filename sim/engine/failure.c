/* failure.c - the probe of devices that can fail: the run ends with the event during which the
 * device failed. */
#include "config.h"

#include "sim/engine/run.h"

static gboolean
wanted (const GememRun *run)
{
  return run->real;
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  (void) probe, (void) event;
  return gemem_run_check_device (run, error);
}

const GememProbeClass gemem_failure_probe = { .size = sizeof (GememProbe),
                                              .wanted = wanted,
                                              .after = after };
