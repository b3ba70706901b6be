/* launcher.h - what gemem-record and gemem-dry-run share: they start a program with libraries before
 * its own, and make traces of the journals that it leaves.
 *
 * Invariants: a failed recording never stops the program; standard streams and signals of the
 * program are unchanged; a trace is written completely or not at all.  Messages go to stderr, each
 * with the name of the launcher before it.  Only the two programs link this; nothing here is for
 * several threads.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

#include "base/io/folder.h"
#include "traces/trace.h"

#define GEMEM_LAUNCHER_RECORDER "libgemem-record.so"
#define GEMEM_LAUNCHER_FRAMES 32      /* of --stacks without =DEPTH */
#define GEMEM_LAUNCHER_CANNOT_RUN 126 /* exit status: the program cannot be run */
#define GEMEM_LAUNCHER_NOT_FOUND 127  /* there is no such program */

/* First of all: sets the name before messages ("gemem-record"), and lets writing beyond the limit of a
 * file's size be an error; the program has its own way. */
void gemem_launcher_begin (const char *name);
/* Prints a line on stderr. */
void gemem_launcher_say (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* ---- options */

/* Parses "--stacks=DEPTH": 1 to 128 frames.  G_OPTION_ERROR_BAD_VALUE. */
gboolean gemem_launcher_parse_stacks (const char *value, int *depth, GError **error);
/* Replaces --stacks by --stacks=32, because GLib would take the program's name for the depth.
 * @valued: NULL-terminated, the other options whose value is the next argument ("-o"). */
void gemem_launcher_name_depth (int count, char **arguments, const char *const *valued);
/* Parses @entries; *@arguments then starts with the program's name, which may be missing. */
gboolean gemem_launcher_parse (const GOptionEntry *entries, const char *usage, const char *summary,
                               int *count, char ***arguments, GError **error);

/* ---- the program */

/* Finds @name, a library or a program of gemem: beside this program in a build folder, else in
 * @installed, a folder.  NULL: missing.  g_free(). */
char *gemem_launcher_find (const char *name, const char *installed);
/* A name for @path, which is consumed, in lists whose items end at blanks or colons (LD_PRELOAD): itself, or
 * a link in the folder *@links, which is made where there is none.  NULL with @error.  g_free(). */
char *gemem_launcher_list_path (char *path, char **links, GError **error);
/* Removes the links in the folder @links, and it, or nothing where it is NULL; consumes it. */
void gemem_launcher_remove_links (char *links);
/* Why the loader of the executable @path (no script) preloads nothing into it, because it gets rights that
 * the user lacks, and what to do; NULL: it does. */
const char *gemem_launcher_privileged (const char *path);
/* The environment of the program with @library before those already in LD_PRELOAD; consumes
 * @environment.  g_strfreev(). */
char **gemem_launcher_preload (char **environment, const char *library);
/* The environment of a program into which the recorder is preloaded: @folder takes the journals, @stacks
 * frames of each call (0: none).  Consumes @environment.  g_strfreev(). */
char **gemem_launcher_record (char **environment, const char *folder, int stacks);
/* How a run ends that does not end by itself, and where its output goes. */
typedef struct
{
  /* 0, or the seconds after which it and what it started are ended; its standard streams are /dev/null then */
  guint limit;
  int out, err; /* with @over: the files that take its standard output and error */
  /* asked ten times a second while it runs, and once when it has ended; the first TRUE asks it and what it started to end;
   * NULL: never.  Its standard input is /dev/null then. */
  gboolean (*over) (gpointer data);
  gpointer data;
} GememLauncherWatch;

/* Runs @arguments to the end, passing signals on; returns the exit status as a shell does.
 * @watch: NULL, or its limits; then nothing that it started outlives it.  *@pid: the process. */
int gemem_launcher_run (char **arguments, char **environment, const GememLauncherWatch *watch,
                        pid_t *pid);
/* The last signal that asked this process to end since the first run; 0: none. */
int gemem_launcher_stopped (void);
/* How the program ended, for the trace: "exit status 3", "signal 9".  g_free(). */
char *gemem_launcher_ended (int status);

/* ---- what it leaves */

/* One process's recording. */
typedef struct
{
  const GememFolder *folder; /* in which it lies */
  char *path;
  gint64 pid, part; /* PID.gmj, PID-PART.gmj */
} GememJournal;

/* FALSE if the program put something else in the place of the @folder of its recordings, which is said. */
gboolean gemem_launcher_finds (const GememFolder *folder);
/* A GememFolderKeep: what must not be removed unless it was converted. */
gboolean gemem_launcher_is_recording (const char *name, mode_t mode);
/* The regular files PID@suffix and PID-PART@suffix (".gmj") in @folder, which stays, by process id: array
 * of GememJournal; g_ptr_array_unref(). */
GPtrArray *gemem_launcher_journals (const GememFolder *folder, const char *suffix);
/* The one that becomes FILE: the last one of the program's process (which may have executed another
 * program), else that of the first process; NULL: there are none. */
const GememJournal *gemem_launcher_main (const GPtrArray *journals, pid_t pid);
/* "out.TAG.gmt" of "out.gmt".  g_free(). */
char *gemem_launcher_beside (const char *output, const char *tag);
/* The path of the trace of a child: @output with the process id before the extension.  g_free(). */
char *gemem_launcher_output (const char *output, const GememJournal *journal);
/* TRUE if an earlier output stands at @path, which is worth more than one without events. */
gboolean gemem_launcher_keeps (const char *path);
/* TRUE if the process is not @pid, the program's, and still runs. */
gboolean gemem_launcher_still_runs (const GememJournal *journal, pid_t pid);
/* What is known of a recording beside its file. */
typedef struct
{
  const char *format; /* "journal" */
  const char *torch;  /* "2.11": the PyTorch that wrote it; NULL: unknown */
  const char
      *device; /* "gpu=h100": the device of a dry run, as in GememTraceInfo; NULL: the journal's */
  const char *allocator,
      *settings; /* whose requests these are, where the file does not say; or NULL */
  /* how the program ended, noted in the trace of its own process, which alone may be empty; NULL
   * for other processes */
  const char *framework; /* GEMEM_TRACE_FRAMEWORK; NULL */
  const char *ended;
  /* of a journal: the calls alone, without the requests of an allocator above them */
  gboolean calls_only;
  gboolean keeps_earlier; /* no empty trace takes the place of an earlier one, as after a failure */
  gboolean managed_on_host, never_refused; /* as GememReadOptions */
  /* the first request of each device is left out, with its free, if it has this size, and so are
   * those of it that are refused before; 0: none is */
  guint64 left_out;
  GememDeviceMemory memory; /* of a journal: which counts */
  /* its calls for the host's pinned memory follow, at the last moment: the times of the two are those of
   * different clocks, and no device serves both; NULL: there are none */
  const GememJournal *host;
} GememLaunchFacts;

/* Opens @journal (NULL: nothing was recorded), noting the tool and the facts; gemem_trace_close(). */
GememTraceReader *gemem_launcher_open (const GememJournal *journal, const GememLaunchFacts *facts,
                                       GError **error);
/* Writes what is left of @reader to @path, which may be its own file.  FALSE with @error; @path is as it was then. */
gboolean gemem_launcher_copy (GememTraceReader *reader, const char *path, GError **error);
/* Converts @journal (NULL: nothing was recorded) to @path and removes it; on failure prints the
 * reason, says where the recording is, and returns FALSE. */
gboolean gemem_launcher_convert (const GememJournal *journal, const GememLaunchFacts *facts,
                                 const char *path, guint64 *count);
