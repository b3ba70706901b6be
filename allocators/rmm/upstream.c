/* upstream.c - see upstream.h. */
#include "config.h"

#include <string.h>

#include "allocators/registry.h"
#include "allocators/rmm/upstream.h"
#include "allocators/spans.h"
#include "base/idmap.h"
#include "base/units.h"

#define PREFIX "rmm-" /* of the names of RMM's resources */
#define DEEPEST 8     /* resources on one another; more are taken for a mistake */

/* ---- what the setting names */

static const GememParam *
row_of (const GememAllocatorClass *klass, const char *name)
{
  return gemem_params_find (klass->params, name);
}

static gboolean
is_device (const GememAllocatorClass *klass)
{
  return g_str_equal (klass->name, "direct");
}

static gboolean
is_resource (const GememAllocatorClass *klass)
{
  return is_device (klass) || g_str_has_prefix (klass->name, PREFIX);
}

/* FALSE unless @text, which has no brackets, begins with the name of a possible
 * upstream of @top. */
static gboolean
check_name (const char *text, const GememAllocatorClass *top, GError **error)
{
  g_autofree char *name = g_strstrip (g_strndup (text, strcspn (text, ":")));
  g_autoptr (GString) names = g_string_new (NULL);
  const GememAllocatorClass *found = gemem_allocator_making_now ()->find (name, NULL);

  if (found != NULL && is_resource (found))
    return TRUE;
  for (const GememAllocatorClass *const *c = gemem_allocator_making_now ()->classes (); *c != NULL;
       c++)
    if (is_resource (*c))
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", (*c)->name);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "allocator %s: upstream '%s' is no resource of RMM; there are %s", top->name, name,
               names->str);
  return FALSE;
}

/* TRUE if @klass stands in @chain (GememAllocatorSpec) or is @top, on which the chain begins. */
static gboolean
is_in (const GememAllocatorClass *klass, const GememAllocatorClass *top, const GPtrArray *chain)
{
  gboolean found = klass == top;

  for (guint i = 0; i < chain->len; i++)
    found |= ((const GememAllocatorSpec *) chain->pdata[i])->klass == klass;
  return found;
}

/* FALSE unless @spec, which the user wrote as @text, may be the next upstream of @chain, the
 * upstreams of a @top. */
static gboolean
check_link (const GememAllocatorSpec *spec, const char *text, const GememAllocatorClass *top,
            const GPtrArray *chain, GError **error)
{
  if (spec->device->len > 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: upstream '%s': %s is a setting of the device; write it outside the "
                 "upstream",
                 top->name, text, ((const GememSetting *) spec->device->pdata[0])->key);
  else if (spec->settings->len == 0 && is_in (spec->klass, top, chain))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: the upstreams are a cycle, %s would take its memory from itself; "
                 "name another upstream, or give it settings if a second %s is meant",
                 top->name, spec->klass->name, spec->klass->name);
  else if (chain->len + 1 >= DEEPEST)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: more than %d resources on one another; name fewer upstreams",
                 top->name, DEEPEST);
  else
    return TRUE;
  return FALSE;
}

/* The spec that @text denotes as an upstream of @klass; NULL with @error. */
static GememAllocatorSpec *
parse_one (const char *text, const GememAllocatorClass *klass, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *inner = gemem_allocator_without_brackets (text);

  if (!check_name (inner, klass, error))
    return NULL;
  if (!gemem_allocator_making_now ()->parse (inner, specs, error))
    {
      g_prefix_error (error, "allocator %s: upstream '%s': ", klass->name, text);
      return NULL;
    }
  if (specs->len == 1)
    return g_ptr_array_steal_index (specs, 0);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "allocator %s: upstream '%s' stands for %u resources; write a list as "
               "upstream=[A]|[B]",
               klass->name, text, specs->len);
  return NULL;
}

/* The value of `upstream` in @spec, or NULL. */
static const char *
next_text (const GememAllocatorSpec *spec)
{
  const GememParam *row = row_of (spec->klass, "upstream");

  for (guint i = 0; row != NULL && i < spec->settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (spec->settings, i);

      if (gemem_params_find (spec->klass->params, setting->key) == row)
        return setting->value;
    }
  return NULL;
}

/* The spec of @text; all upstreams behind it are checked too.  NULL with @error. */
static GememAllocatorSpec *
parse_chain (const char *text, const GememAllocatorClass *top, GError **error)
{
  g_autoptr (GPtrArray)
      chain = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  for (const char *next = text; next != NULL;)
    {
      GememAllocatorSpec *spec = parse_one (next, top, error);

      if (spec == NULL)
        return NULL;
      if (!check_link (spec, next, top, chain, error))
        {
          gemem_allocator_spec_free (spec);
          return NULL;
        }
      g_ptr_array_add (chain, spec);
      next = next_text (spec);
    }
  return g_ptr_array_steal_index (chain, 0);
}

/* "version=24.12" where @klass has that version too, else ""; g_free(). */
static char *
inherited (const GememAllocatorClass *klass, const GememRmmParams *params)
{
  static const char *const names[] = { [GEMEM_RMM_24_12] = "24.12", [GEMEM_RMM_26_10] = "26.10" };
  const GememParam *row = row_of (klass, "version");
  const char *name = names[params->version];

  return row != NULL && gemem_name_listed (row->choices, name)
             ? g_strconcat ("version=", name, NULL)
             : g_strdup ("");
}

GememAllocator *
gemem_rmm_resource_new (const char *text, const GememRmmParams *params, GememAllocator *above,
                        GError **error)
{
  g_autoptr (GememAllocatorSpec) spec = parse_chain (text, above->klass, error);
  g_autofree char *defaults = NULL;
  GememAllocator *resource;

  if (spec == NULL || is_device (spec->klass))
    return NULL;
  defaults = inherited (spec->klass, params);
  resource = gemem_allocator_making_now ()->create (spec, defaults, above->device, error);
  if (resource == NULL)
    g_prefix_error (error, "allocator %s: upstream '%s': ", above->klass->name, text);
  else
    gemem_rmm_stand_on (above, resource);
  return resource;
}

/* ---- want of memory at the beginning */

void
gemem_rmm_stand_on (GememAllocator *above, const GememAllocator *resource)
{
  if (resource->broken != NULL)
    gemem_allocator_break_rule (above, "%s", resource->broken);
}

/* ---- the device before a resource */

typedef struct
{
  GememDevice base;
  GememAllocator *resource;
  GememIdMap *blocks;  /* GememBlock by the address given */
  gboolean both_names; /* the resource, having an upstream of its own, knows both of stream 0 */
} Front;

static guint64
front_malloc (GememDevice *device, guint64 size, guint64 stream)
{
  Front *self = (Front *) device;
  const GememRequest request = {
    .size = size, .stream = stream == GEMEM_RMM_LEGACY && !self->both_names ? 0 : stream
  };
  GememBlock block;

  if (size == 0 || !self->resource->klass->alloc (self->resource, &request, &block))
    return 0;
  *(GememBlock *) gemem_idmap_insert (self->blocks, block.address, NULL) = block;
  device->held += size;
  return block.address;
}

static void
front_free (GememDevice *device, guint64 address, guint64 size)
{
  Front *self = (Front *) device;
  GememBlock block;

  if (!gemem_idmap_remove (self->blocks, address, &block))
    g_return_if_reached ();
  self->resource->klass->free (self->resource, &block, FALSE);
  device->held -= size;
}

static const GememDeviceClass front_class = { .name = "rmm-upstream",
                                              .malloc = front_malloc,
                                              .free = front_free };

gboolean
gemem_rmm_upstream_open (GememRmmUpstream *self, const GememRmmParams *params,
                         GememAllocator *above, GError **error)
{
  GememDevice *device = above->device;
  GError *local = NULL;
  Front *front;

  *self = (GememRmmUpstream){ .device = device,
                              .unit = params->version == GEMEM_RMM_24_12 ? 16 : 1,
                              .both_names = device->klass == &front_class };
  self->resource = gemem_rmm_resource_new (params->upstream, params, above, &local);
  if (local != NULL)
    g_propagate_error (error, local);
  else if (self->resource != NULL)
    {
      front = g_new0 (Front, 1);
      front->base.klass = &front_class;
      front->base.capacity = device->capacity;
      front->base.inner = device;
      front->resource = self->resource;
      front->both_names = row_of (self->resource->klass, "upstream") != NULL;
      front->blocks = gemem_idmap_new (sizeof (GememBlock));
      self->device = &front->base;
      self->both_names = TRUE;
    }
  return local == NULL;
}

void
gemem_rmm_upstream_close (GememRmmUpstream *self)
{
  if (self->resource == NULL)
    return;
  gemem_idmap_free (((Front *) self->device)->blocks);
  g_free (self->device);
  gemem_allocator_destroy (g_steal_pointer (&self->resource));
}

void
gemem_rmm_upstream_stream_free (GememRmmUpstream *self, guint64 address, guint64 stream)
{
  if (self->resource != NULL && self->resource->klass->streams.free != NULL)
    self->resource->klass->streams.free (
        self->resource, gemem_idmap_lookup (((Front *) self->device)->blocks, address), stream);
}

guint64
gemem_rmm_upstream_largest_free (const GememRmmUpstream *self, guint64 stream)
{
  return self->resource != NULL ? self->resource->klass->largest_free (self->resource, stream) : 0;
}

void
gemem_rmm_cannot_begin (GememAllocator *self, const GememAllocator *resource, const char *setting,
                        guint64 size)
{
  char bytes[GEMEM_FORMAT_MAX], capacity[GEMEM_FORMAT_MAX];

  if (self->device->klass == &front_class)
    resource = ((const Front *) self->device)->resource;
  gemem_allocator_break_rule (
      self,
      "%s takes %s at the beginning (%s), which %s%s refused: RMM's constructor throws, and "
      "nothing is served; let it take less, or give the device more",
      self->klass->name, gemem_format_size (bytes, size), setting,
      resource != NULL ? resource->klass->name : "the device of ",
      resource != NULL ? "" : gemem_format_size (capacity, self->device->capacity));
}

/* ---- walk */

typedef struct
{
  const GArray *spans; /* of the resource above */
  guint at;
  GememSpanFunc func;
  gpointer data;
} Replacing;

/* A GememSpanFunc: what is live for the upstream are the spans of the resource above. */
static void
replace_span (const GememSpan *span, gpointer data)
{
  Replacing *self = data;
  const guint64 end = span->address + span->size;
  GememSpan rest = *span;

  if (span->state == GEMEM_SPAN_LIVE)
    while (self->at < self->spans->len
           && g_array_index (self->spans, GememSpan, self->at).address < end)
      {
        GememSpan above = g_array_index (self->spans, GememSpan, self->at++);

        above.segment = span->segment;
        above.segment_size = span->segment_size;
        self->func (&above, self->data);
        rest.address = above.address + above.size;
        rest.state = GEMEM_SPAN_OVERHEAD; /* by which the upstream rounded up */
      }
  rest.size = end - rest.address;
  if (rest.size > 0)
    self->func (&rest, self->data);
}

void
gemem_rmm_upstream_walk (const GememRmmUpstream *self, GArray *spans, GememSpanFunc func,
                         gpointer data)
{
  Replacing replacing = { .spans = spans, .func = func, .data = data };

  gemem_spans_sort (spans);
  if (self->resource != NULL)
    self->resource->klass->walk (self->resource, replace_span, &replacing);
  else
    for (guint i = 0; i < spans->len; i++)
      func (&g_array_index (spans, GememSpan, i), data);
}

/* ---- check and figures */

gboolean
gemem_rmm_upstream_check (const GememRmmUpstream *self, GError **error)
{
  return self->resource == NULL || self->resource->klass->check (self->resource, error);
}

typedef struct
{
  const char *prefix;
  GememStatFunc func;
  gpointer data;
} Naming;

static void
name_stat (const char *name, guint64 value, const char *unit, gpointer data)
{
  const Naming *self = data;
  g_autofree char *full = g_strconcat (self->prefix, name, NULL);

  self->func (full, value, unit, self->data);
}

void
gemem_rmm_resource_stats (GememAllocator *resource, const char *prefix, GememStatFunc func,
                          gpointer data)
{
  Naming naming = { prefix, func, data };

  if (resource->klass->report.stats != NULL)
    resource->klass->report.stats (resource, name_stat, &naming);
}

void
gemem_rmm_upstream_stats (const GememRmmUpstream *self, GememStatFunc func, gpointer data)
{
  if (self->resource != NULL)
    gemem_rmm_resource_stats (self->resource, "upstream.", func, data);
}
