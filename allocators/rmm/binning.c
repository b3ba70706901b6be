/* binning.c - `rmm-binning`: binning_memory_resource of the RAPIDS memory manager.
 *
 * A request goes to the smallest bin that is large enough, and above the largest bin to the
 * upstream as it is.  A bin is a `rmm-fixed-size` on the same upstream, or another resource that
 * the user names for it.  Bins of the same size are one bin.
 *
 * Invariants: the bins are ascending; a block lies in the bin that its size chooses, so that no
 * record of the choice is needed.
 * Cost: O(bins) beside that of the bin.
 * Origin: peers.md section 1c.3.
 */
#include "config.h"

#include <string.h>

#include "allocators/registry.h"
#include "allocators/rmm/passing.h"
#include "allocators/rmm/upstream.h"
#include "allocators/spans.h"
#include "base/units.h"

#define WHAT "rmm-binning"
#define BLOCKS 128 /* that a bin obtains together */
#define NO_EXPONENT 255
#define MOST_EXPONENT 40

typedef struct
{
  GememRmmParams rmm;
  guint64 min_exponent, max_exponent;
  char *bins;
} Params;

static const GememParam params[] = {
  { .name = "min_size_exponent",
    .type = GEMEM_PARAM_UINT,
    .default_text = "18",
    .special = "none=255",
    .sweep = "8|12|18",
    .offset = G_STRUCT_OFFSET (Params, min_exponent),
    .help =
        "There is a bin for each power of two from 2 to this power; none: only those of bins." },
  { .name = "max_size_exponent",
    .type = GEMEM_PARAM_UINT,
    .default_text = "22",
    .special = "none=255",
    .sweep = "18|20|22|24",
    .offset = G_STRUCT_OFFSET (Params, max_exponent),
    .help = "The largest of these bins holds 2 to this power." },
  { .name = "bins",
    .type = GEMEM_PARAM_STRING,
    .choices = "[64KiB,3MiB]",
    .offset = G_STRUCT_OFFSET (Params, bins),
    .help = "Further bins: their sizes, rounded up to 256 bytes, in brackets, as add_bin makes "
            "them; SIZE=RESOURCE for a bin of another kind: bins=[3MiB,64MiB=rmm-pool]." },
  GEMEM_RMM_ROWS (Params, rmm, "|rmm-pool|rmm-arena", "|rmm-limiting"),
  { NULL },
};

typedef struct
{
  guint64 size; /* most bytes of a request */
  GememAllocator *resource;
  gboolean own; /* it has an upstream of its own */
} Bin;

typedef struct
{
  GememAllocator base;
  GememRmmUpstream upstream;
  GememRmmPassing passing;
  GArray *bins;              /* Bin, ascending */
  guint64 binned, passed_on; /* requests */
} Binning;

extern const GememAllocatorClass gemem_rmm_binning_class;

/* ---- bins */

static Bin *
bin_at (const Binning *self, guint i)
{
  return &g_array_index (self->bins, Bin, i);
}

/* The bin for requests of @size bytes; NULL: the upstream serves them. */
static const Bin *
bin_for (const Binning *self, guint64 size)
{
  for (guint i = 0; i < self->bins->len; i++)
    if (size <= bin_at (self, i)->size)
      return bin_at (self, i);
  return NULL;
}

/* Adds a bin of @size bytes: @resource, or blocks of the upstream if that is NULL.  Does nothing
 * where there is one of that size. */
static void
add_bin (Binning *self, guint64 size, GememAllocator *resource, int version)
{
  Bin bin = { gemem_align_up (size, GEMEM_RMM_QUANTUM), resource, resource != NULL };
  guint at = 0;

  while (at < self->bins->len && bin_at (self, at)->size < bin.size)
    at++;
  if (at < self->bins->len && bin_at (self, at)->size == bin.size)
    {
      gemem_allocator_destroy (resource);
      return;
    }
  if (resource == NULL)
    {
      bin.resource = gemem_rmm_fixed_size_new (bin.size, BLOCKS, version, self->upstream.device);
      gemem_rmm_stand_on (&self->base, bin.resource);
    }
  g_array_insert_val (self->bins, at, bin);
}

static gboolean
usage (GError **error, const char *text, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator " WHAT ": bins=%s: %s", text,
               what);
  return FALSE;
}

/* Adds the bin that @word denotes, "SIZE" or "SIZE=RESOURCE". */
static gboolean
add_word (Binning *self, const Params *own, const char *word, GError **error)
{
  const gsize length = strcspn (word, "=");
  g_autofree char *number = g_strstrip (g_strndup (word, length));
  GememAllocator *resource = NULL;
  GError *local = NULL;
  guint64 size;

  if (!gemem_parse_size (number, 1, 0, &size, NULL) || size == 0
      || size > G_GUINT64_CONSTANT (1) << MOST_EXPONENT)
    return usage (error, word, "not a size up to 1TiB; write bins=[64KiB,3MiB]");
  if (word[length] == '=')
    {
      resource = gemem_rmm_resource_new (word + length + 1, &own->rmm, &self->base, &local);
      if (resource == NULL && local == NULL)
        return usage (error, word, "a bin is no device; name an RMM resource");
    }
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  add_bin (self, size, resource, own->rmm.version);
  return TRUE;
}

/* The end of the word at @text: a comma outside brackets, or the end. */
static const char *
end_of_word (const char *text)
{
  int depth = 0;

  for (; *text != '\0' && (*text != ',' || depth > 0); text++)
    depth += (*text == '[') - (*text == ']');
  return text;
}

static gboolean
add_words (Binning *self, const Params *own, GError **error)
{
  g_autofree char *inner = gemem_allocator_without_brackets (own->bins);

  for (const char *at = inner;; at++)
    {
      const char *end = end_of_word (at);
      g_autofree char *word = g_strndup (at, (gsize) (end - at));

      if (!add_word (self, own, word, error))
        return FALSE;
      at = end;
      if (*at == '\0')
        return TRUE;
    }
}

/* TRUE if `bins` names any: "none" is how its default is written, "[]" a list without any. */
static gboolean
names_bins (const Params *own)
{
  g_autofree char *inner = own->bins != NULL ? gemem_allocator_without_brackets (own->bins) : NULL;

  return inner != NULL && *g_strstrip (inner) != '\0' && strcmp (inner, "none") != 0;
}

static gboolean
check_params (const Params *own, GError **error)
{
  const gboolean none = own->min_exponent == NO_EXPONENT || own->max_exponent == NO_EXPONENT;

  if (!none && MAX (own->min_exponent, own->max_exponent) > MOST_EXPONENT)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator " WHAT ": %s=%" G_GUINT64_FORMAT
                 ": bins of more than 1 TiB; give an exponent up to %d",
                 own->min_exponent > MOST_EXPONENT ? "min_size_exponent" : "max_size_exponent",
                 MAX (own->min_exponent, own->max_exponent), MOST_EXPONENT);
  else if ((none || own->min_exponent > own->max_exponent) && !names_bins (own))
    g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "allocator " WHAT ": no bins; give min_size_exponent and a "
                         "max_size_exponent that is not below it, or bins=[SIZE,...]");
  else
    return TRUE;
  return FALSE;
}

/* Makes the bins, which obtain their first blocks. */
static gboolean
make_bins (Binning *self, const Params *own, GError **error)
{
  if (own->min_exponent != NO_EXPONENT && own->max_exponent != NO_EXPONENT)
    for (guint64 e = own->min_exponent; e <= own->max_exponent; e++)
      add_bin (self, G_GUINT64_CONSTANT (1) << e, NULL, own->rmm.version);
  return !names_bins (own) || add_words (self, own, error);
}

/* ---- the class */

static gboolean
binning_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Binning *self = (Binning *) allocator;
  const Bin *bin = bin_for (self, request->size);

  if (G_UNLIKELY (self->base.broken != NULL))
    return FALSE;
  if (bin != NULL)
    {
      self->binned++;
      if (!bin->resource->klass->alloc (bin->resource, request, block))
        return FALSE;
      block->size = MIN (block->size, bin->size);
      return TRUE;
    }
  self->passed_on++;
  return request->size <= G_MAXINT64
         && gemem_rmm_passing_alloc (&self->passing, &self->upstream, request, block);
}

static void
binning_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Binning *self = (Binning *) allocator;
  const Bin *bin = bin_for (self, block->size);

  if (bin != NULL)
    bin->resource->klass->free (bin->resource, block, completion_follows);
  else
    gemem_rmm_passing_free (&self->passing, &self->upstream, block);
}

static void
binning_stream_free (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  Binning *self = (Binning *) allocator;
  const Bin *bin = bin_for (self, block->size);

  if (bin == NULL)
    gemem_rmm_upstream_stream_free (&self->upstream, block->address, stream);
  else if (bin->resource->klass->streams.free != NULL)
    bin->resource->klass->streams.free (bin->resource, block, stream);
}

static guint64
binning_largest_free (GememAllocator *allocator, guint64 stream)
{
  const Binning *self = (const Binning *) allocator;
  guint64 most = bin_at (self, self->bins->len - 1)->size,
          largest = gemem_rmm_upstream_largest_free (&self->upstream, stream);

  if (self->base.broken != NULL)
    return 0;
  if (largest > most)
    return largest;
  largest = 0;
  for (guint i = 0; i < self->bins->len; i++)
    {
      const Bin *bin = bin_at (self, i);
      const guint64 free = bin->resource->klass->largest_free (bin->resource, stream);

      if (free > (i > 0 ? bin_at (self, i - 1)->size : 0))
        largest = MIN (free, bin->size);
    }
  return largest;
}

static void
binning_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Binning *self = (const Binning *) allocator;
  g_autoptr (GArray) above = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_rmm_passing_append (&self->passing, &self->upstream, above);
  for (guint i = 0; i < self->bins->len; i++)
    bin_at (self, i)->resource->klass->walk (bin_at (self, i)->resource, gemem_spans_append,
                                             bin_at (self, i)->own ? all : above);
  gemem_rmm_upstream_walk (&self->upstream, above, gemem_spans_append, all);
  gemem_spans_sort (all);
  for (guint i = 0; i < all->len; i++)
    func (&g_array_index (all, GememSpan, i), data);
}

static gboolean
binning_check (GememAllocator *allocator, GError **error)
{
  const Binning *self = (const Binning *) allocator;

  for (guint i = 0; i < self->bins->len; i++)
    if (!bin_at (self, i)->resource->klass->check (bin_at (self, i)->resource, error))
      return FALSE;
  return gemem_rmm_upstream_check (&self->upstream, error);
}

static void
binning_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Binning *self = (const Binning *) allocator;

  func ("bins", self->bins->len, "", data);
  func ("binned_requests", self->binned, "", data);
  func ("upstream_requests", self->passed_on, "", data);
  func ("upstream_live_blocks", self->passing.count, "", data);
  for (guint i = 0; i < self->bins->len; i++)
    {
      char size[GEMEM_FORMAT_MAX];
      g_autofree char *prefix = g_strdup_printf (
          "bin.%s.", gemem_format_size_exact (size, bin_at (self, i)->size));

      gemem_rmm_resource_stats (bin_at (self, i)->resource, prefix, func, data);
    }
  gemem_rmm_upstream_stats (&self->upstream, func, data);
}

static void
binning_destroy (GememAllocator *allocator)
{
  Binning *self = (Binning *) allocator;

  gemem_rmm_passing_clear (&self->passing, &self->upstream);
  for (guint i = 0; i < self->bins->len; i++)
    gemem_allocator_destroy (bin_at (self, i)->resource);
  gemem_rmm_upstream_close (&self->upstream);
  g_array_unref (self->bins);
  g_free (self);
}

static GememAllocator *
binning_create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  Binning *self;

  if (!check_params (own, error))
    return NULL;
  self = g_new0 (Binning, 1);
  self->base.klass = &gemem_rmm_binning_class;
  self->base.device = device;
  if (!gemem_rmm_upstream_open (&self->upstream, &own->rmm, &self->base, error))
    {
      g_free (self);
      return NULL;
    }
  self->bins = g_array_new (FALSE, FALSE, sizeof (Bin));
  gemem_rmm_passing_init (&self->passing);
  if (make_bins (self, own, error))
    return &self->base;
  binning_destroy (&self->base);
  return NULL;
}

static const GememForm forms[] = {
  { "rmm", GEMEM_FORM_CALL,
    "rmm.mr.set_current_device_resource("
    "rmm.mr.BinningMemoryResource(rmm.mr.CudaMemoryResource()%s))",
    "min_size_exponent|max_size_exponent", "min_size_exponent|max_size_exponent" },
  { NULL },
};

const GememAllocatorClass gemem_rmm_binning_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = WHAT,
  .summary = "RMM's binning_memory_resource: a pool per size of small blocks, its upstream for the "
             "rest",
  .origin = "RMM 24.12 to 26.10 (peers.md 1c.3)",
  .forms = forms,
  .known_as = "binning_memory_resource|BinningMemoryResource",
  .alignment = GEMEM_RMM_QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = binning_create,
  .alloc = binning_alloc,
  .free = binning_free,
  .streams.free = binning_stream_free,
  .largest_free = binning_largest_free,
  .walk = binning_walk,
  .check = binning_check,
  .destroy = binning_destroy,
  .report.stats = binning_stats,
};
