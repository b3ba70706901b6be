/* anonymous-text.c - finds in text what tells where a recording was made (anonymous-private.h).
 *
 * One scan serves learning and rewriting: at each place where a word can begin it tries what could
 * stand there - URL, dotted name of a host, path, user@host, address, process id, known name - and
 * otherwise copies a byte.
 *
 * Invariants: a scan is linear in the text, but for constant factors (the longest name, host or
 * quoted path).
 */
#include "config.h"

#include <string.h>

#include "traces/anonymous-private.h"

#define MAX_NAME 255    /* longest name of a user or host */
#define MAX_LOCAL 64    /* longest user in user@host */
#define MAX_SCHEME 15   /* longest scheme of a URL */
#define MAX_QUOTED 4096 /* longest path in quotes */
#define MAX_LABEL 24    /* longest word before a name: "master_addr" */
#define MAX_NODES 65536 /* most hosts that lists of nodes are spelled out to */
#define WINDOW 64       /* how far before a word a command is looked for */

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
} Scan;

/* ---- numbers */

void
gemem_numbers_init (GememNumbers *numbers)
{
  numbers->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  numbers->last = 0;
}

void
gemem_numbers_clear (GememNumbers *numbers)
{
  g_hash_table_unref (numbers->known);
}

guint32
gemem_numbers_get (GememNumbers *numbers, const char *text, gssize n)
{
  g_autofree char *key = n < 0 ? g_strdup (text) : g_strndup (text, (gsize) n);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (numbers->known, key));

  if (number == 0)
    {
      number = ++numbers->last;
      g_hash_table_replace (numbers->known, g_steal_pointer (&key), GUINT_TO_POINTER (number));
    }
  return number;
}

/* ---- kinds of bytes */

/* Letters and digits, and all of UTF-8 beyond ASCII: "bob" is a word of "bob_run", not of "bobsled". */
static gboolean
is_name (char c)
{
  return g_ascii_isalnum (c) || (guchar) c >= 0x80;
}

static gboolean
is_separator (char c)
{
  return c == '/' || c == '\\';
}

/* TRUE if @c is one of @set; the end of the text is not. */
static gboolean
is_one_of (char c, const char *set)
{
  return c != '\0' && strchr (set, c) != NULL;
}

static gboolean
ends_word (char c)
{
  return (guchar) c <= ' ' || is_one_of (c, "\"'`<>|");
}

/* ---- known names */

static void
hide (GememRedactor *redactor, GememNumbers *kind, const char *name, gssize n)
{
  /* accounts and hosts that say nothing, and words that origin.h goes by */
  static const char *const public[] = { "root", "user",   "users",   "localhost",  "shared", "home",
                                        "at",   "aten",   "c10",     "torch",      "std",    "cuda",
                                        "rmm",  "phi",    "paddle",  "tensorflow", "tsl",    "py",
                                        "lib",  "python", "pytorch", "gemem",      "none",   "null",
                                        "true", "false",  "unknown", NULL };
  gsize length = n < 0 ? strlen (name) : (gsize) n;

  for (; length > 0 && !is_name (*name); length--)
    name++;
  while (length > 0 && !is_name (name[length - 1]))
    length--;
  g_autofree char *lower = g_ascii_strdown (name, (gssize) length);
  if (length < 2 || length > MAX_NAME || strspn (lower, G_CSET_DIGITS ".-_") == length
      || g_strv_contains (public, lower))
    return;
  redactor->lengths[length] = TRUE;
  redactor->longest = MAX (redactor->longest, length);
  if (!g_hash_table_contains (kind->known, lower))
    g_hash_table_insert (kind->known, g_steal_pointer (&lower), NULL);
}

void
gemem_redactor_hide_user (GememRedactor *redactor, const char *name, gssize n)
{
  hide (redactor, &redactor->users, name, n);
}

/* "corp.com" of "node-17.cluster.corp.com" in lower case; NULL: there is none, as in "10.0.0.5". */
static char *
domain_of (const char *name, gsize n)
{
  const char *dot = g_strrstr_len (name, (gssize) n, "."), *domain;

  if (dot == NULL || dot == name || !g_ascii_isalpha (dot[1]) || n > MAX_NAME)
    return NULL;
  domain = g_strrstr_len (name, dot - name, ".");
  domain = domain != NULL ? domain + 1 : name;
  return domain < dot ? g_ascii_strdown (domain, name + n - domain) : NULL;
}

/* Hides a host by its whole name, and makes its domain known. */
static void
hide_whole_host (GememRedactor *redactor, const char *name, gsize n)
{
  char *domain = domain_of (name, n);

  hide (redactor, &redactor->hosts, name, (gssize) n);
  if (domain != NULL)
    g_hash_table_add (redactor->domains, domain);
}

/* Hides a host, and of "node7.example.org" the short name "node7" too. */
void
gemem_redactor_hide_host (GememRedactor *redactor, const char *name, gssize n)
{
  const gsize length = n < 0 ? strlen (name) : (gsize) n;
  const char *dot = memchr (name, '.', length);

  hide_whole_host (redactor, name, length);
  if (dot != NULL)
    hide (redactor, &redactor->hosts, name, dot - name);
}

static void
append_number (const Scan *scan, const char *what, GememNumbers *numbers, const char *text, gsize n)
{
  g_string_append_printf (scan->out, "%s%u", what, gemem_numbers_get (numbers, text, (gssize) n));
}

/* Takes the longest known name at @p; returns its length, or 0. */
static gsize
take_name (const Scan *scan, const char *p)
{
  GememRedactor *redactor = scan->redactor;
  GememNumbers *kind = NULL;
  char lower[MAX_NAME + 1];
  gsize best = 0;

  if (scan->out == NULL || !is_name (*p))
    return 0;
  for (gsize n = 0; n < redactor->longest && p[n] != '\0' && !is_separator (p[n]);)
    {
      lower[n] = g_ascii_tolower (p[n]);
      n++;
      if (!redactor->lengths[n] || is_name (p[n]))
        continue;
      lower[n] = '\0';
      if (g_hash_table_contains (redactor->users.known, lower))
        kind = &redactor->users;
      else if (g_hash_table_contains (redactor->hosts.known, lower))
        kind = &redactor->hosts;
      else
        continue;
      best = n;
    }
  if (best > 0)
    {
      g_autofree char *name = g_ascii_strdown (p, (gssize) best);
      append_number (scan, kind == &redactor->users ? "user" : "host", kind, name, best);
    }
  return best;
}

/* ---- parts of a path */

/* The length of the extension of a base name of @n bytes, if it is that of a program or of data as
 * they are around recordings: ".py", ".so.6", ".pickle.gz"; else 0. */
static gsize
known_extension (const char *base, gsize n)
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
static const char *
base_of (const char *path, gsize n)
{
  while (n > 0 && !is_separator (path[n - 1]))
    n--;
  return path + n;
}

/* Learns the users and the host that a path names. */
static void
learn_path (GememRedactor *redactor, const char *path, gsize n)
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

      if (home && length > 0 && !(last && known_extension (p, length) > 0))
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
static void
append_directory (GememRedactor *redactor, GString *out, const char *directory, gsize n)
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

/* Takes a path of @n bytes in text: "d1/train.py".  What has no dot may be a directory, and goes. */
static gsize
take_path (const Scan *scan, const char *path, gsize n)
{
  const char *base = base_of (path, n);
  const gsize length = (gsize) (path + n - base);
  const char *dot = length > 1 ? memchr (base + 1, '.', length - 1) : NULL;

  if (scan->out == NULL)
    learn_path (scan->redactor, path, n);
  else if (dot == NULL || strncmp (base, "..", 2) == 0)
    append_directory (scan->redactor, scan->out, path, n);
  else
    {
      append_directory (scan->redactor, scan->out, path, (gsize) (base - path));
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

/* TRUE if the path of @n bytes at @p goes on behind the sign after it, which can stand between paths
 * or in one: a word with a separator inside follows.  *@more becomes the length of both. */
static gboolean
goes_on (const Scan *scan, const char *p, gsize n, gsize *more)
{
  const char *base = base_of (p, n), *next = p + n + 1;
  gsize length = 0, separator = 0;

  if (!is_one_of (p[n], " \"'`,;:*?<>|")
      || !(is_name (*next) || is_one_of (*next, p[n] == ' ' ? "_([{" : "_")))
    return FALSE;
  if (p[n] == ' ' && known_extension (base, (gsize) (p + n - base)) > 0)
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
path_length (const Scan *scan, const char *p, gsize n)
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
may_begin (const Scan *scan, const char *p)
{
  const gsize at = (gsize) (p - scan->text);
  const char before = at > 0 ? p[-1] : '\0';

  if (g_ascii_isalpha (before))
    return at >= 2 && p[-2] == '-' && (at == 2 || ends_word (p[-3]));
  return !g_ascii_isdigit (before) && !is_one_of (before, "_.)]}/\\~");
}

/* Takes "/...", "//server/...", "\\server\...", "C:\..." and what path_mark() finds. */
static gsize
take_absolute (const Scan *scan, const char *p)
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
    return take_path (scan, p, path_length (scan, p, mark));
  return n > 2 ? take_path (scan, p, n) : 0;
}

/* Takes "src/train.py" and "a/../b", which must begin a word. */
static gsize
take_relative (const Scan *scan, const char *p)
{
  const char before = p > scan->text ? p[-1] : '\0';
  gsize n = 0, base;

  if (scan->kind == GEMEM_TEXT_SYMBOL
      || !(before == '\0' || ends_word (before) || is_one_of (before, "=,;:*?()[]{}&@")))
    return 0;
  while (!ends_word (p[n]) && !is_one_of (p[n], ",;:*?=()[]{}&@"))
    n++;
  base = (gsize) (base_of (p, n) - p);
  if (base == 0)
    return 0;
  if (scan->kind == GEMEM_TEXT_COMMAND || known_extension (p + base, n - base) > 0
      || g_strstr_len (p, (gssize) n, "/../") != NULL
      || g_strstr_len (p, (gssize) n, "\\..\\") != NULL)
    return take_path (scan, p, n);
  return 0;
}

/* ---- addresses */

/* Learns the user and host of "user:password@host:port". */
static void
learn_authority (GememRedactor *redactor, const char *text, gsize n)
{
  const char *at = memchr (text, '@', n);

  if (at != NULL)
    {
      const gsize user = (gsize) (at - text);
      gemem_redactor_hide_user (redactor, text, (gssize) MIN (strcspn (text, ":"), user));
      n -= user + 1;
      text = at + 1;
    }
  if (n > 0 && *text == '[') /* an address of IPv6 */
    gemem_redactor_hide_host (redactor, text, (gssize) MIN (strcspn (text, "]"), n));
  else
    gemem_redactor_hide_host (redactor, text, (gssize) MIN (strcspn (text, ":"), n));
}

/* Takes a URL; of a file's URL its path remains as a path. */
static gsize
take_url (const Scan *scan, const char *p)
{
  gsize scheme = 0, n, authority;

  while (scheme <= MAX_SCHEME && (g_ascii_isalnum (p[scheme]) || is_one_of (p[scheme], "+.-")))
    scheme++;
  if (!g_ascii_isalpha (*p) || !g_str_has_prefix (p + scheme, "://"))
    return 0;
  scheme += 3;
  for (n = scheme; !ends_word (p[n]) && !is_one_of (p[n], "{}\\"); n++)
    continue;
  while (n > scheme && is_one_of (p[n - 1], ".,;:)]"))
    n--;
  authority = MIN (strcspn (p + scheme, "/?#"), n - scheme);
  if (n == scheme)
    return 0;
  if (scan->out == NULL)
    learn_authority (scan->redactor, p + scheme, authority);
  if (scheme == 7 && g_ascii_strncasecmp (p, "file", 4) == 0 && n > scheme + authority)
    return scheme + authority + take_path (scan, p + scheme + authority, n - scheme - authority);
  if (scan->out != NULL)
    append_number (scan, "url", &scan->redactor->urls, p, n);
  return n;
}

/* The length of the IPv4 address at @p; 0: there is none. */
static gsize
ipv4_length (const char *p)
{
  gsize n = 0;

  for (guint part = 0; part < 4; part++)
    {
      guint value = 0, digits = 0;

      if (part > 0 && p[n++] != '.')
        return 0;
      for (; g_ascii_isdigit (p[n]) && digits < 4; n++, digits++)
        value = value * 10 + (guint) (p[n] - '0');
      if (digits == 0 || digits > 3 || value > 255)
        return 0;
    }
  return is_name (p[n]) || (p[n] == '.' && g_ascii_isdigit (p[n + 1])) ? 0 : n;
}

/* The length of the IPv6 or MAC address at @p: eight groups, six or eight pairs of digits, or "::"
 * behind what a routable or local address begins with, so that "c10d::add" is none.  0: no address. */
static gsize
groups_length (const char *p)
{
  const char sign = g_ascii_isxdigit (p[0]) && g_ascii_isxdigit (p[1]) && p[2] == '-' ? '-' : ':';
  gboolean pairs = TRUE, letters = FALSE, gap = FALSE, wide = FALSE;
  guint groups = 0;
  gsize n = 0;

  while (groups <= 8 && g_ascii_isxdigit (p[n]))
    {
      guint digits = 0;

      for (; digits < 5 && g_ascii_isxdigit (p[n]); n++, digits++)
        letters |= g_ascii_isalpha (p[n]);
      if (digits > 4)
        return 0;
      groups++;
      pairs &= digits == 2;
      wide |= digits > 2;
      if (p[n] != sign)
        break;
      if (sign == ':' && !gap && p[n + 1] == ':')
        {
          gap = TRUE;
          n += 2;
        }
      else if (g_ascii_isxdigit (p[n + 1]))
        n++;
      else
        break;
    }
  if (is_name (p[n]) || (p[n] == sign && is_name (p[n + 1])))
    return 0;
  if (sign == '-')
    return groups == 6 && pairs && letters ? n : 0; /* digits only: a date and a time */
  if (gap)
    return groups < 8 && strcspn (p, ":") == 4
                   && (is_one_of (*p, "23")
                       || (g_ascii_tolower (*p) == 'f' && is_one_of (p[1], "cdefCDEF")))
               ? n
               : 0;
  return (groups == 8 && (pairs || wide)) || (groups == 6 && pairs) ? n : 0;
}

/* Takes an address of IPv4, of IPv6 or of a network card. */
static gsize
take_address (const Scan *scan, const char *p)
{
  gsize n = 0;

  if (scan->kind == GEMEM_TEXT_SYMBOL || !g_ascii_isxdigit (*p))
    return 0;
  if (p == scan->text || p[-1] != '.')
    n = ipv4_length (p);
  if (n == 0)
    n = groups_length (p);
  if (n > 0 && scan->out != NULL)
    {
      g_autofree char *lower = g_ascii_strdown (p, (gssize) n);
      append_number (scan, "host", &scan->redactor->hosts, lower, n);
    }
  return n;
}

/* Takes user@host, or the user before an address. */
static gsize
take_account (const Scan *scan, const char *p)
{
  const char before = p > scan->text ? p[-1] : '\0';
  gsize user = 0, host = 0;
  const char *name;

  if (scan->kind == GEMEM_TEXT_SYMBOL || !is_name (*p) || is_one_of (before, "._+-"))
    return 0;
  while (user <= MAX_LOCAL && (is_name (p[user]) || is_one_of (p[user], "._+-")))
    user++;
  name = p + user + 1;
  if (user == 0 || p[user] != '@')
    return 0;
  if (ipv4_length (name) > 0 || groups_length (name + (*name == '[' ? 1 : 0)) > 0)
    { /* the scan goes on at the address */
      g_autofree char *lower = g_ascii_strdown (p, (gssize) user);
      if (scan->out == NULL)
        gemem_redactor_hide_user (scan->redactor, p, (gssize) user);
      else
        append_number (scan, "user", &scan->redactor->users, lower, user);
      return user;
    }
  if (!is_name (*name))
    return 0;
  while (host <= MAX_NAME && (is_name (name[host]) || is_one_of (name[host], ".-")))
    host++;
  while (host > 0 && !is_name (name[host - 1]))
    host--;
  if (scan->kind == GEMEM_TEXT_PART)
    host -= known_extension (name, host);
  if (name[host] == '@' || strspn (name, G_CSET_DIGITS ".") >= host)
    return 0;
  if (scan->out == NULL)
    {
      gemem_redactor_hide_user (scan->redactor, p, (gssize) user);
      gemem_redactor_hide_host (scan->redactor, name, (gssize) host);
    }
  else
    {
      g_autofree char *lower_user = g_ascii_strdown (p, (gssize) user);
      g_autofree char *lower_host = g_ascii_strdown (name, (gssize) host);
      append_number (scan, "user", &scan->redactor->users, lower_user, user);
      append_number (scan, "@host", &scan->redactor->hosts, lower_host, host);
    }
  return user + 1 + host;
}

/* ---- "www.corp.com", "node-17.cluster.corp.com" */

static gboolean
is_word (const char *word, gsize n, const char *const *words)
{
  for (; *words != NULL; words++)
    if (strlen (*words) == n && g_ascii_strncasecmp (word, *words, n) == 0)
      return TRUE;
  return FALSE;
}

/* The length of the dotted name that begins at @p, without the extension of a file; 0: there is none. */
static gsize
dotted_length (const Scan *scan, const char *p)
{
  const gsize at = (gsize) (p - scan->text);
  gsize n = 0;

  if (at > 1 && is_one_of (p[-1], ".-") && is_name (p[-2]))
    return 0;
  while (n <= MAX_NAME && (is_name (p[n]) || (n > 0 && is_one_of (p[n], ".-"))))
    n++;
  while (n > 0 && !is_name (p[n - 1]))
    n--;
  if (n > MAX_NAME || memchr (p, '.', n) == NULL || is_one_of (p[n], "_@([="))
    return 0;
  n -= known_extension (p, n);
  return g_strstr_len (p, (gssize) n, "..") == NULL ? n : 0;
}

/* TRUE if the dotted name of @n bytes is that of a host and not of a Python module: of the endings that
 * are names in programs too ("skimage.io", "threading.local", "policy.net") only what a path or a
 * port follows, and, of those of a local network, what looks like the name of a machine. */
static gboolean
is_obvious_host (const Scan *scan, const char *p, gsize n)
{
  static const char *const clear[] = { "com", "org", "edu", NULL };
  static const char *const local[] = { "local", "internal", "corp", "lan", NULL };
  static const char *const others[] = { "net", "io", "ai", "dev", NULL };
  const char *last = g_strrstr_len (p, (gssize) n, ".") + 1;
  const gsize length = (gsize) (p + n - last);
  gboolean digit = FALSE, letter = FALSE, machine = FALSE;

  if (scan->kind == GEMEM_TEXT_SYMBOL || !g_ascii_isalpha (*last))
    return FALSE;
  if ((g_ascii_strncasecmp (p, "www.", 4) == 0 && memchr (p + 4, '.', n - 4) != NULL)
      || is_word (last, length, clear))
    return TRUE;
  for (const char *c = p; c < last; c++)
    {
      digit = *c != '.' && (digit || g_ascii_isdigit (*c));
      letter = *c != '.' && (letter || g_ascii_isalpha (*c));
      machine |= *c == '-' || (digit && letter);
    }
  if (machine && is_word (last, length, local))
    return TRUE;
  return (is_word (last, length, local) || is_word (last, length, others))
         && ((p[n] == '/' && scan->kind != GEMEM_TEXT_PART)
             || (p[n] == ':' && strspn (p + n + 1, G_CSET_DIGITS) >= 3));
}

/* Takes a dotted name that is a host by itself or by its domain, and the path behind it: a URL without
 * its scheme. */
static gsize
take_site (const Scan *scan, const char *p)
{
  const gsize n = is_name (*p) ? dotted_length (scan, p) : 0;
  g_autofree char *domain = n > 0 ? domain_of (p, n) : NULL;
  gsize path = n;

  if (domain == NULL
      || !(g_hash_table_contains (scan->redactor->domains, domain) || is_obvious_host (scan, p, n)))
    return 0;
  if (scan->kind != GEMEM_TEXT_PART && scan->kind != GEMEM_TEXT_SYMBOL && p[n] == '/')
    while (!ends_word (p[path]) && !is_one_of (p[path], ",;{}()[]\\"))
      path++;
  if (scan->out == NULL && strlen (domain) < n && g_ascii_strncasecmp (p, "www.", 4) != 0)
    gemem_redactor_hide_host (scan->redactor, p, (gssize) n);
  else if (scan->out == NULL) /* the short name may be a module: "wandb" */
    hide_whole_host (scan->redactor, p, n);
  else if (path > n + 1)
    append_number (scan, "url", &scan->redactor->urls, p, path);
  else
    {
      g_autofree char *lower = g_ascii_strdown (p, (gssize) n);
      append_number (scan, "host", &scan->redactor->hosts, lower, n);
    }
  return path > n + 1 ? path : n;
}

/* TRUE if @command stands close before @p. */
static gboolean
is_behind (const Scan *scan, const char *p, const char *command)
{
  const gsize window = MIN ((gsize) (p - scan->text), WINDOW);
  return g_strstr_len (p - window, (gssize) window, command) != NULL;
}

/* Learns NODE of "NODE:/path": behind a command that copies, or if NODE has letters and digits. */
static void
learn_node (const Scan *scan, const char *p)
{
  const char before = p > scan->text ? p[-1] : ' ';
  gboolean digit = FALSE, letter = FALSE;
  gsize n = 0;

  if (scan->out != NULL || scan->kind == GEMEM_TEXT_SYMBOL || scan->kind == GEMEM_TEXT_PART
      || !ends_word (before))
    return;
  for (; n <= MAX_NAME && (is_name (p[n]) || is_one_of (p[n], ".-_")); n++)
    {
      digit |= g_ascii_isdigit (p[n]);
      letter |= g_ascii_isalpha (p[n]);
    }
  if (n > MAX_NAME || p[n] != ':' || p[n + 1] != '/' || p[n + 2] == '/'
      || known_extension (p, n) > 0)
    return;
  if ((digit && letter) || is_behind (scan, p, "scp ") || is_behind (scan, p, "rsync "))
    gemem_redactor_hide_host (scan->redactor, p, (gssize) n);
}

/* ---- "pid 1234", "USER=bob" */

/* Learns the hosts of "gpu[1-4,07],cpu3", the first @n bytes of @list. */
static void
learn_nodes (GememRedactor *redactor, const char *list, gsize n)
{
  const char *end = list + n;

  while (list < end)
    {
      const gsize stem = MIN (strcspn (list, "[,"), (gsize) (end - list));
      const char *p = list + stem;

      if (p == end || *p == ',')
        gemem_redactor_hide_host (redactor, list, (gssize) stem);
      else
        while (p < end && is_one_of (*p, "[,"))
          {
            const gsize width = strspn (++p, G_CSET_DIGITS);
            const guint64 first = g_ascii_strtoull (p, NULL, 10);
            guint64 last = first;

            p += width;
            if (*p == '-')
              {
                last = g_ascii_strtoull (p + 1, NULL, 10);
                p += 1 + strspn (p + 1, G_CSET_DIGITS);
              }
            for (guint64 i = first; width > 0 && width < 10 && i <= last; i++)
              {
                g_autofree char *name = g_strdup_printf ("%.*s%0*" G_GUINT64_FORMAT, (int) stem,
                                                         list, (int) width, i);
                if (redactor->nodes++ >= MAX_NODES)
                  return;
                gemem_redactor_hide_host (redactor, name, -1);
              }
          }
      while (p < end && *p != ',')
        p++;
      list = p + 1;
    }
}

/* The length of the list of nodes at @p, in whose brackets commas do not end a word. */
static gsize
nodes_length (const char *p)
{
  gsize n = 0;

  while (n <= MAX_QUOTED && (is_name (p[n]) || is_one_of (p[n], "._-[],")))
    n++;
  return n;
}

/* TRUE if the word of @n bytes is an option with a value behind a space, "--user bob", and not the
 * one of pip that has none. */
static gboolean
is_option (const Scan *scan, const char *p, gsize n)
{
  return p - scan->text >= 2 && p[-1] == '-' && p[-2] == '-' && p[n] == ' '
         && (is_name (p[n + 1]) || is_one_of (p[n + 1], "\"'"))
         && !is_behind (scan, p, " install ");
}

/* Takes a process id with the word before it, and learns from settings of the environment. */
static gsize
take_labelled (const Scan *scan, const char *p)
{
  static const char *const processes[] = { "pid",     "ppid",       "tgid", "tid",
                                           "process", "process id", NULL };
  static const char *const users[] = { "user", "username", "logname", "login", NULL };
  static const char *const hosts[] = { "host",          "hostname",    "nodename",
                                       "master_addr",   "master-addr", "rdzv_endpoint",
                                       "rdzv-endpoint", NULL };
  static const char *const lists[] = { "nodelist", NULL };
  gsize n = 0, value, digits;

  if (scan->kind == GEMEM_TEXT_SYMBOL || scan->kind == GEMEM_TEXT_PART)
    return 0;
  while (n < MAX_LABEL && (g_ascii_isalpha (p[n]) || (n > 0 && is_one_of (p[n], "_-"))))
    n++;
  if (n == 7 && g_ascii_strncasecmp (p, "process id", 10) == 0)
    n = 10;
  if (n == 0 || is_name (p[n]))
    return 0;
  value = n + strspn (p + n, " :=#([");
  digits = strspn (p + value, G_CSET_DIGITS);
  if (value > n && digits > 0 && !is_name (p[value + digits]) && is_word (p, n, processes))
    {
      if (scan->out != NULL)
        {
          g_string_append_len (scan->out, p, (gssize) value);
          append_number (scan, "", &scan->redactor->processes, p + value, digits);
        }
      return value + digits;
    }
  if (p[n] != '=' && !is_option (scan, p, n))
    return 0;
  value = n + 1 + (is_one_of (p[n + 1], "\"'") ? 1 : 0);
  if (is_word (p, n, lists))
    {
      const gsize length = nodes_length (p + value);
      if (scan->out == NULL)
        learn_nodes (scan->redactor, p + value, length);
      else if (memchr (p + value, '[', length) != NULL)
        {
          g_string_append_len (scan->out, p, (gssize) value);
          append_number (scan, "host", &scan->redactor->hosts, p + value, length);
          return value + length;
        }
    }
  else if (scan->out == NULL)
    {
      gsize length = 0;
      while (length <= MAX_NAME
             && (is_name (p[value + length]) || is_one_of (p[value + length], "._-")))
        length++;
      if (is_word (p, n, users))
        gemem_redactor_hide_user (scan->redactor, p + value, (gssize) length);
      else if (is_word (p, n, hosts))
        gemem_redactor_hide_host (scan->redactor, p + value, (gssize) length);
    }
  return 0;
}

/* ---- text */

static gsize
take (const Scan *scan, const char *p)
{
  const gboolean begins = p == scan->text || !is_name (p[-1]);
  const gboolean whole = scan->kind != GEMEM_TEXT_PART;
  gsize n = 0;

  if (begins)
    learn_node (scan, p);
  if (begins && whole)
    n = take_url (scan, p);
  if (n == 0 && begins)
    n = take_site (scan, p);
  if (n == 0 && whole)
    n = take_absolute (scan, p);
  if (n == 0 && begins && whole)
    n = take_relative (scan, p);
  if (n == 0 && begins)
    n = take_account (scan, p);
  if (n == 0 && begins)
    n = take_address (scan, p);
  if (n == 0 && begins)
    n = take_labelled (scan, p);
  if (n == 0 && begins)
    n = take_name (scan, p);
  return n;
}

static void
scan_text (const Scan *scan)
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
  scan_text (&(const Scan){ redactor, text, kind, NULL });
}

void
gemem_redactor_append (GememRedactor *redactor, GString *out, const char *text, GememTextKind kind)
{
  scan_text (&(const Scan){ redactor, text, kind, out });
}

/* ---- files of frames */

/* A file, taken apart: TEXT = directory + tail + a query of `cut` bytes that a URL may have. */
typedef struct
{
  const char *tail;
  gsize length;           /* of the tail */
  gsize cut;              /* bytes behind it */
  const char *marker;     /* what origin.h looks for and the tail lacks: "site-packages/"; or "" */
  gboolean has_directory; /* the number of the directory is always shown */
} FileParts;

/* The last @folder of @file that is a whole part of the path; NULL: there is none. */
static const char *
find_folder (const char *file, const char *folder)
{
  const gsize n = strlen (folder);
  const char *found = NULL;

  for (const char *p = strstr (file, folder); p != NULL; p = strstr (p + n, folder))
    if ((p == file || is_separator (p[-1])) && is_separator (p[n]))
      found = p;
  return found;
}

/* The last "lib/python3.11/" of @file. */
static const char *
find_standard_library (const char *file)
{
  static const char prefix[] = "/lib/python";
  const char *found = NULL;

  for (const char *p = strstr (file, prefix); p != NULL; p = strstr (p + 1, prefix))
    {
      const char *version = p + strlen (prefix);
      const gsize n = strspn (version, G_CSET_DIGITS ".");
      if (n > 0 && version[n] == '/')
        found = p + 1;
    }
  return found;
}

static void
take_apart (const char *file, FileParts *parts)
{
  static const char *const packages[] = { "site-packages", "dist-packages" };
  static const char *const markers[] = { "site-packages/", "dist-packages/" };
  gsize n = strlen (file);

  *parts = (FileParts){ .marker = "" };
  if (strstr (file, "://") != NULL)
    parts->cut = n - strcspn (file, "?#");
  n -= parts->cut;
  for (guint i = 0; i < G_N_ELEMENTS (packages) && parts->tail == NULL; i++)
    {
      parts->tail = find_folder (file, packages[i]);
      if (parts->tail == NULL && strstr (file, markers[i]) != NULL)
        parts->marker = markers[i];
    }
  if (parts->tail == NULL && *parts->marker == '\0' && strstr (file, "/lib/python") != NULL)
    {
      parts->tail = find_standard_library (file);
      parts->marker = parts->tail == NULL ? "lib/python/" : "";
      parts->has_directory = TRUE;
    }
  if (parts->tail == NULL || parts->tail >= file + n)
    parts->tail = base_of (file, n);
  parts->length = (gsize) (file + n - parts->tail);
  if (parts->length == 0 || (*parts->tail == '<' && *file != '<'))
    parts->has_directory = TRUE;
}

/* TRUE for "<string>" and what else is no path. */
static gboolean
is_no_path (const char *file)
{
  return *file == '<' || strpbrk (file, "/\\") == NULL;
}

void
gemem_redactor_learn_file (GememRedactor *redactor, const char *file)
{
  FileParts parts;
  gpointer known;

  if (*file == '<')
    gemem_redactor_learn (redactor, file, GEMEM_TEXT_FREE);
  else if (strstr (file, "://") != NULL)
    gemem_redactor_learn (redactor, file, GEMEM_TEXT_COMMAND);
  else
    learn_path (redactor, file, strlen (file));
  if (*file == '<')
    return;
  take_apart (file, &parts);
  g_autofree char *tail = g_strndup (parts.tail, parts.length);
  g_autofree char *directory = g_strndup (file, (gsize) (parts.tail - file));
  if (!g_hash_table_lookup_extended (redactor->tails, tail, NULL, &known))
    g_hash_table_insert (redactor->tails, g_steal_pointer (&tail), g_steal_pointer (&directory));
  else if (known != NULL && strcmp (known, directory) != 0)
    g_hash_table_insert (redactor->tails, g_steal_pointer (&tail), NULL);
}

void
gemem_redactor_append_file (GememRedactor *redactor, GString *out, const char *file)
{
  FileParts parts;

  if (is_no_path (file))
    {
      gemem_redactor_append (redactor, out, file, *file == '<' ? GEMEM_TEXT_FREE : GEMEM_TEXT_PART);
      return;
    }
  gemem_redactor_learn_file (redactor, file);
  take_apart (file, &parts);
  g_autofree char *tail = g_strndup (parts.tail, parts.length);
  if (parts.has_directory
      || (g_hash_table_lookup (redactor->tails, tail) == NULL && parts.tail > file))
    {
      append_directory (redactor, out, file, (gsize) (parts.tail - file));
      if (parts.length > 0 || *parts.marker != '\0')
        g_string_append_c (out, '/');
    }
  g_string_append (out, parts.marker);
  gemem_redactor_append (redactor, out, tail, GEMEM_TEXT_PART);
  if (parts.cut > 0)
    g_string_append_c (out, '?');
}

void
gemem_redactor_append_file_number (GString *out, const char *file, guint32 number)
{
  const char *base = base_of (file, strlen (file));
  const gsize n = strlen (base), extension = known_extension (base, n);

  if (*file == '<')
    {
      g_string_append_printf (out, "<file%u>", number);
      return;
    }
  if (strstr (file, "site-packages/") != NULL || strstr (file, "dist-packages/") != NULL)
    g_string_append (out, "site-packages/");
  else if (strstr (file, "/lib/python") != NULL)
    g_string_append (out, "/lib/python/");
  g_string_append_printf (out, "file%u%s", number, base + n - extension);
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
