/* allocator.h - the interface every on-line allocator implements, and the registry of all of them.
 *
 * A variant is one file that defines one `const GememAllocatorClass`, and one line in
 * allocators.def.  Help, man page, completion, option parsing and the conformance tests all derive
 * from the class struct.
 *
 * Rules for an implementation:
 *  - memory comes only from `base.device` through gemem_device_*(); the allocator never prints,
 *    exits, or reads a clock;
 *  - NULL/FALSE from alloc is simulated out-of-memory: an ordinary result, after the real system's
 *    whole ladder has run;
 *  - `block->address` and `block->size` are exactly what the real system decides; `block->handle`
 *    is the allocator's own;
 *  - no two live blocks overlap; addresses keep `alignment`; block->size >= request (or as the spec
 *    says, e.g. user pointer inside);
 *  - no allocation from the host heap per event (slab.h), no iteration in pointer or hash order;
 *  - destroy() returns everything to the device (held == 0 afterwards), live blocks included.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#include "base/error.h"
#include "base/params.h"
#include "devices/device.h"

GEMEM_BEGIN_DECLS

#define GEMEM_ALLOCATOR_ABI 5

typedef struct _GememAllocator GememAllocator;
typedef struct _GememAllocatorClass GememAllocatorClass;
struct _GememPlanInput; /* planners/planner.h */

enum /* capabilities */
{
  GEMEM_CAP_STREAMS = 1 << 0,        /* decisions depend on the stream */
  GEMEM_CAP_POOLS = 1 << 1,          /* knows private pools */
  GEMEM_CAP_TRIM = 1 << 2,           /* trim returns something */
  GEMEM_CAP_VIRTUAL_MEMORY = 1 << 3, /* uses reserve/create/map */
  GEMEM_CAP_ADOPT = 1 << 4,          /* can start from a recorded state */
  GEMEM_CAP_GRAPHS = 1 << 5,         /* manages static memory of graphs */
  GEMEM_CAP_EMPTY = 1 << 6, /* requests of 0 bytes get a block: without it none reaches alloc */
};

typedef struct
{
  guint64 size;
  guint64 stream;
  guint32 pool;
  guint64 id; /* of the trace; only for those that were given the trace beforehand (prepare) */
} GememRequest;

typedef struct
{
  guint64 address;
  guint64 size; /* block size: what the system says it handed out */
  gpointer handle;
} GememBlock;

/* Blocks at this address and above are host memory: nothing of the device, not in walk(), not
 * counted as live. */
#define GEMEM_HOST_ADDRESS (G_GUINT64_CONSTANT (1) << 62)

/* A block or gap, as walk() reports it. */
typedef enum
{
  GEMEM_SPAN_LIVE,    /* handed out */
  GEMEM_SPAN_PENDING, /* freed, but streams may still use it */
  GEMEM_SPAN_FREE,    /* cached, reusable */
  /* physical, but no block (headers, lost tails, static memory that graphs share) */
  GEMEM_SPAN_OVERHEAD,
  GEMEM_SPAN_UNMAPPED, /* addresses without memory; not counted as reserved */
} GememSpanState;

typedef struct
{
  guint64 address, size;
  guint64 segment; /* start of the piece obtained from the device */
  guint64 segment_size;
  guint64 stream;
  guint32 pool;
  GememSpanState state;
  guint64 user; /* LIVE: the address given to the program (may lie inside) */
} GememSpan;

typedef void (*GememSpanFunc) (const GememSpan *span, gpointer data);
/* @unit: "B" of bytes, "" of counts, or GEMEM_STAT_RATE. */
#define GEMEM_STAT_RATE "0.01%"
typedef void (*GememStatFunc) (const char *name, guint64 value, const char *unit, gpointer data);

/* A piece of recorded state to start from. */
typedef struct
{
  guint64 address, size; /* size: block size including an unsplit tail */
  guint64 requested;     /* blocks only */
  guint64 stream;
  guint32 pool;
  gboolean small; /* the recorded small pool */
} GememAdopt;

/* A piece of a graph's static memory, in the order of the offsets. */
typedef struct
{
  guint64 offset, size; /* logical: within the static memory of the graph */
  guint32 flags;        /* GEMEM_GRAPH_SEGMENT_*, traces/trace.h */
} GememGraphSegment;

struct _GememAllocatorClass
{
  guint abi;           /* GEMEM_ALLOCATOR_ABI */
  const char *name;    /* "pytorch-caching" */
  const char *aliases; /* '|' separated, or NULL */
  const char *summary; /* one line, no full stop */
  const char *origin;  /* the real system and version, and the spec section */
  guint capabilities;
  /* every address is a multiple of this; also the unit of the lower bound (plus `offset`) */
  guint64 alignment;
  /* addresses are congruent to this modulo alignment (buddy: 64 mod 256) */
  guint64 alignment_offset;
  const GememParam *params;
  gsize params_size;

  GememAllocator *(*create) (gconstpointer params, GememDevice *device, GError **error);
  gboolean (*alloc) (GememAllocator *allocator, const GememRequest *request, GememBlock *block);
  /* The program lets go of @block.  @completion_follows: a later complete() says when streams are
   * done with it; classes without complete() free at once. */
  void (*free) (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows);
  void (*complete) (GememAllocator *allocator, const GememBlock *block); /* optional */
  /* optional */
  void (*use_on_stream) (GememAllocator *allocator, const GememBlock *block, guint64 stream);
  /* optional; the host waited for stream (G_MAXUINT64: device) */
  void (*sync) (GememAllocator *allocator, guint64 stream);
  void (*trim) (GememAllocator *allocator); /* optional; empty_cache, Release, recycle */
  /* Largest request that would succeed on @stream without going to the device; 0 if none.  Not on
   * the event path. */
  guint64 (*largest_free) (GememAllocator *allocator, guint64 stream);
  /* Every span, in address order within a segment, segments in address order. */
  void (*walk) (GememAllocator *allocator, GememSpanFunc func, gpointer data);
  /* Own invariants; GEMEM_ERROR_INVARIANT. */
  gboolean (*check) (GememAllocator *allocator, GError **error);
  /* Optional: statistics under the names the real system uses. */
  void (*stats) (GememAllocator *allocator, GememStatFunc func, gpointer data);
  void (*destroy) (GememAllocator *allocator);

  /* Optional: the whole future, once, before the first request: the lifetimes of the trace, and the
   * graph it was lowered from if there is one.  What is not wanted later must be copied.  Where
   * there is no trace (a program at work) it is not called.  Errors: GEMEM_ERROR_INPUT. */
  gboolean (*prepare) (GememAllocator *allocator, const struct _GememPlanInput *input,
                       GError **error);

  /* Optional (GEMEM_CAP_ADOPT): recorded initial state; segments first, then their blocks in
   * address order, then adopt_done. The allocator takes the memory over from the device itself,
   * with gemem_device_adopt(): the engine does not. */
  gboolean (*adopt_segment) (GememAllocator *allocator, const GememAdopt *segment);
  gboolean (*adopt_block) (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *block);
  void (*adopt_done) (GememAllocator *allocator);

  /* Optional (GEMEM_CAP_GRAPHS; all of the first four or none): static memory of graphs.  Without
   * them the engine asks alloc() for the whole static memory of a graph when it is loaded, and
   * frees it when it is unloaded (policy 0 of GE). graph_load: @address is where the graph's memory
   * begins; FALSE: out of memory, the graph is not loaded.  graph_run: a run begins on @stream, or
   * ends with the host waiting; FALSE: no memory for the run, or it breaks a rule (`refusal`); not
   * called for what is not loaded.  graph_bytes: what the loaded graphs have together, counted as
   * live and allocated. */
  gboolean (*graph_load) (GememAllocator *allocator, guint64 id, guint64 stream,
                          const GememGraphSegment *segments, guint n, guint64 *address);
  gboolean (*graph_run) (GememAllocator *allocator, guint64 id, guint64 stream, gboolean begin);
  void (*graph_unload) (GememAllocator *allocator, guint64 id);
  guint64 (*graph_bytes) (GememAllocator *allocator);

  /* Optional: what @stream had of @block is let go, the block is not: free() ends it, for every
   * stream that still has something of it. Streams have what they allocated, or used
   * (use_on_stream), as often as they did. */
  void (*stream_free) (GememAllocator *allocator, const GememBlock *block, guint64 stream);
  /* Optional: event @id marks the work queued on @stream so far, for the stream @to (G_MAXUINT64:
   * for whoever waits). */
  void (*event_record) (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to);
  /* Optional: @stream goes on only after the mark that was last recorded as @id.  Always recorded
   * before, unless the recording began in the middle. */
  void (*event_wait) (GememAllocator *allocator, guint64 id, guint64 stream);

  /* Optional: the state in the layout that the real system prints, whole lines appended to @text. 
   * Not on the event path. */
  void (*report) (GememAllocator *allocator, GString *text);

  /* Optional (GEMEM_CAP_GRAPHS): the memory that work of graph @id uses as it is now, in any order:
   * `address` and `size` of each span only.  Nothing for a graph that is not loaded.  The order of
   * release (sim/engine/release-order.h) is checked for what is told here.  Not on the event
   * path. */
  void (*graph_walk) (GememAllocator *allocator, guint64 id, GememSpanFunc func, gpointer data);

  /* Optional: @block, which is live and has a handle, will soon be freed or used; asks the
   * processor to fetch what that will touch besides the record that `handle` points to, which the
   * engine asks for itself, and changes nothing. */
  void (*prefetch) (GememAllocator *allocator, const GememBlock *block);

  /* Optional: the program has let go of private pool @pool (a CUDA graph was destroyed, say): what
   * is cached for it may go back with the next trim() or when the device has no more; @at_once: it
   * goes back now. */
  void (*release_pool) (GememAllocator *allocator, guint32 pool, gboolean at_once);
};

/* Embedded first in every allocator. */
struct _GememAllocator
{
  const GememAllocatorClass *klass;
  GememDevice *device;
  guint64 retries; /* times the out-of-memory ladder released something and tried again */
  /* the latest call was refused, not for want of memory: what rule the event breaks; the caller
   * takes it */
  char *refusal;
};

/* All built-in classes in the order of allocators.def, then plugins; NULL-terminated. */
const GememAllocatorClass *const *gemem_allocator_classes (void);

/* By name or alias; GEMEM_ERROR_USAGE with a suggestion. */
const GememAllocatorClass *gemem_allocator_find (const char *name, GError **error);

/* Loads every plugin of the ':'-separated directories (GEMEM_PLUGIN_PATH); a plugin exports
 * `const GememAllocatorClass *const gemem_plugin_allocators[]`.  Wrong ABI: error naming the
 * file. */
gboolean gemem_allocator_load_plugins (const char *directories, GError **error);

/* A chosen allocator with its settings, as on the command line: "NAME[:key=value,...]". */
typedef struct
{
  const GememAllocatorClass *klass;
  char *label;         /* as the user wrote it */
  GPtrArray *settings; /* GememSetting: allocator parameters */
  /* GememSetting: device settings found among them (vector-file keys: capacity, base...) */
  GPtrArray *device;
  /* GememSetting: what came from the environment: those of `settings`, and what a shorthand read */
  GPtrArray *variables;
  /* GememSetting: environment variables without effect here, each with the reason as value */
  GPtrArray *left_out;
} GememAllocatorSpec;

/* Expands @text: globs in NAME ('ge-*') and value lists ("chunk_mb=0|64") give several specs;
 * appended to @specs. */
gboolean gemem_allocator_spec_parse (const char *text, GPtrArray *specs, GError **error);
/* The same for a program with the environment @variables (GememSetting; FLAGS_name, GE_NAME): each
 * that the allocator reads in the real system becomes a setting, unless @text says otherwise.  A
 * program of PaddlePaddle has all of its flags everywhere, so a flag that has no effect as things
 * are is left out, not refused.  Errors: also a value that cannot be. */
gboolean gemem_allocator_spec_parse_with (const char *text, const GPtrArray *variables,
                                          GPtrArray *specs, GError **error);
void gemem_allocator_spec_free (GememAllocatorSpec *spec);

/* Creates the allocator of @spec on @device; parameters not in @spec come from @defaults (may be
 * NULL; keys the class does not know are errors there too), then from the table. */
GememAllocator *gemem_allocator_new (const GememAllocatorSpec *spec, const char *defaults,
                                     GememDevice *device, GError **error);
/* The effective parameters of @allocator's spec: GPtrArray of GememSetting. */
GPtrArray *gemem_allocator_effective (const GememAllocatorSpec *spec, const char *defaults,
                                      GememDevice *device, GError **error);
void gemem_allocator_destroy (GememAllocator *allocator);

GEMEM_END_DECLS
