/* spans.c - the memory behind addresses: spans by address, and the bytes of each, allocated
 * at the first access.
 *
 * A span is an allocation, host memory, memory from a pool, or a mapping of a page; several
 * mappings of one page share its bytes.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "dry/driver/driver.h"

/* From this size on bytes are mapped from the kernel, where untouched pages cost nothing. */
#define MAP_FROM (1 << 20)

StandinBytes *
standin_bytes_new (guint64 size)
{
  StandinBytes *bytes = g_new0 (StandinBytes, 1);
  bytes->references = 1;
  bytes->size = size;
  return bytes;
}

void
standin_bytes_unref (StandinBytes *bytes)
{
  if (--bytes->references > 0)
    return;
  if (bytes->data != NULL && !bytes->borrowed)
    {
      if (bytes->size >= MAP_FROM)
        munmap (bytes->data, bytes->size);
      else
        g_free (bytes->data);
    }
  g_free (bytes);
}

guint8 *
standin_bytes_data (StandinBytes *bytes)
{
  if (bytes->data == NULL && bytes->size < MAP_FROM)
    bytes->data = g_malloc0 (bytes->size);
  else if (bytes->data == NULL)
    {
      bytes->data = mmap (NULL, bytes->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (bytes->data == MAP_FAILED)
        g_error ("stand-in libcuda: this machine has no %" G_GUINT64_FORMAT " bytes", bytes->size);
    }
  return bytes->data;
}

StandinSpan *
standin_span_add (StandinKind kind, guint64 address, guint64 size, StandinDevice *device,
                  StandinBytes *bytes)
{
  StandinSpan *span = g_new0 (StandinSpan, 1);

  span->node.address = address;
  span->kind = kind;
  span->size = size;
  span->device = device;
  span->bytes = bytes;
  span->access = device != NULL ? 1u << device->ordinal : G_MAXUINT32;
  span->owned = span->live = TRUE;
  gemem_tree_insert (&standin.spans, &span->node);
  if (device != NULL && kind != KIND_MAPPING) /* that of a range, which may be another device's */
    standin_saw_address (device, address, size);
  return span;
}

void
standin_span_remove (StandinSpan *span)
{
  standin_forget (span->node.address, span->size);
  gemem_tree_remove (&standin.spans, &span->node);
  standin_bytes_unref (span->bytes);
  g_free (span);
}

StandinSpan *
standin_span_at (guint64 address)
{
  GememTreeNode *node = gemem_tree_lower_bound (&standin.spans, 0, 0, address);
  StandinSpan *span;

  if (node == NULL || node->address != address)
    node = gemem_tree_before (&standin.spans, 0, 0, address);
  if (node == NULL)
    return NULL;
  span = GEMEM_TREE_ENTRY (node, StandinSpan, node);
  return address - span->node.address < span->size ? span : NULL;
}

StandinSpan *
standin_span_start (guint64 address, StandinKind kind)
{
  StandinSpan *span = standin_span_at (address);
  return span != NULL && span->node.address == address && span->kind == kind && span->owned ? span
                                                                                            : NULL;
}

/* TRUE if work on @device may use the bytes of @span. */
static gboolean
may_use (const StandinSpan *span, const StandinDevice *device)
{
  guint32 who = device != NULL ? 1u << device->ordinal : G_MAXUINT32;

  if (!span->live)
    return FALSE;
  if (span->kind == KIND_ALLOCATION && device != NULL)
    return (device->peers & span->access) != 0;
  return (span->access & who) != 0;
}

gboolean
standin_may_use (const StandinDevice *device, guint64 address, guint64 size, guint64 *wrong)
{
  while (size > 0)
    {
      const StandinSpan *span = standin_span_at (address);
      guint64 here;

      if (span == NULL || !may_use (span, device))
        {
          *wrong = address;
          return FALSE;
        }
      here = MIN (size, span->size - (address - span->node.address));
      address += here;
      size -= here;
    }
  return TRUE;
}

guint8 *
standin_translate (const StandinDevice *device, guint64 address, guint64 want, guint64 *together)
{
  StandinSpan *span = standin_span_at (address);
  guint64 offset;

  if (span == NULL || !may_use (span, device))
    return NULL;
  offset = address - span->node.address;
  *together = MIN (want, span->size - offset);
  return standin_bytes_data (span->bytes) + offset;
}

void
standin_saw_address (StandinDevice *device, guint64 address, guint64 size)
{
  device->lowest = MIN (device->lowest, address);
  device->highest = MAX (device->highest, address + size);
}

gboolean
standin_is_device_address (guint64 address)
{
  for (guint i = 0; i < standin.n_devices; i++)
    if (address >= standin.devices[i].lowest && address < standin.devices[i].highest)
      return TRUE;
  return FALSE;
}

void
standin_device_free (StandinSpan *span)
{
  if (span->kind != KIND_ALLOCATION)
    return;
  gemem_device_free (standin_enter_device (span->device), span->node.address, span->size);
  standin_leave_device (span->device);
}
