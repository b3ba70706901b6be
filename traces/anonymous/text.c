/* text.c - finds in text what tells where a recording was made (anonymous-private.h).
 *
 * One scan serves learning and rewriting: at each place where a word can begin it tries what could
 * stand there - URL, dotted name of a host, path, user@host, address, process id, known name - and
 * otherwise copies a byte.
 *
 * Invariants: a scan is linear in the text, but for constant factors (the longest name, host or
 * quoted path).
 */
#include "config.h"

#include "traces/anonymous/scan.h"

/* ---- parts of a path */

/* The length of the extension of a base name of @n bytes, if it is that of a program or of data as
 * they are around recordings: ".py", ".so.6", ".pickle.gz"; else 0. */
gsize
gemem_path_extension (const char *base, gsize n)
{
  static const char *const extensions[] = {
    "py",    "pyc",         "pyx",  "pyi",  "ipynb", "c",   "cc",   "cpp",  "cxx", "cu",
    "cuh",   "h",           "hh",   "hpp",  "inl",   "so",  "dll",  "exe",  "sh",  "json",
    "jsonl", "pickle",      "pkl",  "gmt",  "gmj",   "txt", "log",  "csv",  "gz",  "zst",
    "html",  "safetensors", "onnx", "pt",   "pth",   "bin", "ckpt", "npz",  "npy", "yaml",
    "yml",   "toml",        "cfg",  "conf", "java",  "rs",  "go",   "prof", "db",  NULL
  };
  const char *library = g_strstr_len (base, (gssize) n, ".so.");
  gsize length = 0;

  if (library != NULL && library > base
      && library + 3 + strspn (library + 3, G_CSET_DIGITS ".") >= base + n)
    return (gsize) (base + n - library);
  for (gsize end = n; end > 0;)
    {
      const char *dot = g_strrstr_len (base, (gssize) end, ".");
      if (dot == NULL || dot == base)
        break;
      g_autofree char *extension = g_strndup (dot + 1, (gsize) (base + end - dot - 1));
      if (!g_strv_contains (extensions, extension))
        break;
      end = (gsize) (dot - base);
      length = n - end;
    }
  return length;
}

/* The part of @path behind its last separator. */
const char *
gemem_path_base (const char *path, gsize n)
{
  while (n > 0 && !is_separator (path[n - 1]))
    n--;
  return path + n;
}

/* Learns the users and the host that a path names. */
void
gemem_redactor_learn_path (GememRedactor *redactor, const char *path, gsize n)
{
  const char *end = path + n;
  gboolean home = FALSE;
  guint depth = 0;

  if (n > 2 && is_separator (path[0]) && is_separator (path[1])
      && is_name (path[strspn (path, "/\\")]))
    {
      const char *host = path + strspn (path, "/\\");
      gemem_redactor_hide_host (redactor, host,
                                (gssize) MIN (strcspn (host, "/\\"), (gsize) (end - host)));
    }
  if (*path == '~' && n > 1 && is_name (path[1]))
    gemem_redactor_hide_user (redactor, path + 1, (gssize) MIN (strcspn (path + 1, "/\\"), n - 1));
  for (const char *p = path; p < end;)
    {
      const gsize length = MIN (strcspn (p, "/\\"), (gsize) (end - p));
      const gboolean last = p + length == end;

      if (home && length > 0 && !(last && gemem_path_extension (p, length) > 0))
        gemem_redactor_hide_user (redactor, p, (gssize) length);
      if (length > 0)
        {
          depth++;
          home = (length == 4 && strncmp (p, "home", 4) == 0)
                 || (length == 5 && g_ascii_strncasecmp (p, "users", 5) == 0 && depth <= 2);
        }
      p += length + 1;
    }
}

/* Appends the number of the directory @n bytes long, whose separators do not matter. */
void
gemem_redactor_append_directory (GememRedactor *redactor, GString *out, const char *directory,
                                 gsize n)
{
  g_autoptr (GString) plain = g_string_sized_new (n);

  for (gsize i = 0; i < n; i++)
    if (!is_separator (directory[i]))
      g_string_append_c (plain, directory[i]);
    else if (plain->len == 0 || plain->str[plain->len - 1] != '/')
      g_string_append_c (plain, '/');
  while (plain->len > 1 && plain->str[plain->len - 1] == '/')
    g_string_truncate (plain, plain->len - 1);
  g_string_append_printf (
      out, "d%u", gemem_numbers_get (&redactor->directories, plain->str, (gssize) plain->len));
}

static void
append_part (GememRedactor *redactor, GString *out, const char *text, gsize n)
{
  g_autofree char *part = g_strndup (text, n);
  gemem_redactor_append (redactor, out, part, GEMEM_TEXT_PART);
}

/* Takes a path of @n bytes in text: "d1/train.py".  What has no dot may be a
 * directory, and goes. */
gsize
gemem_scan_path (const GememScan *scan, const char *path, gsize n)
{
  const char *base = gemem_path_base (path, n);
  const gsize length = (gsize) (path + n - base);
  const char *dot = length > 1 ? memchr (base + 1, '.', length - 1) : NULL;

  if (scan->out == NULL)
    gemem_redactor_learn_path (scan->redactor, path, n);
  else if (dot == NULL || strncmp (base, "..", 2) == 0)
    gemem_redactor_append_directory (scan->redactor, scan->out, path, n);
  else
    {
      gemem_redactor_append_directory (scan->redactor, scan->out, path, (gsize) (base - path));
      g_string_append_c (scan->out, '/');
      append_part (scan->redactor, scan->out, base, length);
    }
  return n;
}

/* ---- paths in text */

/* The length of the path at @p up to white space, a quote or a sign between paths; brackets that it
 * opens belong to it. */
static gsize
word_length (const char *p)
{
  guint depth = 0;
  gsize n = 0;

  for (; !ends_word (p[n]) && !is_one_of (p[n], ",;:*?"); n++)
    if (is_one_of (p[n], "([{"))
      depth++;
    else if (is_one_of (p[n], ")]}") && depth-- == 0)
      break;
  while (n > 1 && p[n - 1] == '.' && p[n - 2] != '.' && !is_separator (p[n - 2]))
    n--;
  return n;
}

/* TRUE if the path of @n bytes at @p goes on behind the sign after it, which can stand between
 * paths or in one: a word with a separator inside follows.  *@more becomes the length of both. */
static gboolean
goes_on (const GememScan *scan, const char *p, gsize n, gsize *more)
{
  const char *base = gemem_path_base (p, n), *next = p + n + 1;
  gsize length = 0, separator = 0;

  if (!is_one_of (p[n], " \"'`,;:*?<>|")
      || !(is_name (*next) || is_one_of (*next, p[n] == ' ' ? "_([{" : "_")))
    return FALSE;
  if (p[n] == ' ' && gemem_path_extension (base, (gsize) (p + n - base)) > 0)
    return FALSE;
  for (; !ends_word (next[length]) && !is_one_of (next[length], ",;:*?="); length++)
    if (is_separator (next[length])
        && (p[n] != ' ' || scan->kind != GEMEM_TEXT_COMMAND || next[length] == '\\'))
      separator = length;
  *more = 1 + length;
  return separator > 0;
}

/* The length of the path that begins at @p, the first @n bytes of which are known to belong to it:
 * up to the closing quote if it is in quotes. */
static gsize
path_length (const GememScan *scan, const char *p, gsize n)
{
  const char quote = p > scan->text ? p[-1] : '\0';
  gsize more;

  if (is_one_of (quote, "\"'`"))
    for (gsize i = 0; i < MAX_QUOTED && (guchar) p[i] >= ' '; i++)
      if (p[i] == quote)
        return i;
  n += word_length (p + n);
  while (goes_on (scan, p, n, &more))
    n += more;
  return n;
}

/* The length of "./", "../", "~/", "~NAME/", "$NAME/", "${NAME}/" and "%NAME%\", with which a path
 * begins; 0: @p is none of them. */
static gsize
path_mark (const char *p)
{
  const gboolean brace = g_str_has_prefix (p, "${");
  gsize n = brace ? 2 : 1;

  if (*p == '.')
    n += p[1] == '.';
  else if (is_one_of (*p, "~$%"))
    while (is_name (p[n]) || p[n] == '_' || (*p == '~' && is_one_of (p[n], ".-")))
      n++;
  else
    return 0;
  if (brace || *p == '%')
    {
      if (p[n] != (brace ? '}' : '%'))
        return 0;
      n++;
    }
  return is_separator (p[n]) ? n + 1 : 0;
}

static gboolean
has_home (const char *p)
{
  return g_str_has_prefix (p, "/home/") || g_str_has_prefix (p, "/Users/")
         || g_str_has_prefix (p, "\\Users\\") || g_str_has_prefix (p, "/root/");
}

/* TRUE if a path can begin at @p: not within a word, but behind the option of "-I/usr/include". */
static gboolean
may_begin (const GememScan *scan, const char *p)
{
  const gsize at = (gsize) (p - scan->text);
  const char before = at > 0 ? p[-1] : '\0';

  if (g_ascii_isalpha (before))
    return at >= 2 && p[-2] == '-' && (at == 2 || ends_word (p[-3]));
  return !g_ascii_isdigit (before) && !is_one_of (before, "_.)]}/\\~");
}

/* Takes "/...", "//server/...", "\\server\...", "C:\..." and what path_mark() finds. */
static gsize
take_absolute (const GememScan *scan, const char *p)
{
  const char before = p > scan->text ? p[-1] : '\0';
  const gsize separators = strspn (p, "/\\");
  gsize n = 0, mark;

  if (g_ascii_isalpha (*p) && !is_name (before) && p[1] == ':' && is_separator (p[2]))
    n = path_length (scan, p, 2);
  else if (separators > 0 && has_home (p))
    n = path_length (scan, p, 1);
  else if ((*p == '/' && may_begin (scan, p)) || (*p == '\\' && separators > 1 && before != '\\'))
    n = is_name (p[separators]) || is_one_of (p[separators], "_.~-+@$%#([{")
            ? path_length (scan, p, separators)
            : 0;
  else if (separators == 0 && (mark = path_mark (p)) > 0 && may_begin (scan, p))
    return gemem_scan_path (scan, p, path_length (scan, p, mark));
  return n > 2 ? gemem_scan_path (scan, p, n) : 0;
}

/* Takes "src/train.py" and "a/../b", which must begin a word. */
static gsize
take_relative (const GememScan *scan, const char *p)
{
  const char before = p > scan->text ? p[-1] : '\0';
  gsize n = 0, base;

  if (scan->kind == GEMEM_TEXT_SYMBOL
      || !(before == '\0' || ends_word (before) || is_one_of (before, "=,;:*?()[]{}&@")))
    return 0;
  while (!ends_word (p[n]) && !is_one_of (p[n], ",;:*?=()[]{}&@"))
    n++;
  base = (gsize) (gemem_path_base (p, n) - p);
  if (base == 0)
    return 0;
  if (scan->kind == GEMEM_TEXT_COMMAND || gemem_path_extension (p + base, n - base) > 0
      || g_strstr_len (p, (gssize) n, "/../") != NULL
      || g_strstr_len (p, (gssize) n, "\\..\\") != NULL)
    return gemem_scan_path (scan, p, n);
  return 0;
}

/* ---- text */

static gsize
take (const GememScan *scan, const char *p)
{
  const gboolean begins = p == scan->text || !is_name (p[-1]);
  const gboolean whole = scan->kind != GEMEM_TEXT_PART;
  gsize n = 0;

  if (begins)
    gemem_scan_node (scan, p);
  if (begins && whole)
    n = gemem_scan_url (scan, p);
  if (n == 0 && begins)
    n = gemem_scan_site (scan, p);
  if (n == 0 && whole)
    n = take_absolute (scan, p);
  if (n == 0 && begins && whole)
    n = take_relative (scan, p);
  if (n == 0 && begins)
    n = gemem_scan_account (scan, p);
  if (n == 0 && begins)
    n = gemem_scan_address (scan, p);
  if (n == 0 && begins)
    n = gemem_scan_labelled (scan, p);
  if (n == 0 && begins)
    n = gemem_scan_name (scan, p);
  return n;
}

static void
scan_text (const GememScan *scan)
{
  for (const char *p = scan->text; *p != '\0';)
    {
      const gsize n = take (scan, p);

      if (n == 0 && scan->out != NULL)
        g_string_append_c (scan->out, *p);
      p += MAX (n, 1);
    }
}

void
gemem_redactor_learn (GememRedactor *redactor, const char *text, GememTextKind kind)
{
  scan_text (&(const GememScan){ redactor, text, kind, NULL });
}

void
gemem_redactor_append (GememRedactor *redactor, GString *out, const char *text, GememTextKind kind)
{
  scan_text (&(const GememScan){ redactor, text, kind, out });
}

/* ---- the redactor */

GememRedactor *
gemem_redactor_new (void)
{
  GememRedactor *redactor = g_new0 (GememRedactor, 1);

  gemem_numbers_init (&redactor->users);
  gemem_numbers_init (&redactor->hosts);
  gemem_numbers_init (&redactor->directories);
  gemem_numbers_init (&redactor->urls);
  gemem_numbers_init (&redactor->processes);
  redactor->domains = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  redactor->tails = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return redactor;
}

void
gemem_redactor_free (GememRedactor *redactor)
{
  if (redactor == NULL)
    return;
  gemem_numbers_clear (&redactor->users);
  gemem_numbers_clear (&redactor->hosts);
  gemem_numbers_clear (&redactor->directories);
  gemem_numbers_clear (&redactor->urls);
  gemem_numbers_clear (&redactor->processes);
  g_hash_table_unref (redactor->domains);
  g_hash_table_unref (redactor->tails);
  g_free (redactor);
}
