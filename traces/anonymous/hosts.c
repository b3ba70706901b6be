/* hosts.c - takes URLs, addresses of networks, dotted names of hosts and accounts out of text
 * (scan.h).
 */
#include "config.h"

#include "traces/anonymous/scan.h"

#define MAX_LOCAL 64  /* longest user in user@host */
#define MAX_SCHEME 15 /* longest scheme of a URL */

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
gsize
gemem_scan_url (const GememScan *scan, const char *p)
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
    return scheme + authority
           + gemem_scan_path (scan, p + scheme + authority, n - scheme - authority);
  if (scan->out != NULL)
    gemem_scan_number (scan, "url", &scan->redactor->urls, p, n);
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

/* The length of the IPv6 or MAC address at @p: eight groups, six or eight pairs of digits,
 * or "::" behind what a routable or local address begins with, so that "c10d::add" is none.
 * 0: no address. */
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
gsize
gemem_scan_address (const GememScan *scan, const char *p)
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
      gemem_scan_number (scan, "host", &scan->redactor->hosts, lower, n);
    }
  return n;
}

/* Takes user@host, or the user before an address. */
gsize
gemem_scan_account (const GememScan *scan, const char *p)
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
        gemem_scan_number (scan, "user", &scan->redactor->users, lower, user);
      return user;
    }
  if (!is_name (*name))
    return 0;
  while (host <= MAX_NAME && (is_name (name[host]) || is_one_of (name[host], ".-")))
    host++;
  while (host > 0 && !is_name (name[host - 1]))
    host--;
  if (scan->kind == GEMEM_TEXT_PART)
    host -= gemem_path_extension (name, host);
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
      gemem_scan_number (scan, "user", &scan->redactor->users, lower_user, user);
      gemem_scan_number (scan, "@host", &scan->redactor->hosts, lower_host, host);
    }
  return user + 1 + host;
}

/* ---- "www.corp.com", "node-17.cluster.corp.com" */

/* The length of the dotted name that begins at @p, without the extension of a file; 0:
 * there is none. */
static gsize
dotted_length (const GememScan *scan, const char *p)
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
  n -= gemem_path_extension (p, n);
  return g_strstr_len (p, (gssize) n, "..") == NULL ? n : 0;
}

/* TRUE if the dotted name of @n bytes is that of a host and not of a Python module: of the endings
 * that are names in programs too ("skimage.io", "threading.local", "policy.net") only what a path
 * or a port follows, and, of those of a local network, what looks like the name of a machine. */
static gboolean
is_obvious_host (const GememScan *scan, const char *p, gsize n)
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

/* Takes a dotted name that is a host by itself or by its domain, and the path behind it: a URL
 * without its scheme. */
gsize
gemem_scan_site (const GememScan *scan, const char *p)
{
  const gsize n = is_name (*p) ? dotted_length (scan, p) : 0;
  g_autofree char *domain = n > 0 ? gemem_redactor_domain (p, n) : NULL;
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
    gemem_redactor_hide_whole_host (scan->redactor, p, n);
  else if (path > n + 1)
    gemem_scan_number (scan, "url", &scan->redactor->urls, p, path);
  else
    {
      g_autofree char *lower = g_ascii_strdown (p, (gssize) n);
      gemem_scan_number (scan, "host", &scan->redactor->hosts, lower, n);
    }
  return path > n + 1 ? path : n;
}

/* Learns NODE of "NODE:/path": behind a command that copies, or if NODE has letters and digits. */
void
gemem_scan_node (const GememScan *scan, const char *p)
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
      || gemem_path_extension (p, n) > 0)
    return;
  if ((digit && letter) || gemem_scan_is_behind (scan, p, "scp ")
      || gemem_scan_is_behind (scan, p, "rsync "))
    gemem_redactor_hide_host (scan->redactor, p, (gssize) n);
}
