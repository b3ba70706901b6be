/* export.c - exports of NVIDIA Nsight Systems (nsys export --type=sqlite): format `nsys`.
 *
 * The table CUDA_GPU_MEMORY_USAGE_EVENTS, which nsys profile --cuda-memory-usage=true fills, has a row for each time
 * that CUDA allocated or freed memory.  Requests to a framework's cache are not in it, only the segments
 * that the cache took.
 *
 * Events delivered, by time: ALLOC and FREE with address; of memory pools (cudaMallocAsync) with stream and pool, the
 * free with its own stream (has-order).  Where there are pools, also the order of streams: what the host
 * and streams waited for (tables CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, _CUDA_EVENT), and the work of the
 * device, from the call that launched it (_RUNTIME, by correlationId) to its end (_KERNEL, _MEMCPY,
 * _MEMSET, _GRAPH_TRACE).  A note says what of that the file lacks.
 * Pageable and pinned memory is the host's: it is delivered where it was chosen, or is all there is.
 * Memory that is not plain device memory is tagged with its kind, or its name.  Processes do not
 * share addresses; their memory is that of one device.  Columns that a version of nsys lacks are unknown.
 *
 * Memory: live blocks; while SQLite sorts the rows, these.
 * Origin: the schema that NVIDIA documents (peers.md 2.5); no file of nsys itself was seen.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "traces/nsys/database.h"
#include "traces/trace.h"

extern const GememTraceFormat gemem_format_nsys;

#ifdef HAVE_SQLITE

#define BATCH 1024u
#define MEMORY "CUDA_GPU_MEMORY_USAGE_EVENTS"
#define GPUS "TARGET_INFO_GPU"
#define WAITS "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define MARKS "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
#define HOST_STREAM \
  (G_GUINT64_CONSTANT (1) << 40) /* it waits for events in the place of the host */
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define MAX_ADDRESS_BITS 56 /* the number of the process is above */
#define MAX_PROCESSES 256u
#define MAX_POOLS 65536u
#define LONGEST_NAME 1000u

typedef enum
{
  KIND_PAGEABLE,
  KIND_PINNED,
  KIND_DEVICE,
  KIND_ARRAY,
  KIND_MANAGED,
  KIND_DEVICE_STATIC,
  KIND_MANAGED_STATIC,
  KINDS
} Kind;

/* Tags; "": plain memory. */
static const char *const kinds[KINDS] = { "pageable",       "", "", "array", "managed", "static",
                                          "managed, static" };

/* Columns of a row, in the order of the query; those that may be missing come last. */
enum
{
  START,
  ADDRESS,
  BYTES,
  KIND,
  OPERATION, /* 0: allocation, 1: deallocation */
  PROCESS,
  DEVICE,
  STREAM,
  POOL,
  POOL_SIZE,
  NAME,
  COLUMNS
};

#define WAIT COLUMNS /* the column behind them: a Row */

/* What a row tells: 1 to 4 are CUPTI's numbers of waits. */
typedef enum
{
  ROW_MEMORY = 0,
  ROW_WAIT_EVENT = 1,   /* the host, at its end; ADDRESS has the event */
  ROW_STREAM_WAITS = 2, /* a stream, for an event */
  ROW_WAIT_STREAM = 3,
  ROW_WAIT_CONTEXT = 4,
  ROW_MARK, /* an event is recorded */
  ROW_WORK, /* ADDRESS has its number */
  ROW_WORK_DONE,
} Row;

/* What the device does, with what distinguishes the numbers of its work. */
static const char *const works[] = { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                     "CUPTI_ACTIVITY_KIND_MEMSET",
                                     "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" };

static const char *const columns[COLUMNS] = { "start",
                                              "address",
                                              "bytes",
                                              "memKind",
                                              "memoryOperationType",
                                              "globalPid",
                                              "deviceId",
                                              "streamId",
                                              "localMemoryPoolAddress",
                                              "localMemoryPoolSize",
                                              "name" };

typedef struct
{
  guint64 id, stream;
  guint16 device;
  gboolean pooled;
} Block;

typedef struct
{
  GememTraceReader reader;
  GememInput *input;
  GememReadOptions options;
  GememNsysDatabase *database;
  sqlite3_stmt *rows;
  gboolean host, begun, ended; /* host: its memory is delivered, and no other */
  gboolean ordered;            /* there are pools, and rows of them tell their stream */
  gint64 origin;
  guint64 row, last_id;
  guint64 unknown, unseen, odd;     /* counts for the notes */
  guint64 pool_size;                /* the largest */
  GememIdMap *live;                 /* process and address -> Block */
  GHashTable *processes;            /* globalPid -> number + 1 */
  GememIdMap *pools;                /* process and address of a pool -> number */
  GememIdMap *marks;                /* events that were recorded */
  GememTraceEvent batch[BATCH + 1]; /* a row makes two events at most */
} Nsys;

static gboolean G_GNUC_PRINTF (3, 4)
    fail (const Nsys *self, GError **error, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: " MEMORY ", row %" G_GUINT64_FORMAT
               " by time: %s; the export is damaged, export it again",
               gemem_input_name (self->input), self->row, what);
  return FALSE;
}

/* ---- rows */

/* A number below @limit. */
static gboolean
get (const Nsys *self, int column, guint64 limit, guint64 *number, GError **error)
{
  const gint64 value = sqlite3_column_int64 (self->rows, column);

  if (sqlite3_column_type (self->rows, column) != SQLITE_INTEGER)
    return fail (self, error, "%s is no whole number", columns[column]);
  if (value < 0 || (guint64) value >= limit)
    return fail (self, error, "%s is %" G_GINT64_FORMAT ", which cannot be", columns[column],
                 value);
  *number = (guint64) value;
  return TRUE;
}

/* As get(); 0 where it is not told. */
static gboolean
get_any (const Nsys *self, int column, guint64 limit, guint64 *number, GError **error)
{
  *number = 0;
  return sqlite3_column_type (self->rows, column) == SQLITE_NULL
         || get (self, column, limit, number, error);
}

/* @address, of the process of the row. */
static gboolean
get_place (Nsys *self, guint64 address, guint64 *place, GError **error)
{
  const gint64 process = sqlite3_column_int64 (self->rows, PROCESS);
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->processes, &process));

  if (number == 0)
    {
      number = g_hash_table_size (self->processes) + 1;
      if (number > MAX_PROCESSES)
        return fail (self, error, "more than %u processes", MAX_PROCESSES);
      g_hash_table_insert (self->processes, g_memdup2 (&process, sizeof process),
                           GUINT_TO_POINTER (number));
    }
  *place = address | (guint64) (number - 1) << MAX_ADDRESS_BITS;
  return TRUE;
}

/* The pool of the row: numbered by first occurrence, 0: none. */
static gboolean
get_pool (Nsys *self, guint32 *pool, GError **error)
{
  guint64 address, place, size;
  gboolean existed;

  *pool = 0;
  if (!get_any (self, POOL, G_GUINT64_CONSTANT (1) << MAX_ADDRESS_BITS, &address, error)
      || !get_any (self, POOL_SIZE, MAX_SIZE, &size, error))
    return FALSE;
  self->pool_size = MAX (self->pool_size, size);
  if (address == 0)
    return TRUE;
  if (!get_place (self, address, &place, error))
    return FALSE;
  const guint64 before = gemem_idmap_count (self->pools);
  guint64 *number = gemem_idmap_insert (self->pools, place, &existed);
  if (!existed)
    *number = MIN (before + 1, MAX_POOLS);
  *pool = (guint32) *number;
  return TRUE;
}

static guint32
tag_of (Nsys *self, Kind kind)
{
  const char *name = sqlite3_column_type (self->rows, NAME) == SQLITE_TEXT
                         ? (const char *) sqlite3_column_text (self->rows, NAME)
                         : NULL;
  g_autofree char *valid = g_utf8_make_valid (name != NULL && *name != '\0' ? name : kinds[kind],
                                              -1);

  return gemem_trace_info_intern (&self->reader.info, valid);
}

static GememTraceEvent *
add (GememTraceEvent **next, GememEventKind kind, guint64 time, const Block *block)
{
  GememTraceEvent *event = (*next)++;

  memset (event, 0, sizeof *event);
  event->kind = (guint8) kind;
  event->time = time;
  event->id = block->id;
  event->device = block->device;
  event->stream = block->stream;
  return event;
}

static gboolean
allocate (Nsys *self, Kind kind, guint64 place, guint64 time, GememTraceEvent **next,
          GError **error)
{
  guint64 size, device = 0, stream;
  guint32 pool;
  gboolean existed;

  if (!get (self, BYTES, MAX_SIZE, &size, error)
      || !get_any (self, STREAM, G_MAXINT64, &stream, error) || !get_pool (self, &pool, error)
      || (!self->host && !get_any (self, DEVICE, GEMEM_DEVICE_HOST, &device, error)))
    return FALSE;
  Block *block = gemem_idmap_insert (self->live, place, &existed);
  if (existed)
    {
      add (next, GEMEM_EVENT_FREE, time, block);
      self->unseen++;
    }
  block->id = ++self->last_id;
  block->stream = pool != 0 ? stream : 0;
  block->pooled = pool != 0;
  block->device = self->host ? GEMEM_DEVICE_HOST : (guint16) device;
  GememTraceEvent *event = add (next, GEMEM_EVENT_ALLOC, time, block);
  event->size = size;
  event->address = place & ((G_GUINT64_CONSTANT (1) << MAX_ADDRESS_BITS) - 1);
  event->pool = pool;
  event->tag = tag_of (self, kind);
  return TRUE;
}

/* The end of @block.  Of a pool it takes its place in the order of a stream. */
static gboolean
deallocate (Nsys *self, Block *block, guint64 time, GememTraceEvent **next, GError **error)
{
  guint64 stream;

  if (block->pooled && sqlite3_column_type (self->rows, STREAM) != SQLITE_NULL)
    {
      if (!get (self, STREAM, G_MAXINT64, &stream, error))
        return FALSE;
      block->stream = stream;
    }
  if (!self->ordered)
    block->stream = 0;
  add (next, GEMEM_EVENT_FREE, time, block);
  return TRUE;
}

/* Waits, marks and work. */
static gboolean
convert_order (Nsys *self, Row row, guint64 time, GememTraceEvent **next, GError **error)
{
  static const GememEventKind events[] = {
    [ROW_WAIT_EVENT] = GEMEM_EVENT_EVENT_WAIT,   [ROW_STREAM_WAITS] = GEMEM_EVENT_EVENT_WAIT,
    [ROW_WAIT_STREAM] = GEMEM_EVENT_STREAM_SYNC, [ROW_WAIT_CONTEXT] = GEMEM_EVENT_DEVICE_SYNC,
    [ROW_MARK] = GEMEM_EVENT_EVENT_RECORD,       [ROW_WORK] = GEMEM_EVENT_WORK,
    [ROW_WORK_DONE] = GEMEM_EVENT_WORK_DONE,
  };
  const gboolean waits = row == ROW_WAIT_EVENT || row == ROW_STREAM_WAITS;
  guint64 device, stream, id;

  if (!get_any (self, DEVICE, GEMEM_DEVICE_HOST, &device, error)
      || !get_any (self, STREAM, HOST_STREAM, &stream, error)
      || !get_any (self, ADDRESS, G_MAXINT64, &id, error))
    return FALSE;
  if (row == ROW_MARK)
    gemem_idmap_insert (self->marks, id, NULL);
  if (waits && gemem_idmap_lookup (self->marks, id) == NULL)
    return TRUE; /* it was recorded before, or never */
  if (row == ROW_WAIT_EVENT)
    stream = HOST_STREAM;
  if (row == ROW_WAIT_CONTEXT || row == ROW_WORK_DONE)
    stream = 0;
  Block place = { .id = id, .stream = stream, .device = (guint16) device };
  add (next, events[row], time, &place);
  place.id = 0;
  if (row == ROW_WAIT_EVENT)
    add (next, GEMEM_EVENT_STREAM_SYNC, time, &place);
  return TRUE;
}

/* Appends the events of the row at *@next. */
static gboolean
convert (Nsys *self, GememTraceEvent **next, GError **error)
{
  guint64 address, kind, operation, place;
  Block block;

  if (sqlite3_column_type (self->rows, START) != SQLITE_INTEGER)
    return fail (self, error, "start is no whole number");
  const gint64 start = sqlite3_column_int64 (self->rows, START);
  self->origin = self->begun ? self->origin : start;
  self->begun = TRUE;
  const gint64 row = sqlite3_column_int64 (self->rows, WAIT);
  if (row > ROW_MEMORY && row <= ROW_WORK_DONE)
    return convert_order (self, (Row) row, (guint64) start - (guint64) self->origin, next, error);
  if (!get (self, ADDRESS, G_GUINT64_CONSTANT (1) << MAX_ADDRESS_BITS, &address, error)
      || !get (self, KIND, G_MAXINT64, &kind, error)
      || !get (self, OPERATION, G_MAXINT64, &operation, error)
      || !get_place (self, address, &place, error))
    return FALSE;
  if (kind >= KINDS || operation > 1)
    self->odd++;
  if (kind >= KINDS || operation > 1 || self->host != (kind <= KIND_PINNED))
    {
      self->reader.info.skipped++;
      return TRUE;
    }
  const guint64 time = (guint64) start - (guint64) self->origin;
  if (operation == 0)
    return allocate (self, (Kind) kind, place, time, next, error);
  if (gemem_idmap_remove (self->live, place, &block))
    return deallocate (self, &block, time, next, error);
  self->unknown++;
  return TRUE;
}

static void
note (Nsys *self, guint64 count, const char *what)
{
  if (count > 0)
    gemem_trace_info_note (&self->reader.info, "note", "%" G_GUINT64_FORMAT " %s", count, what);
}

static void
finish (Nsys *self)
{
  self->ended = TRUE;
  if (self->unknown > 0)
    self->reader.info.flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  note (self, self->unknown, "frees of memory that was not seen to be allocated are left out");
  note (self, self->unseen,
        "blocks were still live when their address was allocated again, and end there");
  note (self, self->odd, "events of a kind that is not known are left out");
  if (g_hash_table_size (self->processes) > 1)
    note (self, g_hash_table_size (self->processes),
          "processes, whose memory of a device is counted together");
  if (self->pool_size > 0)
    gemem_trace_info_note (&self->reader.info, "note",
                           "a memory pool held %" G_GUINT64_FORMAT
                           " bytes at most (localMemoryPoolSize)",
                           self->pool_size);
}

/* Fills the batch with the events of the next rows; FALSE with @error, of which nothing was delivered. */
static gboolean
fill (Nsys *self, GememTraceEvent **next, GError **error)
{
  g_autoptr (GError) damage = NULL;
  int row = 1;

  while (*next < self->batch + BATCH
         && (row = gemem_nsys_database_step (self->database, self->rows, &damage)) > 0)
    {
      self->row++;
      if (!convert (self, next, &damage))
        break;
    }
  if (damage != NULL && (!self->options.allow_partial || self->last_id == 0))
    {
      g_propagate_error (error, g_steal_pointer (&damage));
      return FALSE;
    }
  if (damage != NULL)
    {
      self->reader.info.flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (&self->reader.info, "partial", "%s", damage->message);
    }
  if (damage != NULL || row == 0)
    finish (self);
  return TRUE;
}

static gssize
nsys_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Nsys *self = (Nsys *) reader;
  gssize n = 0;

  *events = self->batch;
  while (n == 0 && !self->ended)
    {
      GememTraceEvent *next = self->batch;

      if (!fill (self, &next, error))
        return -1;
      n = gemem_trace_filter_device (self->batch, next - self->batch, self->options.device);
    }
  return n;
}

/* ---- opening */

/* Says what the database is instead. */
static gboolean
refuse (const Nsys *self, GError **error)
{
  static const char *const known[] = { "META_DATA_EXPORT", "StringIds", "TARGET_INFO_SYSTEM_ENV",
                                       GPUS };
  gboolean nsys = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    nsys = nsys || gemem_nsys_database_has_table (self->database, known[i]);
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", gemem_input_name (self->input),
      nsys ? "an export of nsys without " MEMORY
             "; record with nsys profile --cuda-memory-usage=true, or with gemem-record"
           : "an SQLite database that nsys did not write; what gemem-sim sweep wrote is for "
             "query, compare and plot, else name a recorded trace");
  return FALSE;
}

/* FALSE of a view too: what it computes is no export's, and may be of any size. */
static gboolean
has_columns (const Nsys *self, const char *table, const char *const *names)
{
  if (!gemem_nsys_database_has_table (self->database, table))
    return FALSE;
  for (; *names != NULL; names++)
    if (!gemem_nsys_database_has_column (self->database, table, *names))
      return FALSE;
  return TRUE;
}

/* Adds @column to @query; what is no whole number is a short text.  In a damaged file all rows may have one long text,
 * and SQLite keeps each of them. */
static void
append_number (GString *query, const char *column)
{
  g_string_append_printf (query,
                          "CASE typeof (%s) WHEN 'integer' THEN %s WHEN 'null' THEN NULL ELSE '' "
                          "END",
                          column, column);
}

/* Adds rows of another table to @query: @start, @id (for ADDRESS) and @row are expressions, @from is what
 * follows FROM. */
static void
append_rows (GString *query, const char *start, const char *id, const char *row, const char *from)
{
  g_string_append_printf (query, " UNION ALL SELECT %s", start);
  for (guint i = 1; i < COLUMNS; i++)
    {
      g_string_append (query, ", ");
      if (i == DEVICE || i == STREAM)
        append_number (query, i == DEVICE ? "t.deviceId" : "t.streamId");
      else
        g_string_append (query, i == ADDRESS ? id : "NULL");
    }
  g_string_append_printf (query, ", %s, t.rowid FROM %s", row, from);
}

/* When each call began, by its number and process: "c", for LEFT JOIN. */
#define WITH_CALLS \
  " t LEFT JOIN (SELECT correlationId, globalTid >> 24 AS process, min (start) AS start " \
  "FROM " CALLS \
  " WHERE typeof (correlationId) = 'integer' AND typeof (start) = 'integer' GROUP BY 1, 2) c ON " \
  "c.correlationId = t.correlationId AND c.process = t.globalPid >> 24"

#define OF_EVENT "ifnull (t.contextId, 0) * 4294967296 + t.eventId"

/* Adds the order of streams to @query, as far as this export has it; notes what it lacks. */
static void
append_order (Nsys *self, GString *query)
{
  static const char *const of_calls[] = { "start", "correlationId", "globalTid", NULL };
  static const char *const of_waits[] = {
    "start", "end", "syncType", "streamId", "deviceId", NULL
  };
  static const char *const of_marks[] = { "eventId",       "contextId", "streamId", "deviceId",
                                          "correlationId", "globalPid", NULL };
  static const char *const of_work[] = { "start",         "end",       "streamId", "deviceId",
                                         "correlationId", "globalPid", NULL };
  static const char *const of_events[] = { "eventId", "contextId", NULL };
  const gboolean calls = has_columns (self, CALLS, of_calls);
  const gboolean waits = has_columns (self, WAITS, of_waits);
  const gboolean marks = calls && waits && has_columns (self, WAITS, of_events)
                         && has_columns (self, MARKS, of_marks);
  gboolean work = FALSE;

  if (waits)
    append_rows (query, "t.end", "NULL", "t.syncType",
                 WAITS " t WHERE typeof (t.end) = 'integer' AND t.syncType IN (3, 4)");
  if (marks)
    {
      append_rows (query, "t.end", OF_EVENT, "1",
                   WAITS " t WHERE typeof (t.end) = 'integer' AND t.syncType = 1");
      append_rows (query, "t.start", OF_EVENT, "2",
                   WAITS " t WHERE typeof (t.start) = 'integer' AND t.syncType = 2");
      g_autofree char *row = g_strdup_printf ("%d", ROW_MARK);
      append_rows (query, "c.start", OF_EVENT, row,
                   MARKS WITH_CALLS " WHERE typeof (c.start) = 'integer'");
    }
  for (guint i = 0; calls && i < G_N_ELEMENTS (works); i++)
    if (has_columns (self, works[i], of_work))
      {
        g_autofree char *id = g_strdup_printf ("t.rowid * 4 + %u", i);
        g_autofree char *from = g_strdup_printf ("%s" WITH_CALLS
                                                 " WHERE typeof (t.start) = 'integer' AND "
                                                 "typeof (t.end) = 'integer'",
                                                 works[i]);
        g_autofree char *done = g_strdup_printf (
            "%s t WHERE typeof (t.start) = 'integer' AND typeof (t.end) = 'integer'", works[i]);
        g_autofree char *row = g_strdup_printf ("%d", ROW_WORK);
        g_autofree char *row_done = g_strdup_printf ("%d", ROW_WORK_DONE);

        append_rows (query, "min (t.start, t.end, ifnull (c.start, t.start))", id, row, from);
        append_rows (query, "t.end", id, row_done, done);
        work = TRUE;
      }
  if (!work)
    gemem_trace_info_note (
        &self->reader.info, "note",
        "the work of the device is not in the export (record with -t cuda): every "
        "stream counts as done at once");
  if (!marks)
    gemem_trace_info_note (
        &self->reader.info, "note",
        "events of streams are not in the export: which stream waits for which is "
        "not known");
}

/* The query for all rows, with NULL for columns that this version of nsys lacks; NULL with @error. */
static char *
make_query (Nsys *self, GError **error)
{
  g_autoptr (GString) query = g_string_new ("SELECT");

  for (guint i = 0; i < COLUMNS; i++)
    {
      const gboolean has = gemem_nsys_database_has_column (self->database, MEMORY, columns[i]);

      if (!has && i <= OPERATION)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: " MEMORY " has no column %s, so this version of nsys is not known; "
                       "record with gemem-record",
                       gemem_input_name (self->input), columns[i]);
          return NULL;
        }
      g_string_append (query, i > 0 ? ", " : " ");
      if (!has)
        g_string_append (query, "NULL");
      else if (i == NAME)
        g_string_append_printf (query, "substr (%s, 1, %u)", columns[i], LONGEST_NAME);
      else
        append_number (query, columns[i]);
    }
  g_string_append (query, ", 0, rowid FROM " MEMORY);
  if (self->ordered)
    append_order (self, query);
  g_string_append_printf (query, " ORDER BY 1, %u", WAIT + 2);
  return g_string_free (g_steal_pointer (&query), FALSE);
}

/* The first column of the only row of @query; FALSE: none, several, or another type. */
static gboolean
only_number (const Nsys *self, const char *query, gint64 *number)
{
  sqlite3_stmt *rows = gemem_nsys_database_query (self->database, query, NULL);
  const gboolean found = rows != NULL && gemem_nsys_database_step (self->database, rows, NULL) == 1
                         && sqlite3_column_type (rows, 0) == SQLITE_INTEGER;

  *number = found ? sqlite3_column_int64 (rows, 0) : 0;
  const gboolean only = found && gemem_nsys_database_step (self->database, rows, NULL) == 0;
  sqlite3_finalize (rows);
  return only;
}

/* How large the GPUs are, if they are all alike. */
static void
take_device (Nsys *self)
{
  gint64 bytes;

  if (gemem_nsys_database_has_table (self->database, GPUS)
      && only_number (self, "SELECT DISTINCT totalMemory FROM " GPUS, &bytes) && bytes > 0)
    self->reader.info.device = g_strdup_printf ("capacity=%" G_GINT64_FORMAT, bytes);
}

/* Which memory is delivered. */
static gboolean
choose (Nsys *self)
{
  gint64 any;

  if (self->options.device >= 0)
    return self->options.device == GEMEM_DEVICE_HOST;
  return !only_number (self, "SELECT 1 FROM " MEMORY " WHERE memKind > 1 LIMIT 1", &any);
}

/* Who took the memory: the driver's pools, if any of it is of a pool; else each allocation is a call. */
static void
take_allocator (Nsys *self)
{
  gint64 any;
  const gboolean pools = gemem_nsys_database_has_column (self->database, MEMORY, columns[POOL])
                         && only_number (self,
                                         "SELECT 1 FROM " MEMORY
                                         " WHERE localMemoryPoolAddress != 0 LIMIT 1",
                                         &any);

  self->reader.info.allocator = g_strdup (pools ? "cuda-async" : "direct");
  self->ordered = pools && gemem_nsys_database_has_column (self->database, MEMORY, columns[STREAM]);
  if (self->ordered)
    self->reader.info.flags |= GEMEM_TRACE_HAS_ORDER;
}

static gboolean
open_rows (Nsys *self, GError **error)
{
  GememTraceInfo *info = &self->reader.info;

  self->database = gemem_nsys_database_open (self->input, error);
  if (self->database == NULL)
    return FALSE;
  g_autoptr (GError) damage = NULL;
  sqlite3_stmt *first = gemem_nsys_database_query (self->database, "SELECT 1 FROM sqlite_master",
                                                   &damage);
  sqlite3_finalize (first);
  if (damage != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&damage));
      return FALSE;
    }
  if (!gemem_nsys_database_has_table (self->database, MEMORY))
    return refuse (self, error);
  self->host = choose (self);
  take_device (self);
  if (!self->host)
    take_allocator (self);
  g_autofree char *query = make_query (self, error);
  if (query == NULL)
    return FALSE;
  info->flags |= GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES;
  gemem_trace_info_note (
      info, "note",
      "calls of CUDA: of PyTorch and others with a cache these are its segments, "
      "not the requests");
  self->rows = gemem_nsys_database_query (self->database, query, error);
  return self->rows != NULL;
}

static void
nsys_close (GememTraceReader *reader)
{
  Nsys *self = (Nsys *) reader;

  sqlite3_finalize (self->rows);
  if (self->database != NULL)
    gemem_nsys_database_close (self->database);
  gemem_idmap_free (self->live);
  gemem_idmap_free (self->pools);
  gemem_idmap_free (self->marks);
  g_hash_table_unref (self->processes);
  gemem_trace_info_clear (&reader->info);
  gemem_input_close (self->input);
  g_free (self);
}

static GememTraceReader *
nsys_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Nsys *self = g_new0 (Nsys, 1);

  self->reader.format = &gemem_format_nsys;
  self->reader.next = nsys_next;
  self->reader.close = nsys_close;
  self->input = input;
  self->options = *options;
  self->live = gemem_idmap_new (sizeof (Block));
  self->pools = gemem_idmap_new (sizeof (guint64));
  self->marks = gemem_idmap_new (0);
  self->processes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  gemem_trace_info_init (&self->reader.info, "nsys", gemem_input_name (input));
  if (open_rows (self, error))
    return &self->reader;
  nsys_close (&self->reader);
  return NULL;
}

#else

static GememTraceReader *
nsys_open (GememInput *input, G_GNUC_UNUSED const GememReadOptions *options, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: an SQLite database (as nsys export writes), and this gemem-sim was built "
               "without SQLite; record with gemem-record, or build it with libsqlite3",
               gemem_input_name (input));
  gemem_input_close (input);
  return NULL;
}

#endif

static int
probe (const guint8 *head, gsize size)
{
  static const char magic[] = "SQLite format 3";

  return size >= sizeof magic && memcmp (head, magic, sizeof magic) == 0 ? 90 : 0;
}

const GememTraceFormat gemem_format_nsys = {
  .name = "nsys",
  .aliases = "nsight-systems|nsys-sqlite",
  .extensions = "sqlite|sqlite3|db",
  .summary = "export of Nsight Systems (nsys export --type=sqlite) with CUDA's memory events",
  .origin = "peers.md 2.5",
  .probe = probe,
  .open = nsys_open,
};
