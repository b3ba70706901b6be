/* example-plugin.c - an allocator outside of gemem's tree: powers of two, a free list per size, a
 * device call when the list is empty.
 *
 * Build it against gemem, installed or not (PKG_CONFIG_PATH=BUILD-FOLDER), and put it where the
 * program looks:
 *
 *   cc -shared -fPIC -O2 -o power2.so example-plugin.c $(pkg-config --cflags --libs gemem)
 *   GEMEM_PLUGIN_PATH=$PWD gemem-sim compare step.gmt -a power2 -a 'power2:min_block=*'
 *
 * Everything the program knows about it (list, help, parameters, "did you mean", completion) comes
 * from the class at the end. The rules are in allocators/allocator.h; `gemem-sim replay --check`
 * calls check() and walk() after every event.
 *
 * This file may be copied without condition.
 */
#include <gemem/gemem.h>

typedef struct
{
  guint64 min_block;
} Params;

static const GememParam parameters[] = {
  { .name = "min_block",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "512",
    .min = "512",
    .max = "1GiB",
    .sweep = "512|4KiB|64KiB|1MiB|2MiB", /* values worth trying: `-a 'power2:min_block=*'` */
    .offset = G_STRUCT_OFFSET (Params, min_block),
    .help = "Smallest block; every request is rounded up to it, then to a power of two." },
  { .name = NULL }
};

typedef struct _Block Block;
struct _Block
{
  Block *previous, *next; /* all blocks, in the order in which the device gave them */
  Block *next_free;       /* of the same size */
  guint64 address, size, stream;
  guint32 pool;
  gboolean live;
};

typedef struct
{
  GememAllocator base;
  guint64 min_block;
  GememSlab slab;
  Block *first;
  Block *cached[64]; /* by the logarithm of the size; last freed, first used */
} Power2;

extern const GememAllocatorClass power2_class;

static GememAllocator *
power2_create (gconstpointer params, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  Power2 *p = g_new0 (Power2, 1);
  p->base.klass = &power2_class;
  p->base.device = device;
  p->min_block = ((const Params *) params)->min_block;
  gemem_slab_init (&p->slab, sizeof (Block));
  return &p->base;
}

/* The logarithm of the block that serves @size; 64 if there is none. */
static guint
size_class (const Power2 *p, guint64 size)
{
  guint k = 9;
  while (k < 64 && (G_GUINT64_CONSTANT (1) << k) < MAX (size, p->min_block))
    k++;
  return k;
}

static Block *
new_block (Power2 *p, guint k, const GememRequest *request)
{
  guint64 size = G_GUINT64_CONSTANT (1) << k;
  guint64 address = gemem_device_malloc (p->base.device, size, request->stream);
  if (address == 0)
    return NULL;
  Block *b = gemem_slab_alloc (&p->slab);
  *b = (Block){ .next = p->first, .address = address, .size = size };
  if (p->first != NULL)
    p->first->previous = b;
  p->first = b;
  return b;
}

/* Gives a block that is in no list back to the device. */
static void
release (Power2 *p, Block *b)
{
  gemem_device_free (p->base.device, b->address, b->size);
  if (b->previous != NULL)
    b->previous->next = b->next;
  else
    p->first = b->next;
  if (b->next != NULL)
    b->next->previous = b->previous;
  gemem_slab_free (&p->slab, b);
}

static void
power2_trim (GememAllocator *allocator)
{
  Power2 *p = (Power2 *) allocator;
  for (guint k = 0; k < 64; k++)
    while (p->cached[k] != NULL)
      {
        Block *b = p->cached[k];
        p->cached[k] = b->next_free;
        release (p, b);
      }
}

static gboolean
power2_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Power2 *p = (Power2 *) allocator;
  guint k = size_class (p, request->size);
  if (k == 64)
    return FALSE;
  Block *b = p->cached[k];
  if (b != NULL)
    p->cached[k] = b->next_free;
  else if ((b = new_block (p, k, request)) == NULL)
    {
      p->base.retries++;
      power2_trim (allocator);
      b = new_block (p, k, request);
    }
  if (b == NULL)
    return FALSE;
  b->live = TRUE;
  b->stream = request->stream;
  b->pool = request->pool;
  *block = (GememBlock){ b->address, b->size, b };
  return TRUE;
}

static void
power2_free (GememAllocator *allocator, const GememBlock *block,
             G_GNUC_UNUSED gboolean completion_follows)
{
  Power2 *p = (Power2 *) allocator;
  Block *b = block->handle;
  guint k = size_class (p, b->size);
  b->live = FALSE;
  b->next_free = p->cached[k];
  p->cached[k] = b;
}

static guint64
power2_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  Power2 *p = (Power2 *) allocator;
  for (guint k = 64; k-- > 0;)
    if (p->cached[k] != NULL)
      return p->cached[k]->size;
  return 0;
}

static int
compare_address (gconstpointer a, gconstpointer b)
{
  const Block *x = *(const Block *const *) a, *y = *(const Block *const *) b;
  return x->address < y->address ? -1 : x->address > y->address;
}

static GPtrArray *
sorted_blocks (const Power2 *p)
{
  GPtrArray *blocks = g_ptr_array_new ();
  for (Block *b = p->first; b != NULL; b = b->next)
    g_ptr_array_add (blocks, b);
  g_ptr_array_sort (blocks, compare_address);
  return blocks;
}

static void
power2_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  g_autoptr (GPtrArray) blocks = sorted_blocks ((Power2 *) allocator);
  for (guint i = 0; i < blocks->len; i++)
    {
      const Block *b = blocks->pdata[i];
      const GememSpan span = { .address = b->address,
                               .size = b->size,
                               .segment = b->address,
                               .segment_size = b->size,
                               .stream = b->stream,
                               .pool = b->pool,
                               .state = b->live ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE,
                               .user = b->address };
      func (&span, data);
    }
}

static gboolean
power2_check (GememAllocator *allocator, GError **error)
{
  const Power2 *p = (const Power2 *) allocator;
  g_autoptr (GPtrArray) blocks = sorted_blocks (p);
  guint cached = 0, idle = 0;
  for (guint k = 0; k < 64; k++)
    for (const Block *b = p->cached[k]; b != NULL; b = b->next_free)
      cached++;
  for (guint i = 0; i < blocks->len; i++)
    idle += !((const Block *) blocks->pdata[i])->live;
  if (cached == idle)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "power2: %u blocks are cached, %u are not live", cached, idle);
  return FALSE;
}

static void
power2_destroy (GememAllocator *allocator)
{
  Power2 *p = (Power2 *) allocator;
  while (p->first != NULL)
    release (p, p->first);
  gemem_slab_clear (&p->slab);
  g_free (p);
}

const GememAllocatorClass power2_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "power2",
  .summary = "Powers of two with a free list per size",
  .origin = "an example of a plugin",
  .alignment = 512,
  .params = parameters,
  .params_size = sizeof (Params),
  .create = power2_create,
  .alloc = power2_alloc,
  .free = power2_free,
  .trim = power2_trim,
  .largest_free = power2_largest_free,
  .walk = power2_walk,
  .check = power2_check,
  .destroy = power2_destroy,
};

extern const GememAllocatorClass *const gemem_plugin_allocators[];
const GememAllocatorClass *const gemem_plugin_allocators[] = { &power2_class, NULL };
