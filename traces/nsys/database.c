/* database.c - see database.h: a file system of SQLite's that has one file, which is the input. */
#include "config.h"

#include "traces/nsys/database.h"

#ifdef HAVE_SQLITE

#include <string.h>

#include "base/error.h"

#define LONGEST_TEXT (1 << 20)
#define STEPS 1000         /* of SQLite's machine, between two looks at how many there were */
#define STEPS_LEAST 1000   /* times STEPS, for a file of any size */
#define BYTES_PER_STEPS 16 /* of the file, for each STEPS more */

struct _GememNsysDatabase
{
  sqlite3_vfs vfs; /* first: SQLite gives it to the functions below */
  char name[32];
  GememInput *input;
  guint64 size;
  sqlite3 *db;
  guint64 steps_left; /* times STEPS */
};

typedef struct
{
  sqlite3_file base;
  GememNsysDatabase *database;
} File;

/* ---- the file */

static int
file_close (G_GNUC_UNUSED sqlite3_file *file)
{
  return SQLITE_OK;
}

static int
file_read (sqlite3_file *file, void *buffer, int n, sqlite3_int64 offset)
{
  GememNsysDatabase *self = ((File *) file)->database;
  const guint8 *bytes = NULL;
  gssize got = 0;

  if ((guint64) offset < self->size
      && (!gemem_input_seek (self->input, (guint64) offset, NULL)
          || (got = gemem_input_fill (self->input, n, &bytes, NULL)) < 0))
    return SQLITE_IOERR_READ;
  got = MIN (got, n);
  memset (buffer, 0, (gsize) n);
  if (got > 0)
    memcpy (buffer, bytes, (gsize) got);
  return got == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int
file_write (G_GNUC_UNUSED sqlite3_file *file, G_GNUC_UNUSED const void *bytes, G_GNUC_UNUSED int n,
            G_GNUC_UNUSED sqlite3_int64 offset)
{
  return SQLITE_READONLY;
}

static int
file_truncate (G_GNUC_UNUSED sqlite3_file *file, G_GNUC_UNUSED sqlite3_int64 size)
{
  return SQLITE_READONLY;
}

static int
file_flag (G_GNUC_UNUSED sqlite3_file *file, G_GNUC_UNUSED int flag)
{
  return SQLITE_OK;
}

static int
file_size (sqlite3_file *file, sqlite3_int64 *size)
{
  *size = (sqlite3_int64) ((File *) file)->database->size;
  return SQLITE_OK;
}

static int
file_is_locked (G_GNUC_UNUSED sqlite3_file *file, int *locked)
{
  *locked = 0;
  return SQLITE_OK;
}

static int
file_control (G_GNUC_UNUSED sqlite3_file *file, G_GNUC_UNUSED int what, G_GNUC_UNUSED void *data)
{
  return SQLITE_NOTFOUND;
}

static int
file_sector (G_GNUC_UNUSED sqlite3_file *file)
{
  return 4096;
}

static int
file_traits (G_GNUC_UNUSED sqlite3_file *file)
{
  return SQLITE_IOCAP_IMMUTABLE;
}

/* ---- the file system */

static int
vfs_open (sqlite3_vfs *vfs, G_GNUC_UNUSED const char *name, sqlite3_file *file, int flags, int *out)
{
  static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_flag,
    .xFileSize = file_size,
    .xLock = file_flag,
    .xUnlock = file_flag,
    .xCheckReservedLock = file_is_locked,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
  };

  file->pMethods = NULL;
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
    return SQLITE_CANTOPEN;
  ((File *) file)->database = (GememNsysDatabase *) vfs;
  file->pMethods = &methods;
  if (out != NULL)
    *out = flags;
  return SQLITE_OK;
}

static int
vfs_delete (G_GNUC_UNUSED sqlite3_vfs *vfs, G_GNUC_UNUSED const char *name, G_GNUC_UNUSED int sync)
{
  return SQLITE_IOERR_DELETE;
}

/* There are no other files: no journal. */
static int
vfs_access (G_GNUC_UNUSED sqlite3_vfs *vfs, G_GNUC_UNUSED const char *name, G_GNUC_UNUSED int flags,
            int *result)
{
  *result = 0;
  return SQLITE_OK;
}

static int
vfs_path (G_GNUC_UNUSED sqlite3_vfs *vfs, const char *name, int n, char *path)
{
  g_strlcpy (path, name, (gsize) n);
  return SQLITE_OK;
}

static int
vfs_random (G_GNUC_UNUSED sqlite3_vfs *vfs, int n, char *bytes)
{
  memset (bytes, 0, (gsize) n);
  return n;
}

static int
vfs_sleep (G_GNUC_UNUSED sqlite3_vfs *vfs, G_GNUC_UNUSED int us)
{
  return 0;
}

static int
vfs_time (G_GNUC_UNUSED sqlite3_vfs *vfs, double *day)
{
  *day = 0;
  return SQLITE_OK;
}

static int
vfs_error (G_GNUC_UNUSED sqlite3_vfs *vfs, G_GNUC_UNUSED int n, G_GNUC_UNUSED char *text)
{
  return 0;
}

static void
vfs_init (GememNsysDatabase *self)
{
  g_snprintf (self->name, sizeof self->name, "gemem-%p", (gpointer) self);
  self->vfs = (sqlite3_vfs){
    .iVersion = 1,
    .szOsFile = sizeof (File),
    .mxPathname = 64,
    .zName = self->name,
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_path,
    .xRandomness = vfs_random,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_time,
    .xGetLastError = vfs_error,
  };
}

/* ---- databases */

static gboolean
fail (GememNsysDatabase *self, GError **error)
{
  g_autofree char *why = g_strescape (self->db != NULL ? sqlite3_errmsg (self->db) : "no memory",
                                      "\"\\");

  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: SQLite: %s; the database is damaged or not whole, export it again",
               gemem_input_name (self->input), why);
  return FALSE;
}

/* Stops what does not come to an end. */
static int
progress (gpointer data)
{
  GememNsysDatabase *self = data;

  if (self->steps_left > 0)
    self->steps_left--;
  return self->steps_left == 0;
}

static gboolean
open_database (GememNsysDatabase *self, GError **error)
{
  if (sqlite3_vfs_register (&self->vfs, 0) != SQLITE_OK
      || sqlite3_open_v2 ("input", &self->db, SQLITE_OPEN_READONLY, self->name) != SQLITE_OK)
    return fail (self, error);
#ifdef SQLITE_DBCONFIG_DEFENSIVE
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#endif
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
  sqlite3_db_config (self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
#endif
  sqlite3_limit (self->db, SQLITE_LIMIT_LENGTH, LONGEST_TEXT);
  self->steps_left = STEPS_LEAST + self->size / BYTES_PER_STEPS;
  sqlite3_progress_handler (self->db, STEPS, progress, self);
  return sqlite3_exec (self->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) == SQLITE_OK
         || fail (self, error);
}

GememNsysDatabase *
gemem_nsys_database_open (GememInput *input, GError **error)
{
  GememNsysDatabase *self = g_new0 (GememNsysDatabase, 1);

  self->input = input;
  vfs_init (self);
  if (gemem_input_size (input, &self->size) && open_database (self, error))
    return self;
  if (error != NULL && *error == NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: a packed SQLite database; unpack it, and name the file",
                 gemem_input_name (input));
  gemem_nsys_database_close (self);
  return NULL;
}

void
gemem_nsys_database_close (GememNsysDatabase *self)
{
  sqlite3_close (self->db);
  sqlite3_vfs_unregister (&self->vfs);
  g_free (self);
}

/* ---- queries */

/* TRUE if @query, which takes @a and @b, has a row. */
static gboolean
any (GememNsysDatabase *self, const char *query, const char *a, const char *b)
{
  sqlite3_stmt *rows = NULL;
  const gboolean found = sqlite3_prepare_v2 (self->db, query, -1, &rows, NULL) == SQLITE_OK
                         && sqlite3_bind_text (rows, 1, a, -1, SQLITE_STATIC) == SQLITE_OK
                         && (b == NULL
                             || sqlite3_bind_text (rows, 2, b, -1, SQLITE_STATIC) == SQLITE_OK)
                         && sqlite3_step (rows) == SQLITE_ROW;

  sqlite3_finalize (rows);
  return found;
}

gboolean
gemem_nsys_database_has_table (GememNsysDatabase *self, const char *table)
{
  return any (self,
              "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? "
              "AND sql LIKE 'CREATE TABLE%'",
              table, NULL);
}

gboolean
gemem_nsys_database_has_column (GememNsysDatabase *self, const char *table, const char *column)
{
  return any (self, "SELECT 1 FROM pragma_table_info (?) WHERE name = ?", table, column);
}

sqlite3_stmt *
gemem_nsys_database_query (GememNsysDatabase *self, const char *query, GError **error)
{
  sqlite3_stmt *rows = NULL;

  if (sqlite3_prepare_v2 (self->db, query, -1, &rows, NULL) != SQLITE_OK)
    fail (self, error);
  return rows;
}

int
gemem_nsys_database_step (GememNsysDatabase *self, sqlite3_stmt *rows, GError **error)
{
  const int result = sqlite3_step (rows);

  if (result == SQLITE_ROW)
    return 1;
  return result == SQLITE_DONE ? 0 : fail (self, error) - 1;
}

#endif
