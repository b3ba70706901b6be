/* source.h - traces and graphs, opened by the options that all commands reading them share. */
#pragma once

#include "graphs/format.h"
#include "sim/cli/cli.h"
#include "sim/engine/replay.h"
#include "traces/held.h"

extern const GOptionEntry gemem_source_entries[];

typedef struct
{
  char *path;    /* name in messages and results: as the user typed it, or "standard input" */
  char *file;    /* file to open: a stream (streams.h) is spooled, so that it can be read again */
  gboolean once; /* a stream: `file` has no "#N" */
  guint graph_number; /* N of "PATH#N", of a stream */
  GememGraph *graph;  /* NULL: the file is a trace */
  char *lowering;     /* of `graph`; NULL: the default */
  /* how `lowering` differs from the others, if the graph is lowered in several ways; else NULL */
  char *difference;
  const GememGraphFormat *graph_format; /* of `graph` */
  GPtrArray *variables;                 /* GememSetting: those of `lowering` from the environment */
  /* GememSetting: variables without effect there; the value is the reason */
  GPtrArray *left_out;
  GememHeld *held; /* what was read of it, gemem_source_file_hold(); NULL: it is opened anew */
  char *sha256;    /* of the stored bytes, hex; computed when first asked for, */
  gboolean hashed; /* which has happened; there is none for a pipe, and what cannot be read */
} GememSourceFile;

GememSourceFile *gemem_source_file_new (const char *path, GError **error);
/* A trace that need not be there yet: named @name, in @file. */
GememSourceFile *gemem_source_file_later (const char *name, const char *file);
/* Appends the file to @files; a graph once for each lowering that --lower names.  Returns how many,
 * 0 with @error. */
guint gemem_source_files_add (GPtrArray *files, const char *path, GError **error);
void gemem_source_file_free (GememSourceFile *file);
/* for results: with the lowering of a graph, if it is the only one; g_free() */
char *gemem_source_file_name (const GememSourceFile *file);
GememTraceReader *gemem_source_file_open (gpointer file, GError **error); /* a GememTraceSource */
/* The path of the source file that @job reads. */
const char *gemem_source_path_of_job (const GememJob *job);
/* Whether the host's memory is to work on, where @info says that it may be in the file; that is looked for then. */
gboolean gemem_source_is_host (GememSourceFile *file, const GememTraceInfo *info);
/* gemem_recorder_parse() of what the file says.  *@release, g_free(): the note on its release, unless that
 * is the one replayed (gemem_recorder_release_note()); @release may be NULL. */
gboolean gemem_source_recorder (GememSourceFile *file, gboolean ignores_settings,
                                const GPtrArray *variables, GPtrArray *specs, gboolean *assumed,
                                char **release, GError **error);
/* Reads the trace once, so that gemem_source_file_open() delivers it from memory from now on.  Unless
 * @quick_too, graphs and formats that are quick to read stay as they are.  FALSE with @error. */
gboolean gemem_source_file_hold (GememSourceFile *file, gboolean quick_too, GError **error);
/* TRUE if it can be opened as a trace */
gboolean gemem_source_is_trace (GememSourceFile *file, GError **error);
const char *
gemem_source_file_sha256 (GememSourceFile *file); /* NULL, with a warning, if unreadable */
/* A text for all that the events of @file depend on: its bytes, and the options of all who read them; g_free().
 * NULL: it cannot be read twice. */
char *gemem_source_identity (GememSourceFile *file);
/* Notes that the graph of @file has no memory to be set to zero, if @params, the table of @reader,
 * have atomic_clean_policy, which then changes nothing.  O(nodes). */
void gemem_source_note_memsets (const GememSourceFile *file, const char *reader,
                                const GememParam *params);
int gemem_source_device (void); /* --trace-device, or -1 */
gboolean gemem_source_allow_partial (void);
gboolean gemem_source_lowered (void); /* --lower is set: graphs are treated as traces */
/* Sets the environment's @variables (GememSetting, not copied) for lowerings that read them, unless
 * --lower sets them otherwise.  Call before opening files. */
gboolean gemem_source_use_variables (const GPtrArray *variables, GError **error);
/* Files that are opened from now on have --lower @text; NULL: none. */
void gemem_source_set_lowering (const char *text);
/* The lowering of @file, which is a graph, as text. */
const char *gemem_source_lowering (const GememSourceFile *file);
/* Appends to @readers (GememReader) the lowering of @file, if it has one. */
void gemem_source_add_reader (const GememSourceFile *file, GArray *readers);
/* The devices to work on (guint16): --trace-device, or every GPU that occurs, else the host.  GEMEM_ERROR_USAGE,
 * GEMEM_ERROR_INPUT if there is none. */
GArray *gemem_source_devices (GememSourceFile *file, GError **error);

/* Writes all events of @reader to @path ("-": stdout) in @format (NULL: by extension); complete or
 * not at all. */
gboolean gemem_copy_trace (GememTraceReader *reader, const char *path, const char *format,
                           GError **error);
