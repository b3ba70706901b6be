/* faulty.h - creates, for tests, a wrapper device that makes chosen calls fail.  Users create the
 * same with -d faulty:...  The rules are in faulty.c. */
#pragma once

#include "devices/device.h"

/* Wraps @inner so that calls fail as @spec says: "nth=5,call=malloc", "every=7", "seed=3,rate=1%",
 * "after=100,call=map|create".  The wrapper owns @inner, also on error.
 * "faulty:nth=5,capacity=1GiB" creates the same from text: keys unknown to the wrapper go to the
 * device beneath (on=sim).  See faulty.c for the rules; wrappers can be stacked. */
GememDevice *gemem_faulty_device_new (GememDevice *inner, const char *spec, GError **error);
/* Failures injected into @call so far, by all wrappers of the stack; GEMEM_CALL_COUNT: into all
 * calls.  0 for other devices. */
guint64 gemem_faulty_device_injected (GememDevice *device, GememDeviceCall call);
