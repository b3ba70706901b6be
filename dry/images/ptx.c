/* ptx.c - reads PTX: its kernels, their launch bounds and shared memory, and variables.
 *
 * The driver would compile PTX, which decides registers and local memory; no compiler is at hand,
 * so these stay unknown (0).
 *
 * Origin: NVIDIA's "Parallel Thread Execution ISA", the sections on directives and state spaces.
 */
#include "config.h"

#include <string.h>

#include "dry/images/images-private.h"

#define FIGURE_MAX (1 << 30)

/* A word, a number or a single character. */
typedef struct
{
  const char *start;
  gsize length;
} Token;

typedef struct
{
  const char *at, *end;
  GememDryImage *image;
  int target;
  GHashTable *shared;     /* name -> bytes, of shared variables outside of kernels */
  GHashTable *seen;       /* names of these that the kernel being read has used */
  GememDryKernel *kernel; /* being read, or NULL */
  guint depth;            /* of braces */
  guint parentheses;      /* in lists of parameters */
} Ptx;

/* ---- tokens */

static void
skip_space (Ptx *ptx)
{
  while (ptx->at < ptx->end)
    {
      const gsize left = ptx->end - ptx->at;
      const char *found;

      if (g_ascii_isspace (*ptx->at))
        ptx->at++;
      else if (left >= 2 && memcmp (ptx->at, "//", 2) == 0)
        ptx->at = (found = memchr (ptx->at, '\n', left)) != NULL ? found : ptx->end;
      else if (left >= 2 && memcmp (ptx->at, "/*", 2) == 0)
        ptx->at = (found = g_strstr_len (ptx->at + 2, left - 2, "*/")) != NULL ? found + 2
                                                                               : ptx->end;
      else
        break;
    }
}

static gboolean
is_word (char c)
{
  return g_ascii_isalnum (c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* FALSE: the end. A text in quotes is one token. */
static gboolean
next_token (Ptx *ptx, Token *token)
{
  skip_space (ptx);
  if (ptx->at == ptx->end)
    return FALSE;
  token->start = ptx->at;
  if (*ptx->at == '"')
    {
      const char *quote = memchr (ptx->at + 1, '"', ptx->end - ptx->at - 1);
      ptx->at = quote != NULL ? quote + 1 : ptx->end;
    }
  else if (is_word (*ptx->at))
    while (ptx->at < ptx->end && is_word (*ptx->at))
      ptx->at++;
  else
    ptx->at++;
  token->length = ptx->at - token->start;
  return TRUE;
}

static gboolean
is (const Token *token, const char *text)
{
  return token->length == strlen (text) && memcmp (token->start, text, token->length) == 0;
}

/* A number, at most FIGURE_MAX. */
static int
token_number (const Token *token)
{
  guint64 value = 0;

  for (gsize i = 0; i < token->length && g_ascii_isdigit (token->start[i]); i++)
    value = MIN (10 * value + (token->start[i] - '0'), FIGURE_MAX);
  return (int) value;
}

/* Up to three numbers with commas between them; those that are missing are 1. */
static void
three_numbers (Ptx *ptx, int *values)
{
  Token token;
  const char *before;

  for (guint i = 0; i < 3; i++)
    values[i] = 1;
  for (guint i = 0; i < 3; i++)
    {
      if (!next_token (ptx, &token))
        return;
      values[i] = token_number (&token);
      before = ptx->at;
      if (!next_token (ptx, &token) || !is (&token, ","))
        {
          ptx->at = before;
          return;
        }
    }
}

/* ---- variables */

/* Bytes of a type such as ".b32" or ".f16x2"; 0: it is none. */
static int
type_size (const Token *token)
{
  int bits = 0;
  gsize i = 1;

  if (token->length < 3 || token->start[0] != '.' || strchr ("busf", token->start[1]) == NULL)
    return 0;
  while (i < token->length && g_ascii_isalpha (token->start[i]))
    i++;
  for (; i < token->length && g_ascii_isdigit (token->start[i]); i++)
    bits = MIN (10 * bits + (token->start[i] - '0'), 1024);
  return bits / 8 * (i + 2 == token->length && memcmp (token->start + i, "x2", 2) == 0 ? 2 : 1);
}

/* Reads a declaration after its state space, up to its name and dimensions; *@size in bytes. */
static gboolean
declaration (Ptx *ptx, Token *name, guint64 *size, guint64 *align)
{
  Token token;
  const char *before;
  int element = 0, vector = 1;

  *align = 0;
  for (;;)
    {
      if (!next_token (ptx, &token))
        return FALSE;
      if (is (&token, ".align"))
        {
          if (!next_token (ptx, &token))
            return FALSE;
          *align = token_number (&token);
        }
      else if (is (&token, ".v2") || is (&token, ".v4"))
        vector = token.start[2] - '0';
      else if (token.start[0] == '.')
        element = MAX (element, type_size (&token));
      else
        break;
    }
  *name = token;
  *size = (guint64) element * vector;
  *align = MAX (*align, MAX (*size, 1));
  for (;;)
    {
      before = ptx->at;
      if (!next_token (ptx, &token) || !is (&token, "[") || !next_token (ptx, &token))
        break;
      *size *= token_number (&token); /* "[]" is 0 */
      if (*size > FIGURE_MAX)
        *size = FIGURE_MAX;
      if (!is (&token, "]"))
        next_token (ptx, &token);
    }
  ptx->at = before;
  return is_word (name->start[0]);
}

static void
add_shared (GememDryKernel *kernel, guint64 size, guint64 align)
{
  guint64 start = (kernel->static_shared + align - 1) / align * align;

  kernel->static_shared = (int) MIN (start + size, FIGURE_MAX);
}

/* A variable in the state space @space. */
static gboolean
variable (Ptx *ptx, const Token *space, gboolean is_external)
{
  Token name;
  guint64 size, align;

  if (!declaration (ptx, &name, &size, &align))
    return FALSE;
  if (is_external)
    return TRUE;
  if (!is (space, ".shared"))
    return ptx->depth > 0 || gemem_dry_image_add_symbol (ptx->image, name.start, name.length, size);
  if (ptx->kernel != NULL)
    add_shared (ptx->kernel, size, align);
  else if (ptx->depth == 0)
    g_hash_table_replace (ptx->shared, g_strndup (name.start, name.length),
                          GUINT_TO_POINTER ((guint) size));
  return TRUE;
}

/* ---- kernels */

static void
use_shared (Ptx *ptx, const Token *token)
{
  char *name;
  guint size;

  if (g_hash_table_size (ptx->shared) == 0 || token->length > 4096)
    return;
  name = g_strndup (token->start, token->length);
  size = GPOINTER_TO_UINT (g_hash_table_lookup (ptx->shared, name));
  if (size > 0 && g_hash_table_add (ptx->seen, name))
    add_shared (ptx->kernel, size, 16);
  else if (size == 0)
    g_free (name);
}

static void
kernel_bounds (Ptx *ptx, const Token *directive)
{
  int values[3];

  three_numbers (ptx, values);
  if (is (directive, ".reqnctapercluster"))
    memcpy (ptx->kernel->cluster, values, sizeof values);
  else
    ptx->kernel->max_threads = (int) MIN ((guint64) MIN (values[0], 1 << 20)
                                              * MIN (values[1], 1 << 20) * MIN (values[2], 1 << 20),
                                          FIGURE_MAX);
}

/* Any other token: braces and the uses of variables. FALSE: damaged. */
static gboolean
plain_token (Ptx *ptx, const Token *token)
{
  if (is (token, "{"))
    ptx->depth++;
  else if (is (token, "}"))
    {
      if (ptx->depth == 0)
        return FALSE;
      if (--ptx->depth == 0)
        ptx->kernel = NULL;
    }
  else if (is (token, "("))
    {
      ptx->parentheses++;
      if (ptx->kernel != NULL && ptx->depth == 0 && ptx->kernel->parameters == NULL)
        ptx->kernel->parameters = g_array_new (FALSE, TRUE, sizeof (guint16));
    }
  else if (is (token, ")"))
    ptx->parentheses -= ptx->parentheses > 0;
  else if (ptx->kernel != NULL && ptx->depth > 0 && is_word (token->start[0]))
    use_shared (ptx, token);
  return TRUE;
}

/* A parameter of the kernel being read. */
static gboolean
parameter (Ptx *ptx)
{
  Token name;
  guint64 size, align;
  guint16 bytes;

  if (!declaration (ptx, &name, &size, &align))
    return FALSE;
  bytes = (guint16) MIN (size, G_MAXUINT16);
  g_array_append_val (ptx->kernel->parameters, bytes);
  return TRUE;
}

static gboolean
one_token (Ptx *ptx, const Token *token, gboolean is_external)
{
  Token name;

  if (ptx->parentheses > 0 && ptx->kernel != NULL && ptx->depth == 0 && is (token, ".param"))
    return parameter (ptx);
  if (ptx->parentheses > 0)
    return plain_token (ptx, token);
  if (is (token, ".target") && next_token (ptx, &name) && name.length > 3)
    ptx->target = token_number (&(Token){ name.start + 3, name.length - 3 });
  else if (is (token, ".entry") && ptx->depth == 0 && next_token (ptx, &name))
    {
      g_hash_table_remove_all (ptx->seen);
      ptx->kernel = gemem_dry_image_add (ptx->image, name.start, name.length);
      if (ptx->kernel == NULL)
        return FALSE;
      ptx->kernel->binary_version = ptx->image->sm; /* compiled for it */
      ptx->kernel->ptx_version = ptx->target;
      ptx->kernel->idle = TRUE;
      g_clear_pointer (&ptx->kernel->parameters, g_array_unref); /* declared before */
    }
  else if (is (token, ".func") && ptx->depth == 0)
    ptx->kernel = NULL;
  else if (is (token, ".reg") && ptx->kernel != NULL)
    ptx->kernel->idle = FALSE;
  else if (ptx->kernel != NULL && ptx->depth == 0
           && (is (token, ".maxntid") || is (token, ".reqntid")
               || is (token, ".reqnctapercluster")))
    kernel_bounds (ptx, token);
  else if (is (token, ".shared")
           || (ptx->depth == 0 && (is (token, ".global") || is (token, ".const"))))
    return variable (ptx, token, is_external);
  else
    return plain_token (ptx, token);
  return TRUE;
}

/* PTX ends with its first NUL byte. */
static const char *
text_end (GememBytes text)
{
  const char *start = (const char *) text.data;

  return text.size > 0 ? start + strnlen (start, text.size) : start;
}

gboolean
gemem_dry_is_ptx (GememBytes text)
{
  Ptx ptx = { .at = (const char *) text.data, .end = text_end (text) };
  Token token;

  return next_token (&ptx, &token) && is (&token, ".version");
}

gboolean
gemem_dry_ptx_read (GememBytes text, GememDryImage *image)
{
  Ptx ptx = { .at = (const char *) text.data, .end = text_end (text), .image = image };
  Token token;
  gboolean good = gemem_dry_is_ptx (text), is_external = FALSE;

  ptx.shared = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  ptx.seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  while (good && next_token (&ptx, &token))
    {
      good = one_token (&ptx, &token, is_external);
      is_external = is (&token, ".extern");
    }
  g_hash_table_unref (ptx.shared);
  g_hash_table_unref (ptx.seen);
  return good && ptx.depth == 0;
}
