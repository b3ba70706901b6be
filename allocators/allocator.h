/* allocator.h - the interface that every on-line allocator implements, and the registry of all.
 *
 * A variant is one file that defines one `const GememAllocatorClass`, and one line in
 * allocators.def.  Help, man page, completion, option parsing and the conformance tests all derive
 * from the class.  The class must fill in the required members; all others are optional.
 *
 * Rules for an implementation:
 *  - memory comes only from `base.device` through gemem_device_*(); the allocator never prints,
 *    exits, or reads a clock;
 *  - FALSE from alloc(), graphs.load() or graphs.run() is simulated out-of-memory: an ordinary
 *    result, after the real system's whole ladder has run;
 *  - gemem_allocator_refuse() refuses an event that breaks a rule of the real system.  Only
 *    alloc(), graphs.load() and graphs.run(), which then return FALSE, use(), free(), record() and
 *    wait() of `streams`, and begin(), sleep() and pause() of `sleep` may call it;
 *  - gemem_allocator_break_rule() marks a run that the real system lets happen, though its manual
 *    forbids it, or that the real program does not survive; only graphs.run() and free() may call
 *    it;
 *  - `block->address` and `block->size` are exactly what the real system decides; `block->handle`
 *    is the allocator's own;
 *  - no two live blocks overlap; addresses keep `alignment`; block->size >= request, unless the
 *    real system says otherwise;
 *  - no allocation from the host heap per event (base/slab.h), no iteration in pointer or hash
 *    order;
 *  - destroy() releases everything to the device (held == 0 afterwards), live blocks included.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#include "base/error.h"
#include "base/named.h"
#include "devices/device.h"

GEMEM_BEGIN_DECLS

#define GEMEM_ALLOCATOR_ABI 13

typedef struct _GememAllocator GememAllocator;
typedef struct _GememAllocatorClass GememAllocatorClass;
struct _GememPlanInput; /* planners/planner.h */

enum /* capabilities that no pointer of the class shows */
{
  GEMEM_CAP_STREAMS = 1 << 0, /* decisions depend on the stream: no block moves to another stream */
  GEMEM_CAP_POOLS = 1 << 1,   /* no block of a private pool moves to another pool */
  GEMEM_CAP_VIRTUAL_MEMORY = 1 << 2, /* calls reserve, create and map of the device */
  GEMEM_CAP_EMPTY = 1 << 3, /* alloc() serves requests of 0 bytes; otherwise it never sees them */
  /* programs that use it run on CUDA, whose driver's addresses their recordings are replayed with */
  GEMEM_CAP_CUDA = 1 << 4,
  GEMEM_CAP_HOST = 1 << 5, /* of host memory: no choice for a device's, so globs pass it over */
};

typedef struct
{
  guint64 size;
  guint64 stream;
  guint32 pool;
  guint64 id;      /* of the trace; only a class with prepare() may read it */
  guint64 address; /* as recorded, 0: unknown; only to choose among what is equal otherwise */
} GememRequest;

typedef struct
{
  guint64 address;
  guint64 size; /* block size: what the system says it allocated */
  gpointer handle;
} GememBlock;

/* Blocks at this address and above are host memory: no memory of the device, not in walk(), not
 * counted as live. */
#define GEMEM_HOST_ADDRESS (G_GUINT64_CONSTANT (1) << 62)

/* A block or gap, as walk() reports it. */
typedef enum
{
  GEMEM_SPAN_LIVE,    /* allocated */
  GEMEM_SPAN_PENDING, /* freed, but streams may still use it */
  GEMEM_SPAN_FREE,    /* cached, reusable */
  /* physical, but part of no block (headers, lost tails, static memory that graphs share) */
  GEMEM_SPAN_OVERHEAD,
  GEMEM_SPAN_UNMAPPED, /* addresses without memory; not counted as reserved */
} GememSpanState;

enum /* GememSpan.flags: why memory lies idle, where only the allocator knows it */
{
  GEMEM_SPAN_OVERSIZE = 1 << 0,   /* a block that a limit on splitting keeps whole */
  GEMEM_SPAN_RETURNABLE = 1 << 1, /* FREE: trim() would return all of it to the device now */
  /* of a private pool: the program allocates in it now; the program has released it */
  GEMEM_SPAN_POOL_IN_USE = 1 << 2,
  GEMEM_SPAN_POOL_RELEASED = 1 << 3,
};

typedef struct
{
  guint64 address, size;
  guint64 segment; /* start of the device segment that contains the span */
  guint64 segment_size;
  guint64 stream;
  guint32 pool;
  GememSpanState state;
  guint64 user;  /* LIVE: the address given to the program (may lie inside) */
  guint32 flags; /* GEMEM_SPAN_* */
} GememSpan;

typedef void (*GememSpanFunc) (const GememSpan *span, gpointer data);
/* @unit: "B" (bytes), "" (counts), or GEMEM_STAT_RATE. */
#define GEMEM_STAT_RATE "0.01%"
typedef void (*GememStatFunc) (const char *name, guint64 value, const char *unit, gpointer data);

/* A piece of recorded state to start from. */
typedef struct
{
  guint64 address, size; /* size: block size including an unsplit tail */
  guint64 requested;     /* blocks only */
  guint64 stream;
  guint32 pool;
  gboolean small;  /* the recorded small pool */
  gboolean mapped; /* segments only: pages that are mapped into a range */
} GememAdopt;

/* A piece of a graph's static memory, in the order of the offsets. */
typedef struct
{
  guint64 offset, size; /* logical: within the static memory of the graph */
  guint32 flags;        /* GEMEM_GRAPH_SEGMENT_*, traces/trace.h */
} GememGraphSegment;

/* How people write settings of an allocator for the real system. */
typedef enum
{
  GEMEM_FORM_STRING,    /* "export NAME=key:value,...": one variable takes them all */
  GEMEM_FORM_VARIABLES, /* "export A=1 B=2": a variable each (gemem_param_variables()) */
  GEMEM_FORM_OPTIONS,   /* "ge.exec.a=1": options of the program, the aliases with a dot */
  GEMEM_FORM_CALL,      /* "Pool(memory, a=1)": arguments of a call */
} GememFormKind;

/* A line that chooses the allocator, with settings, for one system. */
typedef struct
{
  const char *system; /* "pytorch" */
  GememFormKind kind;
  /* STRING: the variable; VARIABLES, OPTIONS: what chooses the allocator itself ("A=1 B=2"), NULL:
   * nothing; CALL: the line, with %s where arguments go, each behind ", ", or ("=%s") the value of
   * its only key */
  const char *text;
  const char *keys; /* '|' separated: parameters worth trying, the most promising first */
  /* '|' separated: those that are written as by default too, because the real default is another, and
   * without which a line is not read; NULL: none */
  const char *always;
  /* VARIABLES, OPTIONS: what is said too where the program has another allocator of the system, which it
   * chose by these.  NULL: nothing; without `text` the allocator cannot be chosen then */
  const char *instead;
  /* STRING: whether the release in @params reads @key there; NULL: every release reads all */
  gboolean (*reads) (gconstpointer params, const char *key);
  /* '|' separated KEY=RELEASE: keys that every release known here has, and older ones refuse; NULL: none */
  const char *older_refuse;
} GememForm;

struct _GememAllocatorClass
{
  /* ---- Required: identity.  `abi` and `name` come first for every value of `abi`. */

  guint abi;           /* GEMEM_ALLOCATOR_ABI */
  const char *name;    /* "pytorch-caching" */
  const char *summary; /* one line, no full stop */
  const char *origin;  /* the real system and version, and the section of doc/systems */
  /* Every address is a multiple of this, plus `alignment_offset`; also the unit of the lower
   * bound. */
  guint64 alignment;

  /* ---- Required: functions. */

  /* @params: a filled struct of `params_size` bytes, valid during the call.  The caller sets
   * `klass` where it is still NULL, and `device`.  NULL with @error: the parameters contradict each
   * other. */
  GememAllocator *(*create) (gconstpointer params, GememDevice *device, GError **error);
  void (*destroy) (GememAllocator *allocator);
  /* Fills @block; FALSE: out of memory. */
  gboolean (*alloc) (GememAllocator *allocator, const GememRequest *request, GememBlock *block);
  /* The program frees @block.  @completion_follows: a later streams.complete() says when streams
   * are done with it; a class without that function frees at once. */
  void (*free) (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows);
  /* Largest request that would succeed on @stream without a device call; 0 if none.  Not on the
   * event path. */
  guint64 (*largest_free) (GememAllocator *allocator, guint64 stream);
  /* Every span, in address order within a segment, segments in address order.  Not on the event
   * path. */
  void (*walk) (GememAllocator *allocator, GememSpanFunc func, gpointer data);
  /* Verifies its own invariants; GEMEM_ERROR_INVARIANT.  Not on the event path. */
  gboolean (*check) (GememAllocator *allocator, GError **error);

  /* ---- Optional, each on its own: 0 or NULL if absent. */

  const char *aliases;      /* '|' separated */
  const char *known_as;     /* names in the real system, '|' separated; for help only */
  const GememForm *forms;   /* how settings are written; the last has no system */
  guint capabilities;       /* GEMEM_CAP_* */
  guint64 alignment_offset; /* addresses are congruent to this modulo `alignment` */
  const GememParam *params; /* with `params_size`: its parameters */
  gsize params_size;

  /* Says what a user should know of settings that are valid: that one is deprecated, has no effect
   * here, or is read otherwise than the manual says.  @params: as for create(). */
  void (*notes) (gconstpointer params, GememNoteFunc func, gpointer data);
  /* Carries what a whole string of settings in @params says over to the parameters that it sets, for
   * who shows or compares what is in effect; changes nothing where the string is refused. */
  void (*unfold) (gpointer params);
  /* Returns cached memory to the device: empty_cache, Release, recycle. */
  void (*trim) (GememAllocator *allocator);
  /* The program has released private pool @pool (for example with a CUDA graph).  Its cached memory
   * may be released at the next trim() or when the device is exhausted; @at_once: it is released
   * now. */
  void (*release_pool) (GememAllocator *allocator, guint32 pool, gboolean at_once);
  /* The program begins, or ends, to allocate in private pool @pool (0: in none); @capture: as it
   * captures a graph.  Such stretches nest; an end is that of the newest begin with @pool. */
  void (*redirect) (GememAllocator *allocator, guint32 pool, gboolean begin, gboolean capture);
  /* From here on the settings are those of @text, in the form in which programs give them to the
   * real allocator; what it does not name is as by default, but for what the device and the trace
   * decided.  FALSE with @error: it takes no such settings, and keeps those that it has. */
  gboolean (*configure) (GememAllocator *allocator, const char *text, GError **error);
  /* The whole future, once, before the first request: the lifetimes of the trace, and the graph the
   * trace was lowered from, if any.  The class copies what it needs later.  Not called without a
   * trace, so such a class cannot serve a running program.  GEMEM_ERROR_INPUT. */
  gboolean (*prepare) (GememAllocator *allocator, const struct _GememPlanInput *input,
                       GError **error);
  /* @block, which is live and has a handle, will soon be freed or used: prefetches what that will
   * touch into the processor's cache, except the record at `handle`, which the engine prefetches.
   * Changes nothing. */
  void (*prefetch) (GememAllocator *allocator, const GememBlock *block);

  /* ---- Optional: streams.  `record` and `wait` come together. */
  struct
  {
    /* The streams are done with @block, which was freed with @completion_follows. */
    void (*complete) (GememAllocator *allocator, const GememBlock *block);
    /* @stream also uses @block. */
    void (*use) (GememAllocator *allocator, const GememBlock *block, guint64 stream);
    /* @stream releases its share of @block.  A stream has one share for allocating the block and
     * one for each use().  The block remains until free(), which ends all remaining shares. */
    void (*free) (GememAllocator *allocator, const GememBlock *block, guint64 stream);
    /* Event @id marks the work queued on @stream so far, for the stream @to (G_MAXUINT64: for any
     * stream that waits). */
    void (*record) (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to);
    /* @stream waits for the mark that was last recorded as @id.  A record() always precedes, unless
     * the recording began in the middle. */
    void (*wait) (GememAllocator *allocator, guint64 id, guint64 stream);
    /* The host waited for @stream (G_MAXUINT64: the device). */
    void (*sync) (GememAllocator *allocator, guint64 stream);
    /* The next four come together; a class with them decides by what the device has done.
     * The program frees @block in the order of @stream; instead of free(), in traces that tell. */
    void (*free_on) (GememAllocator *allocator, const GememBlock *block, guint64 stream);
    /* Work is queued on @stream that the device has not done; @id names it for work_done(), 0: it
     * has no name, and ends with a sync() or asked() alone. */
    void (*work) (GememAllocator *allocator, guint64 id, guint64 stream);
    /* The device has done that work; the host does not know. */
    void (*work_done) (GememAllocator *allocator, guint64 id);
    /* The host asked and found that all on @stream is done, but did not wait; instead of sync(). */
    void (*asked) (GememAllocator *allocator, guint64 stream);
  } streams;

  /* ---- Optional: static memory of graphs; the first four come together.  Without them the engine
   * calls alloc() for the whole static memory of a graph when it is loaded, and free() when it is
   * unloaded (policy 0 of GE). */
  struct
  {
    /* Returns the start of the graph's memory in @address.  FALSE: the graph is not loaded, and
     * neither run() nor unload() is called for it. */
    gboolean (*load) (GememAllocator *allocator, guint64 id, guint64 stream,
                      const GememGraphSegment *segments, guint n, guint64 *address);
    /* A run begins on @stream, or ends with the host waiting.  FALSE: no memory for the run. */
    gboolean (*run) (GememAllocator *allocator, guint64 id, guint64 stream, gboolean begin);
    void (*unload) (GememAllocator *allocator, guint64 id);
    /* Bytes of all loaded graphs, counted as live and allocated. */
    guint64 (*bytes) (GememAllocator *allocator);
    /* Not required.  Bytes that the graphs need, counted as live, allocated and in the lower bound
     * instead of bytes(): more than it while graphs that share memory run at once, which each have
     * all of theirs.  NULL: bytes(). */
    guint64 (*need) (GememAllocator *allocator);
    /* The memory that work of graph @id uses now, in any order; only `address` and `size` of each
     * span are set.  Reports nothing for a graph that is not loaded.  The order of release
     * (sim/engine/release-order.h) is checked against these spans.  Not on the event path. */
    void (*walk) (GememAllocator *allocator, guint64 id, GememSpanFunc func, gpointer data);
  } graphs;

  /* ---- Optional: a recorded state to start from: segments first, then their blocks in address
   * order, then done().  `segment` and `block` come together.  The allocator takes over the memory
   * from the device itself, with gemem_device_adopt(); the engine does not. */
  struct
  {
    /* FALSE: the device does not have the memory. */
    gboolean (*segment) (GememAllocator *allocator, const GememAdopt *segment);
    /* FALSE: the block lies in no adopted segment. */
    gboolean (*block) (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *block);
    void (*done) (GememAllocator *allocator);
  } adopt;

  /* ---- Optional: memory that sleeps: private pools whose segments keep their addresses
   * while the device has their bytes back.  All come together.  Lists of names end with NULL;
   * no event path. */
  struct
  {
    /* Requests of private pool @pool are from here on of memory called @tag; @backup: pausing it
     * copies it to the host. */
    void (*begin) (GememAllocator *allocator, guint32 pool, const char *tag, gboolean backup);
    /* @drop: segments of @pool without a block in use lose their memory for good. */
    void (*end) (GememAllocator *allocator, guint32 pool, gboolean drop);
    /* All of it sleeps; what is named in @offload is copied to the host.  Then as trim(). */
    void (*sleep) (GememAllocator *allocator, const char *const *offload);
    /* What is named in @tags, or all of it if that is empty, sleeps. */
    void (*pause) (GememAllocator *allocator, const char *const *tags);
    /* The same has memory again, *@needed bytes.  FALSE: the device has not so much, and nothing
     * woke. */
    gboolean (*wake) (GememAllocator *allocator, const char *const *tags, guint64 *needed);
    /* Whether @block, which is live, is of memory that sleeps: alloc() may return such blocks. */
    gboolean (*is_asleep) (GememAllocator *allocator, const GememBlock *block);
    guint64 (*host_bytes) (GememAllocator *allocator); /* copied to the host now */
  } sleep;

  /* ---- Optional: which other settings would have decided the same; both come together.  create() of
   * such a class takes no memory. */
  struct
  {
    /* @allocator, which has served no request yet, notes from here on what its settings decide. */
    void (*begin) (GememAllocator *allocator);
    /* Whether @other, of the same class, made with other settings on such a device and not used yet,
     * would have decided all that @allocator has decided so far, since begin(), in the same way.
     * FALSE also where that is not known.  Not on the event path; changes nothing. */
    gboolean (*alike) (const GememAllocator *allocator, const GememAllocator *other);
  } watch;

  /* ---- Optional: reports of the real system.  Not on the event path. */
  struct
  {
    /* Statistics under the names that the real system uses. */
    void (*stats) (GememAllocator *allocator, GememStatFunc func, gpointer data);
    /* The state in the layout that the real system prints: whole lines, appended to @text. */
    void (*text) (GememAllocator *allocator, GString *text);
  } report;
};

/* First member of every allocator. */
struct _GememAllocator
{
  const GememAllocatorClass *klass;
  GememDevice *device;
  guint64 retries; /* times the out-of-memory ladder released something and tried again */
  char *refusal;   /* gemem_allocator_refuse(); NULL: none */
  char *broken;    /* gemem_allocator_break_rule(); NULL: none */
  /* static, set by create() or when it becomes so: why decisions are not claimed to be the real system's, "what is
   * documented, and where it says what is assumed"; reports say so with every result.  NULL: they
   * are */
  const char *approximation;
};

/* Refuses the current event, which breaks the rule of the real system that the text names; behind
 * its last "; " stands what to do.  The first refusal of an event counts.  The engine reports it as
 * bad input and clears it. */
void gemem_allocator_refuse (GememAllocator *allocator, const char *format, ...)
    G_GNUC_PRINTF (2, 3);
/* Marks the whole run: the text says which rule of the manual the current event breaks, or why the
 * real program ends there.  The first such event counts.  The replay goes on, and the run is marked
 * as not allowed. */
void gemem_allocator_break_rule (GememAllocator *allocator, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

/* All built-in classes in the order of allocators.def, then plugins; NULL-terminated. */
const GememAllocatorClass *const *gemem_allocator_classes (void);

/* By name or alias; GEMEM_ERROR_USAGE with a suggestion. */
const GememAllocatorClass *gemem_allocator_find (const char *name, GError **error);

/* Loads every plugin of the ':'-separated directories (GEMEM_PLUGIN_PATH; may be NULL).  A plugin
 * exports `const GememAllocatorClass *const gemem_plugin_allocators[]`.  A file that cannot be
 * loaded, and a class that has another GEMEM_ALLOCATOR_ABI, lacks a required function, has half of
 * an optional group, or has a name that is taken, is skipped; from then on asking for it by its
 * name, or that of its file, is an error with the reason.  Returns a message for each thing
 * skipped, NULL-terminated, for g_strfreev(); NULL if there is none. */
GStrv gemem_allocator_load_plugins (const char *directories);
/* Why the plugin whose file or allocator is called @name was skipped; NULL: there is none.  Owned
 * by the registry. */
const char *gemem_allocator_skipped (const char *name);

/* A chosen allocator with its settings, as on the command line: "NAME[:key=value,...]". */
typedef struct
{
  const GememAllocatorClass *klass;
  char *label;         /* as the user wrote it */
  GPtrArray *settings; /* GememSetting: allocator parameters */
  /* GememSetting: settings of the device found among them (vector-file keys: capacity, base...) */
  GPtrArray *device;
  /* GememSetting: the environment variables in `settings`, and those that a shorthand read */
  GPtrArray *variables;
  /* GememSetting: environment variables without effect here, each with the reason as value */
  GPtrArray *left_out;
  char *one_of; /* the text with a glob or values that stands for it and others; NULL: it alone */
} GememAllocatorSpec;

/* Parses @text and appends its specs to @specs: globs in NAME ('ge-*') and value lists
 * ("chunk_mb=0|64") yield several. */
gboolean gemem_allocator_spec_parse (const char *text, GPtrArray *specs, GError **error);
/* The same for a program with the environment @variables (GememSetting; FLAGS_name, GE_NAME): each
 * variable that the allocator reads in the real system becomes a setting, unless @text sets it.  A
 * program of PaddlePaddle has all of its flags everywhere, so a flag without effect under these
 * settings is left out, not refused.  Errors: also an invalid value. */
gboolean gemem_allocator_spec_parse_with (const char *text, const GPtrArray *variables,
                                          GPtrArray *specs, GError **error);
void gemem_allocator_spec_free (GememAllocatorSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememAllocatorSpec, gemem_allocator_spec_free)

/* Creates the allocator of @spec on @device; parameters not in @spec come from @defaults (may be
 * NULL; keys that the class does not know are errors there too), then from the table. */
GememAllocator *gemem_allocator_new (const GememAllocatorSpec *spec, const char *defaults,
                                     GememDevice *device, GError **error);
/* The effective parameters of @allocator's spec: GPtrArray of GememSetting. */
GPtrArray *gemem_allocator_effective (const GememAllocatorSpec *spec, const char *defaults,
                                      GememDevice *device, GError **error);
/* Whether @settings are those that gemem_allocator_effective() returns; FALSE also where it fails. */
gboolean gemem_allocator_has_effect (const GememAllocatorSpec *spec, const char *defaults,
                                     GememDevice *device, const GPtrArray *settings);
/* Calls @func for each thing to say about the settings of @spec, and those of @defaults that it leaves (may be
 * NULL): notes() of its class.  Says nothing where they contradict each other. */
void gemem_allocator_spec_notes (const GememAllocatorSpec *spec, const char *defaults,
                                 GememNoteFunc func, gpointer data);
void gemem_allocator_destroy (GememAllocator *allocator);

GEMEM_END_DECLS
