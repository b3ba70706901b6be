/* sources.c - programs that the program compiled while it runs: their text, the parameters of their
 * kernels, their PTX (replay.h).
 *
 * The sizes of parameters are read from the text where they are plain types, arrays of CuPy
 * (CArray) or their indices (CIndexer); a kernel with others has the whole program compiled at its
 * first launch. What is read is held against the PTX before a kernel is run.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dry/replay/replay-private.h"

#define MARK "// made by a dry run of gemem: kernels without code\n// source "
#define PARAMETERS_MAX 64

struct _GememReplaySource
{
  char *text;
  char **options, **expressions, **told; /* told: the names that the program knows */
  char **named;                          /* those in the PTX */
  gboolean compiled, lost;
  GememPtx *ptx;
  GHashTable *parameters; /* name -> GArray of ReplayParameter; NULL: not known */
};

static GPtrArray *sources;
static GMutex mutex;
static GememReplayCompiler compiler;

static void
parameters_free (gpointer parameters)
{
  if (parameters != NULL)
    g_array_unref (parameters);
}

static char **
copy_options (int n, const char *const *options)
{
  char **copies = g_new0 (char *, MAX (n, 0) + 1);
  for (int i = 0; i < n; i++)
    copies[i] = g_strdup (options[i]);
  return copies;
}

char *
gemem_replay_source_add (const char *text, int n_options, const char *const *options,
                         const char *const *names)
{
  GememReplaySource *source = g_new0 (GememReplaySource, 1);
  const guint n = g_strv_length ((char **) names) / 2;
  guint number;

  source->text = g_strdup (text);
  source->options = copy_options (n_options, options);
  source->expressions = g_new0 (char *, n + 1);
  source->told = g_new0 (char *, n + 1);
  source->named = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++)
    {
      source->expressions[i] = g_strdup (names[2 * i]);
      source->told[i] = g_strdup (names[2 * i + 1]);
    }
  source->parameters = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, parameters_free);
  g_mutex_lock (&mutex);
  if (sources == NULL)
    sources = g_ptr_array_new ();
  number = sources->len;
  g_ptr_array_add (sources, source);
  g_mutex_unlock (&mutex);
  return g_strdup_printf (MARK "%u\n", number);
}

GememReplaySource *
gemem_replay_source_of (const void *image)
{
  GememReplaySource *source = NULL;

  if (strncmp (image, MARK, strlen (MARK)) != 0)
    return NULL;
  g_mutex_lock (&mutex);
  const guint64 number = g_ascii_strtoull ((const char *) image + strlen (MARK), NULL, 10);
  if (sources != NULL && number < sources->len)
    source = sources->pdata[number];
  g_mutex_unlock (&mutex);
  return source;
}

void
gemem_replay_source_lose (GememReplaySource *source)
{
  source->lost = TRUE;
}

void
gemem_replay_set_compiler (GememReplayCompiler compile)
{
  compiler = compile;
}

/* ---- code */

/* CuPy's header of complex numbers takes most of the time; kernels that do not name them do
 * without. */
static char *
without_complex (const char *text)
{
  static const char header[] = "#include <cupy/complex.cuh>";
  const char *at = strstr (text, header);

  if (at == NULL || strstr (at + strlen (header), "complex") != NULL
      || strstr (at, "thrust") != NULL)
    return NULL;
  return g_strdup_printf ("%.*s%s", (int) (at - text), text, at + strlen (header));
}

static __thread gboolean compiles;

gboolean
gemem_replay_compiles (void)
{
  return compiles;
}

static char *
compile_text (GememReplaySource *source, const char *text)
{
  compiles = TRUE;
  char *ptx = compiler (text, g_strv_length (source->options),
                        (const char *const *) source->options, g_strv_length (source->expressions),
                        (const char *const *) source->expressions, source->named);
  compiles = FALSE;
  return ptx;
}

static void
compile (GememReplaySource *source)
{
  g_autofree char *shorter = without_complex (source->text);
  g_autofree char *ptx = NULL;

  source->compiled = TRUE;
  if (compiler == NULL)
    return;
  if (shorter != NULL)
    ptx = compile_text (source, shorter);
  if (ptx == NULL)
    ptx = compile_text (source, source->text);
  if (ptx != NULL)
    source->ptx = gemem_ptx_parse (ptx);
}

const GememPtxFunction *
gemem_replay_code (GememReplaySource *source, const char *name)
{
  if (!source->compiled)
    compile (source);
  if (source->ptx == NULL || source->lost)
    return NULL;
  for (guint i = 0; source->told[i] != NULL; i++)
    if (strcmp (source->told[i], name) == 0)
      name = source->named[i] != NULL ? source->named[i] : name;
  return gemem_ptx_kernel (source->ptx, name);
}

/* ---- parameters */

typedef struct
{
  const char *name;
  guint16 size;
} Plain;

static const Plain plain_types[] = { { "bool", 1 },
                                     { "char", 1 },
                                     { "signed char", 1 },
                                     { "unsigned char", 1 },
                                     { "short", 2 },
                                     { "unsigned short", 2 },
                                     { "int", 4 },
                                     { "unsigned int", 4 },
                                     { "unsigned", 4 },
                                     { "long", 8 },
                                     { "unsigned long", 8 },
                                     { "long long", 8 },
                                     { "unsigned long long", 8 },
                                     { "float", 4 },
                                     { "double", 8 },
                                     { "float16", 2 },
                                     { "complex<float>", 8 },
                                     { "complex<double>", 16 },
                                     { "size_t", 8 },
                                     { "ptrdiff_t", 8 },
                                     { "int8_t", 1 },
                                     { "uint8_t", 1 },
                                     { "int16_t", 2 },
                                     { "uint16_t", 2 },
                                     { "int32_t", 4 },
                                     { "uint32_t", 4 },
                                     { "int64_t", 8 },
                                     { "uint64_t", 8 } };

/* How many dimensions "CArray<T, 2, 1, 1>" or "CIndexer<2, 1>" has; -1: it is none of them. */
static int
dimensions (const char *type, guint argument)
{
  int depth = 0;

  for (const char *at = strchr (type, '<'); at != NULL && *at != '\0'; at++)
    {
      depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
      if ((depth == 1 && *at == ',' && --argument == 0)
          || (argument == 0 && *at == '<' && depth == 1))
        return g_ascii_isdigit (*(at + 1 + strspn (at + 1, " "))) ? atoi (at + 1) : -1;
    }
  return -1;
}

/* What "typedef X NAME;" says that NAME is; NULL: nothing. */
static char *
definition (const char *text, const char *name)
{
  const gsize length = strlen (name);

  for (const char *at = text; (at = strstr (at, "typedef ")) != NULL;)
    {
      at += strlen ("typedef ");
      const char *end = strchr (at, ';');
      if (end != NULL && (gsize) (end - at) > length + 1
          && strncmp (end - length, name, length) == 0 && end[-(gssize) length - 1] == ' ')
        return g_strstrip (g_strndup (at, (gsize) (end - at) - length));
    }
  return NULL;
}

/* The bytes of @type; 0: not known. */
static guint16
size_of (const char *text, const char *type, int depth)
{
  int n;

  for (guint i = 0; i < G_N_ELEMENTS (plain_types); i++)
    if (strcmp (type, plain_types[i].name) == 0)
      return plain_types[i].size;
  if (g_str_has_prefix (type, "CArray<") && (n = dimensions (type, 1)) >= 0 && n <= 32)
    return (guint16) (16 + 16 * n);
  if (g_str_has_prefix (type, "CIndexer<") && (n = dimensions (type, 0)) >= 0 && n <= 32)
    return (guint16) (8 + 16 * n);
  g_autofree char *other = depth < 4 ? definition (text, type) : NULL;
  return other != NULL ? size_of (text, other, depth + 1) : 0;
}

static gboolean
take_word (char *text, const char *word)
{
  char *at = strstr (text, word);
  const gsize length = strlen (word);

  if (at == NULL || (at > text && (g_ascii_isalnum (at[-1]) || at[-1] == '_'))
      || g_ascii_isalnum (at[length]) || at[length] == '_')
    return FALSE;
  memset (at, ' ', length);
  return TRUE;
}

/* "const CArray<float, 1, 1, 1> _raw_x" */
static gboolean
read_parameter (const char *text, char *declaration, ReplayParameter *parameter)
{
  char *end = declaration + strlen (declaration);
  const char *star = strchr (declaration, '*');

  parameter->constant = take_word (declaration, "const");
  take_word (declaration, "__restrict__");
  take_word (declaration, "volatile");
  if (star != NULL)
    {
      parameter->size = 8;
      return TRUE;
    }
  while (end > declaration && g_ascii_isspace (end[-1]))
    end--;
  while (end > declaration && (g_ascii_isalnum (end[-1]) || end[-1] == '_'))
    end--;
  *end = '\0';
  parameter->size = size_of (text, g_strstrip (declaration), 0);
  return parameter->size > 0;
}

/* Those between "(" at @at and its ")". */
static GArray *
read_parameters (const char *text, const char *at)
{
  GArray *parameters = g_array_new (FALSE, TRUE, sizeof (ReplayParameter));
  int depth = 0;

  for (const char *from = ++at;; at++)
    {
      depth += *at == '<' || *at == '(' ? 1 : *at == '>' || (*at == ')' && depth > 0) ? -1 : 0;
      if (*at == '\0')
        break;
      if ((*at == ',' && depth == 0) || (*at == ')' && depth == 0))
        {
          g_autofree char *declaration = g_strstrip (g_strndup (from, (gsize) (at - from)));
          ReplayParameter parameter = { 0 };
          if (*declaration == '\0' && *at == ')')
            return parameters;
          if (!read_parameter (text, declaration, &parameter))
            break;
          g_array_append_val (parameters, parameter);
          if (*at == ')')
            return parameters;
          from = at + 1;
        }
    }
  g_array_unref (parameters);
  return NULL;
}

static GArray *
parameters_in_text (const char *text, const char *name)
{
  const gsize length = strlen (name);

  for (const char *at = text; (at = strstr (at, "__global__")) != NULL;)
    {
      at += strlen ("__global__");
      const char *open = strchr (at, '(');
      while (open != NULL && g_str_has_prefix (at + strspn (at, " \n\tvoid"), "__launch_bounds__"))
        {
          at = strchr (open, ')') != NULL ? strchr (open, ')') + 1 : open + 1;
          open = strchr (at, '(');
        }
      if (open != NULL && open - at > (gssize) length && strncmp (open - length, name, length) == 0
          && g_ascii_isspace (open[-(gssize) length - 1]))
        return read_parameters (text, open);
    }
  return NULL;
}

static GArray *
parameters_in_code (GememReplaySource *source, const char *name)
{
  const GememPtxFunction *code = gemem_replay_code (source, name);
  GArray *parameters;

  if (code == NULL)
    return NULL;
  parameters = g_array_new (FALSE, TRUE, sizeof (ReplayParameter));
  for (guint i = 1; i < gemem_ptx_parameters (code)->len; i += 2)
    {
      const ReplayParameter parameter = { .size = g_array_index (gemem_ptx_parameters (code),
                                                                 guint16, i) };
      g_array_append_val (parameters, parameter);
    }
  return parameters;
}

const GArray *
gemem_replay_parameters (GememReplaySource *source, const char *name)
{
  gpointer known;

  if (!g_hash_table_lookup_extended (source->parameters, name, NULL, &known))
    {
      known = parameters_in_text (source->text, name);
      if (known == NULL)
        known = parameters_in_code (source, name);
      g_hash_table_insert (source->parameters, g_strdup (name), known);
    }
  return known;
}
