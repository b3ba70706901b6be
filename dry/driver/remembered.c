/* remembered.c - what the host wrote to device memory with small copies, in dry runs.
 *
 * Why: device memory has no bytes, and reads as zero. But programs write small facts to it, exchange them between ranks and read
 * them back (sizes of parameters, states of random number generators, pickled objects), and end when what comes back is zero. So
 * the bytes of a small copy from the host are kept until anything else may have written there:
 *
 *   - a copy, a memset: the bytes that it covers; a copy from device to device carries what is known along
 *   - a kernel that got an address in them, as a parameter or in a part of one. A kernel that got a lower address of the same
 *     allocation may have written there too: the program is asked where its block begins (gemem_dry_on_block()), for PyTorch cuts
 *     allocations into blocks. Without an answer the bytes are not known
 *   - a product of cuBLAS or cuBLASLt: its result and its workspace (dry/libraries/cublas-products.c)
 *   - a function of cuDNN's that says which addresses it got: as a kernel with these
 *   - a kernel of which the image does not say what parameters it has, a graph, another function of a library: all
 *   - the release of the memory; memory that is mapped twice, or shared with another process, is never known
 *   - not a kernel of a library that says itself what it wrote (gemem_dry_in_library())
 *
 * An address that the host copies to the device, in a table of at most COPY_MAX bytes, counts as given to a kernel. Not seen are
 * addresses that kernels find otherwise: in larger tables, or computed from others.
 *
 * Invariants: the driver's lock is held, unless a function says otherwise; ranges are disjoint and in the order of addresses; not
 * more than RANGES_MAX ranges of BYTES_MAX bytes, of which the oldest go first. A launch costs nothing while nothing is kept.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/areas.h"
#include "dry/driver/graphs.h"
#include "dry/driver/kernels.h"
#include "dry/driver/remembered.h"
#include "dry/replay/replay.h"

#define COPY_MAX 65536
#define BYTES_MAX (1 << 20)
#define RANGES_MAX 256

typedef struct
{
  guint64 address, size;
  guint8 *bytes;
  guint64 work; /* of libraries that do not say what they write, when it was written */
  guint64 age;  /* a count of ranges */
  guint64
      below; /* highest address between the range before and this one that a kernel got; 0: none */
  guint64
      sure; /* the number of addresses seen when it was found that none of them is in its block */
  gboolean assumed;
} Range;

static Range ranges[RANGES_MAX];
static guint n_ranges;
static guint64 n_bytes, age, seen; /* seen: counts addresses that kernels got */

/* ---- ranges */

/* The first range that ends above @address; n_ranges: none. */
static guint
find (guint64 address)
{
  guint low = 0, high = n_ranges;

  while (low < high)
    {
      const guint middle = (low + high) / 2;
      if (ranges[middle].address + ranges[middle].size > address)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Removes range @i; addresses below it that kernels got are now below the next one. */
static void
drop (guint i)
{
  n_bytes -= ranges[i].size;
  g_free (ranges[i].bytes);
  if (i + 1 < n_ranges)
    ranges[i + 1].below = MAX (ranges[i + 1].below, ranges[i].below);
  n_ranges--;
  memmove (&ranges[i], &ranges[i + 1], (n_ranges - i) * sizeof *ranges);
}

static void
drop_oldest (void)
{
  guint oldest = 0;

  for (guint i = 1; i < n_ranges; i++)
    if (ranges[i].age < ranges[oldest].age)
      oldest = i;
  drop (oldest);
}

/* Adds a copy of @from, of which no byte is kept; what else a range has is that of @like. */
static void
add (guint64 address, gconstpointer from, guint64 size, const Range *like)
{
  Range range = *like;
  guint i;

  while (n_ranges > 0 && (n_ranges == RANGES_MAX || n_bytes + size > BYTES_MAX))
    drop_oldest ();
  i = find (address);
  range.address = address;
  range.size = size;
  range.bytes = g_memdup2 (from, size);
  memmove (&ranges[i + 1], &ranges[i], (n_ranges - i) * sizeof *ranges);
  ranges[i] = range;
  n_ranges++;
  n_bytes += size;
}

void
gemem_driver_forget (guint64 address, guint64 size)
{
  const guint64 end = address + size;
  guint i;

  while (n_ranges > 0 && (i = find (address)) < n_ranges && ranges[i].address < end)
    {
      const Range range = ranges[i];
      const guint64 range_end = range.address + range.size;
      g_autofree guint8 *bytes = g_memdup2 (range.bytes, range.size);

      drop (i);
      if (range.address < address)
        add (range.address, bytes, address - range.address, &range);
      if (range_end > end)
        add (end, bytes + (end - range.address), range_end - end, &range);
    }
}

void
gemem_driver_forget_all (void)
{
  while (n_ranges > 0)
    drop (n_ranges - 1);
}

void
gemem_driver_forget_page (const DriverPage *page)
{
  for (GememTreeNode *node = n_ranges > 0 ? gemem_tree_first (&gemem_driver.areas) : NULL;
       node != NULL; node = gemem_tree_next (node))
    {
      const DriverArea *area = GEMEM_TREE_ENTRY (node, DriverArea, node);
      if (area->page == page)
        gemem_driver_forget (node->address, area->size);
    }
}

/* FALSE: another process, or another mapping of the page, may write there unseen. */
static gboolean
is_private (guint64 address)
{
  const DriverArea *area = gemem_driver_area_at (address);

  return area != NULL && area->kind != KIND_IMPORTED && !area->exported
         && (area->page == NULL
             || (area->page->mappings <= 1 && !area->page->imported && !area->page->exported));
}

/* The host wrote @bytes, by a copy or through the other ranks (@assumed: as if all ranks held the same). */
static void
remember (guint64 address, gconstpointer bytes, guint64 size, gboolean assumed)
{
  const Range like = {
    .work = gemem_driver_library_work (FALSE), .age = ++age, .sure = seen, .assumed = assumed
  };

  gemem_driver_forget (address, size);
  if (size > 0 && size <= COPY_MAX && is_private (address) && is_private (address + size - 1))
    add (address, bytes, size, &like);
}

/* ---- what kernels get */

static void
see_address (guint64 address)
{
  const guint i = find (address);

  if (i == n_ranges)
    return;
  seen++;
  ranges[i].below = MAX (ranges[i].below, address);
  if (address >= ranges[i].address)
    drop (i);
}

/* Most of what kernels get is no address below the end of a range, which one comparison tells. */
static void
see_bytes (const guint8 *bytes, gsize size)
{
  guint64 low = G_MAXUINT64, below, value;

  for (guint i = 0; i < gemem_driver.n_devices; i++)
    low = MIN (low, gemem_driver.devices[i].lowest);
  below = n_ranges > 0 ? ranges[n_ranges - 1].address + ranges[n_ranges - 1].size - low : 0;
  for (gsize at = 0; at + sizeof value <= size; at += sizeof value)
    {
      memcpy (&value, bytes + at, sizeof value);
      if (value - low < below && gemem_driver_is_device_address (value))
        see_address (value);
    }
}

/* What a library of NVIDIA's writes, as installed, is of no interest to the program. */
void
gemem_driver_remember_host (guint64 to, guint64 from, guint64 size)
{
  if (size > COPY_MAX || gemem_dry_in_library (0))
    {
      gemem_driver_forget (to, size);
      return;
    }
  see_bytes ((const guint8 *) (guintptr) from, size);
  remember (to, (gconstpointer) (guintptr) from, size, FALSE);
}

gboolean
gemem_driver_parameters (const DriverFunction *function, void **parameters, void **extra,
                         void (*see) (const guint8 *bytes, gsize size))
{
  const GememDryKernel *needs = function->needs;
  const guint8 *buffer;
  gsize size;

  if (parameters != NULL && needs != NULL && needs->parameters != NULL)
    for (guint i = 0; i < needs->parameters->len; i++)
      see (parameters[i], g_array_index (needs->parameters, guint16, i));
  else if (parameters == NULL && extra != NULL
           && (buffer = gemem_driver_parameter_buffer (extra, &size)) != NULL)
    see (buffer, size);
  else
    return parameters == NULL && extra == NULL;
  return TRUE;
}

void
gemem_driver_remembered_launch (const DriverFunction *function, void **parameters, void **extra)
{
  if (n_ranges > 0 && !function->of_library
      && !gemem_driver_parameters (function, parameters, extra, see_bytes))
    gemem_driver_forget_all ();
}

void
gemem_driver_lose_unsaid (void)
{
  static guint64 before;
  const guint64 now = gemem_driver_library_work (FALSE);

  if (now != before)
    gemem_replay_lost (0, 0);
  before = now;
}

/* ---- what is known */

/* TRUE if a kernel got an address from @floor to range @i, since that was written. */
static gboolean
reached_from (guint i, guint64 floor)
{
  for (guint k = i + 1; k-- > 0;)
    {
      if (ranges[k].below >= floor && ranges[k].below != 0)
        return TRUE;
      if (ranges[k].address <= floor)
        break;
    }
  return FALSE;
}

/* Where the memory begins that the driver gave the program at @address: mappings beside each other may be one. */
static guint64
allocation_start (guint64 address)
{
  const DriverArea *area = gemem_driver_area_at (address), *before;

  while (area != NULL && area->kind == KIND_MAPPING
         && (before = gemem_driver_area_at (area->node.address - 1)) != NULL
         && before->kind == KIND_MAPPING)
    area = before;
  return area != NULL ? area->node.address : 0;
}

static gboolean
is_known (guint i)
{
  return ranges[i].work == gemem_driver_library_work (FALSE)
         && (ranges[i].sure == seen || !reached_from (i, allocation_start (ranges[i].address)));
}

guint64
gemem_driver_recall (guint64 from, guint64 size, gpointer to, gboolean *assumed)
{
  guint64 known = 0;

  *assumed = FALSE;
  for (guint i = find (from); i < n_ranges && ranges[i].address < from + size; i++)
    if (is_known (i))
      {
        const guint64 start = MAX (ranges[i].address, from);
        const guint64 end = MIN (ranges[i].address + ranges[i].size, from + size);
        memcpy ((guint8 *) to + (start - from), ranges[i].bytes + (start - ranges[i].address),
                end - start);
        known += end - start;
        *assumed |= ranges[i].assumed;
      }
  return known;
}

/* Copies may overlap, so that what is known of the source is taken first. */
void
gemem_driver_carry (guint64 to, guint64 from, guint64 size)
{
  g_autoptr (GPtrArray) pieces = NULL;

  for (guint i = n_ranges > 0 ? find (from) : 0; i < n_ranges && ranges[i].address < from + size;
       i++)
    if (is_known (i))
      {
        const guint64 start = MAX (ranges[i].address, from);
        const guint64 end = MIN (ranges[i].address + ranges[i].size, from + size);
        Range *piece = g_new (Range, 1);
        *piece = ranges[i];
        piece->address = to + (start - from);
        piece->size = end - start;
        piece->bytes = g_memdup2 (ranges[i].bytes + (start - ranges[i].address), end - start);
        if (pieces == NULL)
          pieces = g_ptr_array_new ();
        g_ptr_array_add (pieces, piece);
      }
  gemem_driver_forget (to, size);
  for (guint i = 0; pieces != NULL && i < pieces->len; i++)
    {
      Range *piece = pieces->pdata[i];
      remember (piece->address, piece->bytes, piece->size, piece->assumed);
      g_free (piece->bytes);
      g_free (piece);
    }
}

/* ---- the program's blocks */

static GememDryBlockFunc on_block;

void
gemem_dry_on_block (GememDryBlockFunc func)
{
  g_atomic_pointer_set (&on_block, func);
}

/* The first range of [@from, @from + @size) of which only the program can say whether it is known; 0: none. */
static guint64
find_doubt (guint64 from, guint64 size)
{
  for (guint i = find (from); i < n_ranges && ranges[i].address < from + size; i++)
    if (ranges[i].work == gemem_driver_library_work (FALSE) && !is_known (i))
      return ranges[i].address;
  return 0;
}

void
gemem_driver_settle (guint64 to, guint64 from, guint64 size)
{
  GememDryBlockFunc func = g_atomic_pointer_get (&on_block);

  for (guint64 doubt = func != NULL ? 1 : 0; doubt != 0;)
    {
      pthread_mutex_t *lock = gemem_driver_lock ();
      doubt = n_ranges > 0 && !gemem_driver_is_device_address (to) ? find_doubt (from, size) : 0;
      pthread_mutex_unlock (lock);
      if (doubt == 0)
        return;

      const guint64 start = func (doubt);
      lock = gemem_driver_lock ();
      const guint i = find (doubt);
      const gboolean there = i < n_ranges && ranges[i].address == doubt;
      if (there && start != 0 && start <= doubt && !reached_from (i, start))
        ranges[i].sure = seen;
      else if (there)
        drop (i);
      pthread_mutex_unlock (lock);
    }
}

/* ---- for libraries */

void
gemem_dry_reached (gconstpointer address)
{
  pthread_mutex_t *lock = gemem_driver_lock ();

  if (n_ranges > 0 && gemem_driver_is_device_address ((guintptr) address))
    see_address ((guintptr) address);
  pthread_mutex_unlock (lock);
  gemem_replay_lost ((guintptr) address, 0);
}

gboolean
gemem_dry_in_library (int change)
{
  static __thread int depth;
  depth += change;
  return depth > 0;
}

gboolean
gemem_dry_recall (guint64 from, gsize size, gpointer to, gboolean *assumed)
{
  pthread_mutex_t *lock;
  gboolean known;

  gemem_driver_settle ((guintptr) to, from, size);
  lock = gemem_driver_lock ();
  known = gemem_driver_recall (from, size, to, assumed) == size;
  pthread_mutex_unlock (lock);
  return known;
}

void
gemem_dry_wrote (guint64 to, gsize size, gconstpointer bytes, gboolean assumed)
{
  pthread_mutex_t *lock = gemem_driver_lock ();

  if (bytes != NULL)
    remember (to, bytes, size, assumed);
  else if (n_ranges > 0 && to != 0)
    gemem_driver_forget (to, size);
  else if (to == 0)
    gemem_driver_forget_all ();
  pthread_mutex_unlock (lock);
  if (bytes != NULL && !assumed)
    gemem_replay_host (to, bytes, size);
  else if (to == 0 || size > 0)
    gemem_replay_lost (to, size);
}
