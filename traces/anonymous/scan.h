/* scan.h - what the files of the redactor share (anonymous-private.h): its state, a scan of a text,
 * and what the scan tries at each place.  text.c scans and takes paths; hosts.c takes URLs,
 * addresses, hosts and accounts; labels.c what a word before it names; names.c knows names; files.c
 * shortens the files of frames.
 *
 * A function that takes something from the text at @p returns the length of what it took, 0:
 * nothing.  It appends the substitute, or, if the scan has no output, learns names.
 */
#pragma once

#include <string.h>

#include "traces/anonymous/anonymous-private.h"

#define MAX_NAME 255    /* longest name of a user or host */
#define MAX_QUOTED 4096 /* longest path in quotes */

struct _GememRedactor
{
  GememNumbers users, hosts; /* in lower case */
  GHashTable *domains;       /* the last two parts of hosts that have a dot, in lower case */
  guint nodes;               /* hosts that lists of nodes were spelled out to */
  GememNumbers directories, urls, processes;
  gboolean lengths[MAX_NAME + 1]; /* of the names of users and hosts */
  gsize longest;
  GHashTable *tails; /* shown part of a file -> its directory, or NULL: there are several */
};

typedef struct
{
  GememRedactor *redactor;
  const char *text;
  GememTextKind kind;
  GString *out; /* NULL: learn only */
} GememScan;

/* Letters and digits, and all of UTF-8 beyond ASCII: "bob" is a word of "bob_run",
 * not of "bobsled". */
static inline gboolean
is_name (char c)
{
  return g_ascii_isalnum (c) || (guchar) c >= 0x80;
}

static inline gboolean
is_separator (char c)
{
  return c == '/' || c == '\\';
}

/* TRUE if @c is one of @set; the end of the text is not. */
static inline gboolean
is_one_of (char c, const char *set)
{
  return c != '\0' && strchr (set, c) != NULL;
}

static inline gboolean
ends_word (char c)
{
  return (guchar) c <= ' ' || is_one_of (c, "\"'`<>|");
}

/* TRUE if the @n bytes of @word are one of @words, in any case. */
static inline gboolean
is_word (const char *word, gsize n, const char *const *words)
{
  for (; *words != NULL; words++)
    if (strlen (*words) == n && g_ascii_strncasecmp (word, *words, n) == 0)
      return TRUE;
  return FALSE;
}

/* ---- names.c */

/* "corp.com" of "node-17.cluster.corp.com" in lower case, g_free(); NULL: there is none, as
 * in "10.0.0.5". */
char *gemem_redactor_domain (const char *name, gsize n);
/* Hides a host by its whole name, and makes its domain known. */
void gemem_redactor_hide_whole_host (GememRedactor *redactor, const char *name, gsize n);
/* Appends @what and the number of the @n bytes of @text. */
void gemem_scan_number (const GememScan *scan, const char *what, GememNumbers *numbers,
                        const char *text, gsize n);
/* Takes the longest known name; nothing if the scan learns. */
gsize gemem_scan_name (const GememScan *scan, const char *p);
/* TRUE if @command stands close before @p. */
gboolean gemem_scan_is_behind (const GememScan *scan, const char *p, const char *command);

/* ---- text.c */

/* The length of the extension of a base name of @n bytes, if it is that of a program or of data as
 * they are around recordings: ".py", ".so.6", ".pickle.gz"; else 0. */
gsize gemem_path_extension (const char *base, gsize n);
/* Takes the path of @n bytes. */
gsize gemem_scan_path (const GememScan *scan, const char *path, gsize n);
/* The part of @path, @n bytes long, behind its last separator. */
const char *gemem_path_base (const char *path, gsize n);
/* Learns the users and the host that a path names. */
void gemem_redactor_learn_path (GememRedactor *redactor, const char *path, gsize n);
/* Appends the number of the directory @n bytes long, whose separators do not matter. */
void gemem_redactor_append_directory (GememRedactor *redactor, GString *out, const char *directory,
                                      gsize n);

/* ---- hosts.c */

/* Takes a URL; of a file's URL its path remains as a path. */
gsize gemem_scan_url (const GememScan *scan, const char *p);
/* Takes an address of IPv4, of IPv6 or of a network card. */
gsize gemem_scan_address (const GememScan *scan, const char *p);
/* Takes user@host, or the user before an address. */
gsize gemem_scan_account (const GememScan *scan, const char *p);
/* Takes a dotted name that is a host by itself or by its domain, and the path behind it: a URL
 * without its scheme. */
gsize gemem_scan_site (const GememScan *scan, const char *p);
/* Learns NODE of "NODE:/path": behind a command that copies, or if NODE has letters and digits. */
void gemem_scan_node (const GememScan *scan, const char *p);

/* ---- labels.c */

/* Takes a process id with the word before it, and learns from settings of the environment. */
gsize gemem_scan_labelled (const GememScan *scan, const char *p);
