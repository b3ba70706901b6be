/* graph.c - cuDNN's backend: descriptors whose attributes are read back as they were
 * set, one engine for every graph of operations (library.h).
 *
 * Executing a plan, and pooling, launch work on the addresses that they get (gemem_dry_reached()).
 *
 * The workspace of an engine is known only to the real library: 0 is the answer, and the report
 * says that it is unknown.
 */
#include "config.h"

#include <string.h>

#include "dry/libraries/library.h"

#define SUCCESS 0
#define BAD_PARAM 2000

/* Kinds of descriptors, attributes and types, from cudnn_graph.h */
#define KIND (-1) /* ours: the kind of a descriptor */
#define ENGINE 2
#define ENGINE_CONFIG 3
#define ENGINE_HEURISTICS 4
#define EXECUTION_PLAN 5
#define TYPE_INT64 3
#define TYPE_DESCRIPTOR 15
#define TYPE_INT32 23
#define HEURISTICS_GRAPH 201
#define HEURISTICS_RESULTS 202
#define CONFIG_ENGINE 300
#define CONFIG_WORKSPACE 303
#define CONFIG_SHARED 304
#define PLAN_WORKSPACE 402
#define GRAPH_ENGINES 802
#define PACK_POINTERS 1001 /* the next: intermediates, the workspace */
#define PACK_WORKSPACE 1003
#define ENGINE_GRAPH 1300
#define ENGINE_INDEX 1301

/* Bytes of an element of each type, cudnnBackendAttributeType_t. */
static const guint8 type_sizes[] = {
  8, 4, 1, 8, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 8, 4, 4, 4, 4, 4, 4, 4, 4, 1, 4, 16, 4, 4, 4, 4,
};

/* A type that is newer than the list is an enumeration, as all late ones are. */
static gsize
type_size (int type)
{
  return type >= 0 && type < (int) sizeof type_sizes ? type_sizes[type] : sizeof (int);
}

DRY_FUNCTION (int, cudnnBackendCreateDescriptor, int kind, void **descriptor)
{
  INVALID_VALUE_UNLESS (descriptor != NULL, BAD_PARAM);
  *descriptor = gemem_library_object_new ();
  gemem_library_keep_number (*descriptor, KIND, kind);
  return SUCCESS;
}

DRY_FUNCTION (int, cudnnBackendDestroyDescriptor, void *descriptor)
{
  gemem_library_object_free (descriptor);
  return SUCCESS;
}

/* The program allocated the descriptor. */
DRY_FUNCTION (int, cudnnBackendInitialize, void *descriptor)
{
  INVALID_VALUE_UNLESS (descriptor != NULL, BAD_PARAM);
  return SUCCESS;
}

DRY_FUNCTION (int, cudnnBackendSetAttribute, void *descriptor, int id, int type, int64_t count,
              const void *elements)
{
  INVALID_VALUE_UNLESS (descriptor != NULL && count >= 0 && (count == 0 || elements != NULL),
                        BAD_PARAM);
  gemem_library_keep (descriptor, id, elements, (gsize) count * type_size (type));
  return SUCCESS;
}

/* Makes the program's @config the engine that the heuristics found for their graph. */
static void
fill_config (void *heuristics, void *config)
{
  void *graph = NULL, *engine = gemem_library_object_new ();

  gemem_library_kept (heuristics, HEURISTICS_GRAPH, &graph, sizeof graph);
  gemem_library_keep_number (engine, KIND, ENGINE);
  gemem_library_keep (engine, ENGINE_GRAPH, &graph, sizeof graph);
  gemem_library_keep_number (engine, ENGINE_INDEX, 0);
  gemem_library_keep (config, CONFIG_ENGINE, &engine, sizeof engine);
}

/* What was not set, but has an answer; -1: nothing. */
static gint64
derived (void *descriptor, int id)
{
  const gint64 kind = gemem_library_kept_number (descriptor, KIND, -1);

  if (id == GRAPH_ENGINES)
    return 1;
  if (kind == ENGINE_CONFIG && id == CONFIG_SHARED) /* an engine without kernels */
    return 0;
  if ((kind == EXECUTION_PLAN && id == PLAN_WORKSPACE)
      || (kind == ENGINE_CONFIG && id == CONFIG_WORKSPACE))
    return (gint64) gemem_library_unknown_size ("cudnnBackendGetAttribute (workspace of a plan)",
                                                0);
  return -1;
}

/* The descriptors that belong to a descriptor are copied to ones that the program made. */
static int
get_descriptors (void *descriptor, int id, int64_t wanted, int64_t *count, void **elements)
{
  void *kept[64] = { 0 };
  gsize n = gemem_library_kept (descriptor, id, kept, sizeof kept) / sizeof kept[0];

  if (id == HEURISTICS_RESULTS
      && gemem_library_kept_number (descriptor, KIND, -1) == ENGINE_HEURISTICS)
    {
      n = 1;
      if (wanted > 0 && elements != NULL && elements[0] != NULL)
        fill_config (descriptor, elements[0]);
    }
  else if (elements != NULL)
    {
      for (gsize i = 0; i < MIN (n, G_N_ELEMENTS (kept)) && (int64_t) i < wanted; i++)
        if (elements[i] != NULL)
          gemem_library_copy (elements[i], kept[i]);
        else
          elements[i] = kept[i];
    }
  if (count != NULL)
    *count = (int64_t) n;
  return SUCCESS;
}

DRY_FUNCTION (int, cudnnBackendGetAttribute, void *descriptor, int id, int type, int64_t wanted,
              int64_t *count, void *elements)
{
  INVALID_VALUE_UNLESS (descriptor != NULL, BAD_PARAM);
  const gsize size = type_size (type);
  const gint64 answer = type == TYPE_INT64 || type == TYPE_INT32 ? derived (descriptor, id) : -1;

  if (type == TYPE_DESCRIPTOR)
    return get_descriptors (descriptor, id, wanted, count, elements);
  if (answer >= 0)
    {
      if (elements != NULL && wanted > 0)
        memcpy (elements, &answer, size); /* little-endian */
      if (count != NULL)
        *count = 1;
      return SUCCESS;
    }
  const gsize has = gemem_library_kept (descriptor, id, elements,
                                        wanted > 0 ? (gsize) wanted * size : 0);
  if (count != NULL)
    *count = (int64_t) (has / size);
  return SUCCESS;
}

/* ---- execution: it may write to whatever it gets */

DRY_FUNCTION (int, cudnnBackendExecute, void *handle, void *plan, void *pack)
{
  static GememDryStub calls;

  INVALID_VALUE_UNLESS (pack != NULL, BAD_PARAM);
  gemem_dry_launched ("cudnnBackendExecute", &calls);
  for (int id = PACK_POINTERS; id <= PACK_WORKSPACE; id++)
    {
      const gsize size = gemem_library_kept (pack, id, NULL, 0);
      g_autofree gpointer *pointers = g_malloc0 (MAX (size, sizeof *pointers));
      gemem_library_kept (pack, id, pointers, size);
      for (gsize i = 0; i < size / sizeof *pointers; i++)
        gemem_dry_reached (pointers[i]);
    }
  return SUCCESS;
}

DRY_FUNCTION (int, cudnnPoolingForward, void *handle, void *pooling, const void *alpha,
              void *x_desc, const void *x, const void *beta, void *y_desc, void *y)
{
  static GememDryStub calls;

  gemem_dry_launched ("cudnnPoolingForward", &calls);
  gemem_dry_reached (y);
  return SUCCESS;
}

DRY_FUNCTION (int, cudnnPoolingBackward, void *handle, void *pooling, const void *alpha,
              void *y_desc, const void *y, void *dy_desc, const void *dy, void *x_desc,
              const void *x, const void *beta, void *dx_desc, void *dx)
{
  static GememDryStub calls;

  gemem_dry_launched ("cudnnPoolingBackward", &calls);
  gemem_dry_reached (dx);
  return SUCCESS;
}
