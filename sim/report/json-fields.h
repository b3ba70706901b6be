/* json-fields.h - the JSON form of a result: one table per struct, which json.c writes from and
 * json-read.c reads by.
 *
 * One table for both directions, so that a field cannot be written and not read.  Numbers are
 * exact: `null` stands for G_MAXUINT64 (unlimited, none, not sampled), a number above 2^63 - 1 is a
 * string of its digits; addresses and streams are "0x..." strings, because common tools round
 * integers above 2^53.
 */
#pragma once

#include "sim/engine/result.h"

#define GEMEM_JSON_SCHEMA "gemem-result"
#define GEMEM_JSON_VERSION 2

typedef enum
{
  GEMEM_FIELD_NUMBER, /* guint64 */
  GEMEM_FIELD_HEX,    /* guint64 as "0x..." */
  GEMEM_FIELD_INDEX,  /* guint32 */
  GEMEM_FIELD_BOOL,   /* gboolean */
  GEMEM_FIELD_STATE,  /* GememSpanState by name */
  GEMEM_FIELD_CAUSE,  /* GememIdleCause by name */
  GEMEM_FIELD_WHY,    /* the same, or null: GEMEM_IDLE_CAUSES */
  /* GememOrigin: {"event", "initial", "by"}, or null if it is unknown */
  GEMEM_FIELD_ORIGIN
} GememJsonType;

typedef struct
{
  const char *name;
  GememJsonType type;
  gsize offset;
  gboolean added; /* after version 1 was published: files without it are read, it is 0 then */
} GememJsonField;

/* A struct or an array of structs: "name": {...}, "name": [{...}, ...] or "name": {"columns":
 * [...], "rows": [[...], ...]}. */
typedef struct
{
  const char *name;
  const GememJsonField *fields; /* ends with a NULL name */
  gsize offset;                 /* of the GArray in GememResult */
  gsize size;                   /* of an element */
  gboolean rows;
  gboolean added; /* as above: empty then */
} GememJsonArray;

typedef struct
{
  const char *name;
  gsize offset;   /* of the GememHistogram, GPtrArray of GememSetting, or char * in GememResult */
  gboolean added; /* as above: NULL or empty then; texts and settings only */
} GememJsonMember;

extern const GememJsonMember gemem_json_texts[];      /* trace, label, ... */
extern const GememJsonMember gemem_json_settings[];   /* parameters, stats, ... */
extern const GememJsonMember gemem_json_histograms[]; /* latencies */
extern const GememJsonField gemem_json_values[];      /* numbers of GememResult */
extern const GememJsonField gemem_json_fidelity[];    /* of GememFidelity */
extern const GememJsonArray gemem_json_arrays[];
/* Only in results of programs that share a device, with "share_order" and "programs", an array of
 * results. */
extern const GememJsonArray gemem_json_shares;
extern const char *const gemem_json_orders[]; /* GememResult.share_order; NULL at the end */
extern const char *const gemem_json_states[]; /* GememSpanState; NULL at the end */
extern const char *const gemem_json_causes[]; /* GememIdleCause; the same */
