/* compilers.c - nvrtc: a program "compiles" to PTX that has its kernels, empty; CUPTI, which says
 * that it cannot profile; NVSHMEM, which was not initialised (library.h).
 *
 * A kernel is a function declared __global__; one that is asked for by an expression of its name
 * has a name made from it. What it needs of registers and shared memory is not known. The source is
 * kept, for kernels whose results the program reads (dry/replay).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dry/libraries/library.h"
#include "dry/replay/replay.h"

#define SUCCESS 0
#define INVALID_INPUT 3
#define NAME_EXPRESSION_NOT_VALID 10
#define SOURCE 1
#define PTX 2
#define FIRST_NAME 100 /* attributes: expressions and their names, in turn */

DRY_FUNCTION (int, nvrtcVersion, int *major, int *minor)
{
  INVALID_VALUE_UNLESS (major != NULL && minor != NULL, INVALID_INPUT);
  *major = gemem_library_version ("nvrtc", 0);
  *minor = gemem_library_version ("nvrtc", 1);
  return SUCCESS;
}

/* What nvrtc 12 and 13 compile for, of the GPUs that are known here. */
static const int architectures[] = { 75, 80, 86, 87, 89, 90, 100, 103, 120 };

DRY_FUNCTION (int, nvrtcGetNumSupportedArchs, int *count)
{
  INVALID_VALUE_UNLESS (count != NULL, INVALID_INPUT);
  *count = (int) G_N_ELEMENTS (architectures);
  return SUCCESS;
}

DRY_FUNCTION (int, nvrtcGetSupportedArchs, int *list)
{
  INVALID_VALUE_UNLESS (list != NULL, INVALID_INPUT);
  memcpy (list, architectures, sizeof architectures);
  return SUCCESS;
}

DRY_FUNCTION (const char *, nvrtcGetErrorString, int result)
{
  return result == SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR of a dry run of gemem";
}

DRY_FUNCTION (int, nvrtcCreateProgram, void **program, const char *source, const char *name,
              int n_headers, const char *const *headers, const char *const *names)
{
  INVALID_VALUE_UNLESS (program != NULL && source != NULL, INVALID_INPUT);
  *program = gemem_library_object_new ();
  gemem_library_keep (*program, SOURCE, source, strlen (source) + 1);
  return SUCCESS;
}

/* What cuDNN compiles is scrambled, and not read: its kernels are not known. (It calls this
 * function of nvrtc's, which no manual has; what stands behind the first argument was seen in calls
 * of cuDNN 9.1.) */
DRY_FUNCTION (int, __nvrtcCPEx, void **program)
{
  INVALID_VALUE_UNLESS (program != NULL, INVALID_INPUT);
  *program = gemem_library_object_new ();
  return SUCCESS;
}

DRY_FUNCTION (int, nvrtcDestroyProgram, void **program)
{
  INVALID_VALUE_UNLESS (program != NULL, INVALID_INPUT);
  gemem_library_object_free (*program);
  *program = NULL;
  return SUCCESS;
}

static char *
text_of (void *program, int id)
{
  const gsize size = gemem_library_kept (program, id, NULL, 0);
  char *text = g_malloc0 (size + 1);
  gemem_library_kept (program, id, text, size);
  return text;
}

/* ---- names */

static gboolean
is_name_character (char c)
{
  return g_ascii_isalnum (c) || c == '_' || c == '$';
}

/* Skips a group in brackets at @at, which is an opening one. */
static const char *
skip_brackets (const char *at)
{
  int depth = 0;

  do
    {
      depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
      at++;
    }
  while (*at != '\0' && depth > 0);
  return at;
}

/* The name of the function declared at @at, behind "__global__": the last one before its
 * parameters; attributes with arguments precede it. NULL: no function. */
static char *
function_name (const char *at)
{
  const char *name = NULL;
  gsize length = 0;

  while (*at != '\0' && *at != ';' && *at != '{')
    if (is_name_character (*at))
      {
        name = at;
        for (length = 0; is_name_character (at[length]); length++)
          ;
        at += length;
      }
    else if (*at == '(')
      {
        if (length > 0 && strncmp (name, "__launch_bounds__", length) != 0
            && strncmp (name, "__attribute__", length) != 0
            && strncmp (name, "__cluster_dims__", length) != 0
            && strncmp (name, "__maxnreg__", length) != 0)
          return g_strndup (name, length);
        at = skip_brackets (at);
        length = 0;
      }
    else
      at++;
  return NULL;
}

/* Without a list of parameters: the source says what they are, but not how large; a launch may
 * write anywhere. */
static void
add_entry (GString *ptx, const char *name)
{
  g_string_append_printf (ptx, "\n.visible .entry %s\n{\n\tret;\n}\n", name);
}

/* The name for an expression like "kernel<float, 4>": its characters that a name may have. */
static char *
lowered_name (const char *expression)
{
  GString *name = g_string_new ("_Zgemem_");

  for (; *expression != '\0'; expression++)
    if (is_name_character (*expression))
      g_string_append_c (name, *expression);
    else
      g_string_append_printf (name, "_%02x", (guint8) *expression);
  return g_string_free (name, FALSE);
}

DRY_FUNCTION (int, nvrtcAddNameExpression, void *program, const char *expression)
{
  int id = FIRST_NAME;

  INVALID_VALUE_UNLESS (program != NULL && expression != NULL, INVALID_INPUT);
  while (gemem_library_kept (program, id, NULL, 0) > 0)
    id += 2;
  g_autofree char *name = lowered_name (expression);
  gemem_library_keep (program, id + 1, name, strlen (name) + 1);
  gemem_library_keep (program, id, expression, strlen (expression) + 1);
  return SUCCESS;
}

/* The name belongs to the program, and is constant: interned. */
DRY_FUNCTION (int, nvrtcGetLoweredName, void *program, const char *expression, const char **name)
{
  INVALID_VALUE_UNLESS (program != NULL && expression != NULL && name != NULL, INVALID_INPUT);
  for (int id = FIRST_NAME; gemem_library_kept (program, id, NULL, 0) > 0; id += 2)
    {
      g_autofree char *known = text_of (program, id);
      g_autofree char *lowered = text_of (program, id + 1);
      if (strcmp (known, expression) == 0)
        {
          *name = g_intern_string (lowered);
          return SUCCESS;
        }
    }
  return NAME_EXPRESSION_NOT_VALID;
}

/* ---- compilation */

/* The number in "--gpu-architecture=sm_90a", "-arch=compute_80"; @otherwise without
 * such an option. */
static int
architecture (int n, const char *const *options, int otherwise)
{
  for (int i = 0; i < n && options != NULL; i++)
    {
      const char *at = strstr (options[i], "sm_"), *virtual = strstr (options[i], "compute_");
      if (at != NULL && g_ascii_isdigit (at[3]))
        return atoi (at + 3);
      if (virtual != NULL && g_ascii_isdigit (virtual[8]))
        return atoi (virtual + 8);
    }
  return otherwise;
}

/* The expressions and their names, in turn; free with g_strfreev(). */
static char **
names_of (void *program)
{
  GPtrArray *names = g_ptr_array_new ();

  for (int id = FIRST_NAME; gemem_library_kept (program, id, NULL, 0) > 0; id++)
    g_ptr_array_add (names, text_of (program, id));
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

DRY_FUNCTION (int, nvrtcCompileProgram, void *program, int n, const char *const *options)
{
  INVALID_VALUE_UNLESS (program != NULL, INVALID_INPUT);
  g_autoptr (GString) ptx = g_string_new (NULL);
  g_autofree char *source = text_of (program, SOURCE);
  g_auto (GStrv) names = names_of (program);
  g_autofree char *mark = gemem_replay_source_add (source, n, options, (const char *const *) names);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  g_string_printf (ptx, "%s.version 8.0\n.target sm_%d\n.address_size 64\n", mark,
                   architecture (n, options, 75));
  for (const char *at = source; (at = strstr (at, "__global__")) != NULL;)
    {
      at += strlen ("__global__");
      char *name = function_name (at);
      if (name != NULL && !g_hash_table_contains (seen, name))
        {
          add_entry (ptx, name);
          g_hash_table_add (seen, name);
        }
      else
        g_free (name);
    }
  for (int id = FIRST_NAME; gemem_library_kept (program, id, NULL, 0) > 0; id += 2)
    {
      g_autofree char *name = text_of (program, id + 1);
      add_entry (ptx, name);
    }
  gemem_library_keep (program, PTX, ptx->str, ptx->len + 1);
  return SUCCESS;
}

/* The code in every form is this PTX; the driver takes PTX where it takes a cubin. */
#define RESULT(kind) \
  DRY_FUNCTION (int, nvrtcGet##kind##Size, void *program, size_t *size) \
  { \
    INVALID_VALUE_UNLESS (program != NULL && size != NULL, INVALID_INPUT); \
    *size = gemem_library_kept (program, PTX, NULL, 0); \
    return SUCCESS; \
  } \
  DRY_FUNCTION (int, nvrtcGet##kind, void *program, char *to) \
  { \
    INVALID_VALUE_UNLESS (program != NULL && to != NULL, INVALID_INPUT); \
    gemem_library_kept (program, PTX, to, gemem_library_kept (program, PTX, NULL, 0)); \
    return SUCCESS; \
  }
RESULT (PTX)
RESULT (CUBIN)
RESULT (LTOIR)

DRY_FUNCTION (int, nvrtcGetProgramLogSize, void *program, size_t *size)
{
  INVALID_VALUE_UNLESS (size != NULL, INVALID_INPUT);
  *size = 1;
  return SUCCESS;
}

DRY_FUNCTION (int, nvrtcGetProgramLog, void *program, char *log)
{
  INVALID_VALUE_UNLESS (log != NULL, INVALID_INPUT);
  *log = '\0';
  return SUCCESS;
}

/* ---- CUPTI: profilers say that they cannot, and go on */

#define CUPTI_INVALID_PARAMETER 1
#define CUPTI_NOT_SUPPORTED 27

DRY_FUNCTION (int, cuptiGetResultString, int result, const char **text)
{
  INVALID_VALUE_UNLESS (text != NULL, CUPTI_INVALID_PARAMETER);
  *text = result == SUCCESS               ? "CUPTI_SUCCESS"
          : result == CUPTI_NOT_SUPPORTED ? "CUPTI_ERROR_NOT_SUPPORTED (a dry run of gemem)"
                                          : "CUPTI_ERROR of a dry run of gemem";
  return SUCCESS;
}

/* The version of the interface: of CUDA 12 and 13. */
DRY_FUNCTION (int, cuptiGetVersion, uint32_t *version)
{
  INVALID_VALUE_UNLESS (version != NULL, CUPTI_INVALID_PARAMETER);
  *version = gemem_library_version ("cupti", 0) >= 13 ? 130000 : 24;
  return SUCCESS;
}

/* Refused, as where profiling is not permitted: there is no kernel to see. */
DRY_FUNCTION (int, cuptiSubscribe, void **subscriber, void *function, void *data)
{
  gemem_dry_note (GEMEM_DRY_NOTE_TOLD,
                  "the program profiles the GPU, on which no kernel runs here; what NVIDIA's "
                  "profiler (CUPTI) takes of its memory, some MiB, is not counted");
  return CUPTI_NOT_SUPPORTED;
}

/* ---- NVSHMEM */

DRY_FUNCTION (int, nvshmemid_init_status, void)
{
  return 0; /* not initialised */
}
