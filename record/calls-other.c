/* calls-other.c - memory that is not allocated by address: arrays, nodes of graphs, memory of other
 * processes (shapes.h).
 *
 * Memory that is not an allocation of the program, or whose allocation is not visible, is recorded
 * as left out, so that it is counted and its free is not taken for a free of unknown memory.
 */
#include "config.h"

#include "record/shapes.h"

static int
leave_out (int result, Address address, JournalLeft why)
{
  return gemem_recorder_leave_with (
      result, NULL,
      (JournalRecord){ .p = gemem_recorder_number (address), .q = why, .call = JOURNAL_LEFT_OUT });
}

/* ---- arrays */

/* Bytes of an element; 0 for a format whose elements have no size of their own (compressed,
 * video). */
static size_t
element_size (int format, unsigned channels)
{
  switch (format)
    {
    case ARRAY_UINT8:
    case ARRAY_SINT8:
      return channels;
    case ARRAY_UINT16:
    case ARRAY_SINT16:
    case ARRAY_HALF:
      return (size_t) 2 * channels;
    case ARRAY_UINT32:
    case ARRAY_SINT32:
    case ARRAY_FLOAT:
      return (size_t) 4 * channels;
    default:
      return 0;
    }
}

static size_t
at_least_one (size_t value)
{
  return value > 0 ? value : 1;
}

/* Bytes of the elements of @levels mipmap levels; the padding of rows by the driver is unknown. */
static size_t
array_size (const Array3D *array, unsigned levels)
{
  size_t size = 0;
  for (unsigned level = 0; level < levels && level < 32; level++)
    size += at_least_one (array->width >> level) * at_least_one (array->height >> level)
            * at_least_one (array->depth >> level);
  return size * element_size (array->format, array->channels);
}

/* An array whose memory is mapped later has no memory of its own. */
static int
leave_array (int result, const Handle *handle, const Array3D *array, unsigned levels)
{
  size_t size = array != NULL ? array_size (array, levels) : 0;
  JournalRecord record = { .q = size, .call = JOURNAL_ARRAY };

  if (result == OUT_OF_MEMORY)
    record.call = JOURNAL_ALLOC_FAILED;
  else if (result != 0)
    return gemem_recorder_leave_with (result, NULL, record);
  else if ((array->flags & ARRAY_MAPPED_LATER) != 0)
    return leave_out (result, *handle, JOURNAL_LEFT_MAPPED);
  else if (size == 0)
    return leave_out (result, *handle, JOURNAL_LEFT_ARRAY);
  else
    record.p = gemem_recorder_number (*handle);
  record.device = gemem_recorder_current_device ();
  record.s = result == 0 ? gemem_recorder_context () : gemem_recorder_free_bytes ();
  return gemem_recorder_leave_with (result, NULL, record);
}

SHAPE (ARRAY, Handle *handle, const Array *array)
{
  REAL ((Handle *, const Array *), handle, array);
  int result = real (handle, array);
  Array3D same = { 0 };
  if (array != NULL)
    same = (Array3D){ array->width, array->height, 0, array->format, array->channels, 0 };
  return leave_array (result, handle, &same, 1);
}

SHAPE (ARRAY_3D, Handle *handle, const Array3D *array)
{
  REAL ((Handle *, const Array3D *), handle, array);
  int result = real (handle, array);
  return leave_array (result, handle, array, 1);
}

SHAPE (ARRAY_LEVELS, Handle *handle, const Array3D *array, unsigned levels)
{
  REAL ((Handle *, const Array3D *, unsigned), handle, array, levels);
  int result = real (handle, array, levels);
  return leave_array (result, handle, array, levels);
}

/* ---- left out */

SHAPE (MAP_ARRAY, const void *list, unsigned count, Handle stream)
{
  REAL ((const void *, unsigned, Handle), list, count, stream);
  return leave_out (real (list, count, stream), NULL, JOURNAL_LEFT_MAPPED);
}

SHAPE (NODE_ALLOC, Handle *node, Handle graph, const Handle *before, size_t count,
       AllocNode *parameters)
{
  REAL ((Handle *, Handle, const Handle *, size_t, AllocNode *), node, graph, before, count,
        parameters);
  int result = real (node, graph, before, count, parameters);
  return leave_out (result, result == 0 ? parameters->address : NULL, JOURNAL_LEFT_GRAPH);
}

SHAPE (NODE_FREE, Handle *node, Handle graph, const Handle *before, size_t count, Address address)
{
  REAL ((Handle *, Handle, const Handle *, size_t, Address), node, graph, before, count, address);
  return leave_out (real (node, graph, before, count, address), address, JOURNAL_LEFT_GRAPH_FREE);
}

/* Records the memory of a graph node, if its type has any. */
static int
leave_node (int result, const Node *node)
{
  if (result == 0 && node->type == NODE_TYPE_ALLOC)
    return leave_out (result, node->alloc.address, JOURNAL_LEFT_GRAPH);
  if (result == 0 && node->type == NODE_TYPE_FREE)
    return leave_out (result, node->free, JOURNAL_LEFT_GRAPH_FREE);
  Place nowhere = { .there = false };
  return gemem_recorder_leave_with (result, &nowhere, (JournalRecord){ 0 });
}

SHAPE (NODE, Handle *node, Handle graph, const Handle *before, size_t count, Node *parameters)
{
  REAL ((Handle *, Handle, const Handle *, size_t, Node *), node, graph, before, count, parameters);
  int result = real (node, graph, before, count, parameters);
  return leave_node (result, parameters);
}

SHAPE (NODE_EDGES, Handle *node, Handle graph, const Handle *before, const void *edges,
       size_t count, Node *parameters)
{
  REAL ((Handle *, Handle, const Handle *, const void *, size_t, Node *), node, graph, before,
        edges, count, parameters);
  int result = real (node, graph, before, edges, count, parameters);
  return leave_node (result, parameters);
}

SHAPE (IMPORT_POINTER, Address *address, Handle pool, const void *data)
{
  REAL ((Address *, Handle, const void *), address, pool, data);
  int result = real (address, pool, data);
  return leave_out (result, result == 0 ? *address : NULL, JOURNAL_LEFT_FOREIGN);
}

SHAPE (IMPORT_HANDLE, Handle *handle, const void *from, int kind)
{
  REAL ((Handle *, const void *, int), handle, from, kind);
  int result = real (handle, from, kind);
  return leave_out (result, result == 0 ? *handle : NULL, JOURNAL_LEFT_FOREIGN);
}
