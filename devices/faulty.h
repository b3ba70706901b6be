/* faulty.h - a device that stands before another one and lets chosen calls fail, made by a test.  A
 * user makes the same with -d faulty:...  The rules are in faulty.c. */
#pragma once

#include "devices/device.h"

/* Wraps @inner so that calls fail as @spec says: "nth=5,call=malloc", "every=7", "seed=3,rate=1%",
 * "after=100,call=map|create".
 * @inner is taken over, also on error.  "faulty:nth=5,capacity=1GiB" makes the same from text: keys
 * that are not the wrapper's own go to the device under it (on=sim).  See faulty.c for the rules;
 * wrappers can be stacked. */
GememDevice *gemem_faulty_device_new (GememDevice *inner, const char *spec, GError **error);
/* Failures injected into @call so far, by all wrappers of the stack; GEMEM_CALL_COUNT: into any
 * call.  0 for other devices. */
guint64 gemem_faulty_device_injected (GememDevice *device, GememDeviceCall call);
