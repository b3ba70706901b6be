/* gemem.h - the whole library: everything that a program or a plugin may use.
 *
 *   #include <gemem/gemem.h>          cc program.c $(pkg-config --cflags --libs gemem)
 *
 * Where to start: doc/example-replay.c (a program), doc/example-plugin.c (an allocator of one's
 * own).
 * What a header reached from here declares is public; whatever it includes is installed with it.
 */
#pragma once

/* The ground: errors, sizes as text, parameters, random numbers, containers. */
#include "base/error.h"
#include "base/histogram.h"
#include "base/idmap.h"
#include "base/io/json-text.h"
#include "base/lifetimes.h"
#include "base/macros.h"
#include "base/named.h"
#include "base/params.h"
#include "base/rng.h"
#include "base/slab.h"
#include "base/tree.h"
#include "base/units.h"

/* What is replayed: devices, traces, graphs. */
#include "base/io/input.h"
#include "devices/device.h"
#include "devices/gpus.h"
#include "graphs/dtype.h"
#include "graphs/format.h"
#include "graphs/graph.h"
#include "graphs/meaning.h"
#include "graphs/order.h"
#include "graphs/overlay.h"
#include "traces/holders.h"
#include "traces/native/native.h"
#include "traces/origin.h"
#include "traces/summary.h"
#include "traces/trace.h"
#include "traces/validate.h"
#include "workloads/generator.h"
#include "workloads/lowering.h"

/* Who is asked: planners and allocators. */
#include "allocators/allocator.h"
#include "planners/check.h"
#include "planners/convert.h"
#include "planners/graph-summary.h"
#include "planners/plan-file.h"
#include "planners/plan.h"
#include "planners/planner.h"

/* The replay and what is said about it. */
#include "sim/engine/replay.h"
#include "sim/engine/result.h"
#include "sim/plots/plots.h"
#include "sim/report/plan-report.h"
#include "sim/report/report.h"
