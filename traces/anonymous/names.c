/* names.c - names of users and hosts that were learned, and the numbers that stand for them
 * (scan.h).
 */
#include "config.h"

#include "traces/anonymous/scan.h"

#define WINDOW 64 /* how far before a word a command is looked for */

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
char *
gemem_redactor_domain (const char *name, gsize n)
{
  const char *dot = g_strrstr_len (name, (gssize) n, "."), *domain;

  if (dot == NULL || dot == name || !g_ascii_isalpha (dot[1]) || n > MAX_NAME)
    return NULL;
  domain = g_strrstr_len (name, dot - name, ".");
  domain = domain != NULL ? domain + 1 : name;
  return domain < dot ? g_ascii_strdown (domain, name + n - domain) : NULL;
}

/* Hides a host by its whole name, and makes its domain known. */
void
gemem_redactor_hide_whole_host (GememRedactor *redactor, const char *name, gsize n)
{
  char *domain = gemem_redactor_domain (name, n);

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

  gemem_redactor_hide_whole_host (redactor, name, length);
  if (dot != NULL)
    hide (redactor, &redactor->hosts, name, dot - name);
}

void
gemem_scan_number (const GememScan *scan, const char *what, GememNumbers *numbers, const char *text,
                   gsize n)
{
  g_string_append_printf (scan->out, "%s%u", what, gemem_numbers_get (numbers, text, (gssize) n));
}

/* Takes the longest known name at @p; returns its length, or 0. */
gsize
gemem_scan_name (const GememScan *scan, const char *p)
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
      gemem_scan_number (scan, kind == &redactor->users ? "user" : "host", kind, name, best);
    }
  return best;
}

/* TRUE if @command stands close before @p. */
gboolean
gemem_scan_is_behind (const GememScan *scan, const char *p, const char *command)
{
  const gsize window = MIN ((gsize) (p - scan->text), WINDOW);
  return g_strstr_len (p - window, (gssize) window, command) != NULL;
}
