/* parse.c - reads PTX: statements, names (ptx.h).
 *
 * Invariants: text of any kind is read without reaching beyond its end; a statement that is not
 * understood makes its function lost, not the others. Registers and variables of inner blocks have
 * names of their own, as compilers write them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dry/ptx/parse-private.h"

#define VARIABLES_MAX ((gsize) 1 << 20)
#define LOCAL_MAX 65536

typedef struct
{
  guint instruction;
  char *text;
} Jump;

static void
jump_free (gpointer data)
{
  g_free (((Jump *) data)->text);
  g_free (data);
}

static const char *const operation_names[] = {
#define PTX_OPERATION(id, text, traits) text,
#include "dry/ptx/operations.def"
#undef PTX_OPERATION
};

const guint8 gemem_ptx_traits[] = {
#define PTX_OPERATION(id, text, traits) traits,
#include "dry/ptx/operations.def"
#undef PTX_OPERATION
};
static const char *const word_names[] = {
#define PTX_WORD(id, text) text,
#include "dry/ptx/words.def"
#undef PTX_WORD
};
G_STATIC_ASSERT (N_WORDS <= 64);

/* Say how memory is reached or ordered, which does not matter where threads run one after another.
 */
static const char *const passed_over[] = {
  "volatile",   "relaxed", "acquire", "release", "acq_rel", "weak", "gpu",   "sys",   "cta", "nc",
  "sync",       "aligned", "ca",      "cg",      "cs",      "lu",   "cv",    "wb",    "wt",  "sc",
  "fractional", "m8n8",    "to",      "L1",      "L2",      "gl",   "proxy", "async", "b128"
};

static int
find (const char *const *names, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (names[i], name) == 0)
      return (int) i;
  return -1;
}

static gboolean
parse_type (const char *word, PtxType *type)
{
  const char *const digits = word + 1;

  if (strcmp (word, "pred") == 0)
    *type = (PtxType){ 'p', 1, 0, 0 };
  else if (strcmp (word, "bf16") == 0)
    *type = (PtxType){ 'f', 2, TRUE, 0 };
  else if (strcmp (word, "f16x2") == 0 || strcmp (word, "bf16x2") == 0)
    *type = (PtxType){ 'f', 4, word[0] == 'b', TRUE };
  else if (strcmp (word, "s16x2") == 0 || strcmp (word, "u16x2") == 0)
    *type = (PtxType){ word[0], 4, 0, TRUE };
  else if (strchr ("busf", word[0]) != NULL && word[0] != '\0'
           && (strcmp (digits, "8") == 0 || strcmp (digits, "16") == 0 || strcmp (digits, "32") == 0
               || strcmp (digits, "64") == 0))
    *type = (PtxType){ word[0], (guint8) (atoi (digits) / 8), 0, 0 };
  else
    return FALSE;
  return TRUE;
}

static gboolean
parse_space (const char *word, guint8 *space)
{
  static const struct
  {
    const char *name;
    guint8 space;
  } spaces[] = { { "global", SPACE_GLOBAL },
                 { "shared", SPACE_SHARED },
                 { "local", SPACE_LOCAL },
                 { "param", SPACE_PARAM },
                 { "const", SPACE_MODULE } };

  for (guint i = 0; i < G_N_ELEMENTS (spaces); i++)
    if (g_str_has_prefix (word, spaces[i].name)
        && (word[strlen (spaces[i].name)] == '\0' || word[strlen (spaces[i].name)] == ':'))
      {
        *space = spaces[i].space;
        return TRUE;
      }
  return FALSE;
}

/* The parts of @text between commas outside brackets. */
static GPtrArray *
split (const char *text)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  int depth = 0;

  for (const char *from = text, *at = text;; at++)
    {
      depth += *at != '\0' && strchr ("[{(", *at) != NULL;
      depth -= *at != '\0' && strchr ("]})", *at) != NULL;
      if (*at == '\0' || (*at == ',' && depth == 0))
        {
          char *part = g_strstrip (g_strndup (from, (gsize) (at - from)));
          if (*part != '\0')
            g_ptr_array_add (parts, part);
          else
            g_free (part);
          from = at + 1;
        }
      if (*at == '\0')
        return parts;
    }
}

/* ---- variables */

static gsize
align_up (gsize size, gsize to)
{
  return to > 1 ? (size + to - 1) / to * to : size;
}

/* The values behind "=", if any, into the module's variables at @at. */
static gboolean
initialise (GByteArray *variables, gsize at, PtxType type, const char *text)
{
  g_autofree char *plain = g_strdup (text);
  g_auto (GStrv) parts = NULL;

  g_strdelimit (plain, "{}", ' ');
  parts = g_strsplit (plain, ",", -1);
  for (guint i = 0; parts[i] != NULL; i++, at += type.bytes)
    {
      guint64 value;
      if (!gemem_ptx_parse_number (g_strstrip (parts[i]), &value)
          || at + type.bytes > variables->len)
        return FALSE;
      memcpy (variables->data + at, &value, type.bytes);
    }
  return TRUE;
}

/* ".reg .b32 name", ".reg.b16 a, b", ".reg .b32 %r<9>": those with "%" are known by that. */
static void
declare_registers (PtxParser *parser, const char *text)
{
  g_auto (GStrv) words = g_strsplit_set (text, " \t\n,", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0' && words[i][0] != '.' && words[i][0] != '%'
        && strchr (words[i], '<') == NULL)
      gemem_ptx_register_of (parser, words[i]);
}

/* A variable: ".shared .align 4 .b8 name[512]", ".param .b64 param0". */
static gboolean
declare (PtxParser *parser, char *text)
{
  GememPtxFunction *function = parser->function;
  guint8 space = SPACE_GENERIC;
  gsize alignment = 0, size, at;
  PtxType type = { 0 };
  char *value = strchr (text, '='), *name = NULL, *rest, *token;
  gboolean external = FALSE, vector4 = FALSE, vector2 = FALSE;
  PtxPlace *place;

  if (value != NULL)
    *value++ = '\0';
  for (token = strtok_r (text, " \t\n", &rest); token != NULL;
       token = strtok_r (NULL, " \t\n", &rest))
    if (strcmp (token, ".align") == 0)
      {
        token = strtok_r (NULL, " \t\n", &rest);
        alignment = token != NULL ? (gsize) atoi (token) : 0;
      }
    else if (token[0] == '.')
      {
        external |= strcmp (token, ".extern") == 0;
        vector2 |= strcmp (token, ".v2") == 0;
        vector4 |= strcmp (token, ".v4") == 0;
        if (!parse_type (token + 1, &type) && space == SPACE_GENERIC)
          parse_space (token + 1, &space);
      }
    else
      name = token;
  if (name == NULL)
    return FALSE;
  if (type.bytes == 0)
    return FALSE;
  size = type.bytes * (vector4 ? 4u : vector2 ? 2u : 1u);
  for (char *bracket = strchr (name, '['); bracket != NULL; bracket = strchr (bracket + 1, '['))
    {
      const guint64 many = g_ascii_strtoull (bracket + 1, NULL, 10);
      if (many > VARIABLES_MAX || size > VARIABLES_MAX)
        return FALSE;
      size *= (gsize) many;
    }
  name[strcspn (name, "[;")] = '\0';
  alignment = MAX (alignment, type.bytes);
  if (space == SPACE_GENERIC || alignment > 4096)
    return FALSE;
  gsize *end = space == SPACE_SHARED  ? (function != NULL ? &function->shared_size : NULL)
               : space == SPACE_LOCAL ? (function != NULL ? &parser->ptx->local_size : NULL)
               : space == SPACE_PARAM ? (function != NULL ? &function->frame_size : NULL)
                                      : NULL;
  place = g_new0 (PtxPlace, 1);
  if (end != NULL && !(external && space == SPACE_SHARED))
    {
      at = align_up (*end, alignment);
      *end = at + size;
      place->space = space;
    }
  else if (space == SPACE_SHARED)
    { /* external: behind all others, wherever these end */
      at = external ? PTX_DYNAMIC : align_up (parser->ptx->variables->len, alignment);
      place->space = external ? SPACE_SHARED : SPACE_GENERIC;
    }
  else
    {
      at = align_up (parser->ptx->variables->len, alignment);
      place->space = SPACE_MODULE;
      if (at + size > VARIABLES_MAX)
        {
          g_free (place);
          return FALSE;
        }
      ptx_extend (parser->ptx->variables, at + size);
      if (value != NULL && !initialise (parser->ptx->variables, at, type, value))
        {
          g_free (place);
          return FALSE;
        }
    }
  if ((function != NULL
       && (function->shared_size > VARIABLES_MAX || parser->ptx->local_size > LOCAL_MAX
           || function->frame_size > LOCAL_MAX))
      || place->space == SPACE_GENERIC)
    {
      g_free (place);
      return FALSE;
    }
  place->at = at;
  place->size = size;
  g_hash_table_insert (function != NULL ? parser->places : parser->module_places, g_strdup (name),
                       place);
  return TRUE;
}

/* ---- instructions */

static gboolean
parse_words (PtxInstruction *one, char *name)
{
  g_auto (GStrv) words = g_strsplit (name, ".", -1);
  const int operation = words[0] != NULL ? find (operation_names, N_OPERATIONS, words[0]) : -1;
  guint n_types = 0;
  guint8 space;

  if (operation < 0)
    return FALSE;
  one->operation = (guint16) operation;
  for (guint i = 1; words[i] != NULL; i++)
    {
      PtxType type;
      int word;
      if (strcmp (words[i], "v2") == 0 || strcmp (words[i], "v4") == 0
          || strcmp (words[i], "x1") == 0 || strcmp (words[i], "x2") == 0
          || strcmp (words[i], "x4") == 0)
        one->vector = (guint8) (words[i][1] - '0');
      else if (parse_type (words[i], &type))
        *(n_types++ == 0 ? &one->type : &one->source) = type;
      else if (strcmp (words[i], "to") == 0)
        one->to = 1;
      else if (parse_space (words[i], &space))
        one->space = space;
      else if ((word = find (word_names, N_WORDS, words[i])) >= 0)
        one->words |= (guint64) 1 << word;
      else if (find (passed_over, G_N_ELEMENTS (passed_over), words[i]) < 0
               && !g_str_has_prefix (words[i], "L1::") && !g_str_has_prefix (words[i], "L2::"))
        return FALSE;
    }
  if (one->type.pair && !ptx_is ((guint) operation, PTX_PAIRS))
    return FALSE;
  return n_types <= 2 && (one->type.bytes > 0 || ptx_is ((guint) operation, PTX_UNTYPED));
}

static gint32
frame_place (const PtxParser *parser, const char *name)
{
  const PtxPlace *place = g_hash_table_lookup (parser->places, name);
  return place != NULL && place->space == SPACE_PARAM ? (gint32) place->at : -1;
}

/* "call.uni (retval0), name, (param0, param1)" */
static gboolean
parse_call (PtxParser *parser, PtxInstruction *one, const char *text)
{
  g_autoptr (GPtrArray) parts = split (text);

  one->arguments = g_array_new (FALSE, FALSE, sizeof (gint32));
  for (guint i = 0; i < parts->len; i++)
    {
      char *part = parts->pdata[i];
      if (part[0] == '(')
        {
          part[strlen (part) - 1] = '\0';
          g_autoptr (GPtrArray) names = split (part + 1);
          for (guint k = 0; k < names->len; k++)
            {
              const gint32 place = frame_place (parser, names->pdata[k]);
              if (place < 0)
                return FALSE;
              g_array_append_val (one->arguments, place);
            }
        }
      else if (one->called == NULL)
        one->called = g_strdup (part);
    }
  return one->called != NULL;
}

static void
add_jump (PtxParser *parser, const char *label)
{
  Jump *jump = g_new (Jump, 1);
  jump->instruction = parser->function->code->len;
  jump->text = g_strdup (label);
  g_ptr_array_add (parser->jumps, jump);
}

static gboolean
parse_instruction (PtxParser *parser, char *text)
{
  PtxInstruction one = { .predicate = -1, .target = -1 };
  char *rest, *name;
  gboolean ok = TRUE;

  for (guint i = 0; i < G_N_ELEMENTS (one.operands); i++)
    gemem_ptx_clear_operand (&one.operands[i]);

  if (text[0] == '@')
    {
      char *end = text + strcspn (text, " \t\n");
      if (*end == '\0')
        return FALSE;
      *end = '\0';
      one.negated = text[1] == '!';
      one.predicate = gemem_ptx_register_of (parser, text + 1 + one.negated);
      text = g_strchug (end + 1);
    }
  name = text;
  rest = text + strcspn (text, " \t\n");
  if (*rest != '\0')
    *rest++ = '\0';
  if (!parse_words (&one, name))
    return FALSE;
  rest = g_strstrip (rest);
  if (one.operation == OP_CALL)
    ok = parse_call (parser, &one, rest);
  else if (one.operation == OP_BRA)
    add_jump (parser, rest);
  else
    {
      g_autoptr (GPtrArray) parts = split (rest);
      guint n = parts->len;
      if (one.operation == OP_BRX && n == 2)
        {
          add_jump (parser, parts->pdata[1]);
          n = 1;
        }
      if (one.operation == OP_CREATEPOLICY)
        n = MIN (n, 1); /* what it says of a cache does not matter */
      for (guint i = 0; i < n && ok; i++)
        ok = i < G_N_ELEMENTS (one.operands)
             && gemem_ptx_parse_operand (parser, parts->pdata[i], &one.operands[i]);
      one.n_operands = (guint8) MIN (n, G_N_ELEMENTS (one.operands));
    }
  if (!ok && one.arguments != NULL)
    {
      g_array_unref (one.arguments);
      g_free (one.called);
    }
  if (ok)
    g_array_append_val (parser->function->code, one);
  return ok;
}

/* ---- functions */

static void
function_free (gpointer data)
{
  GememPtxFunction *function = data;

  for (guint i = 0; i < function->code->len; i++)
    {
      PtxInstruction *one = &g_array_index (function->code, PtxInstruction, i);
      g_clear_pointer (&one->targets, g_array_unref);
      g_clear_pointer (&one->arguments, g_array_unref);
      g_free (one->called);
    }
  g_array_unref (function->code);
  g_array_unref (function->parameters);
  g_free (function->name);
  g_free (function);
}

/* The parameters in @text, "( .param .u64 a, .param .b8 b[4] )". */
static gboolean
parse_parameters (PtxParser *parser, const char *text, gsize length)
{
  g_autofree char *list = g_strndup (text, length);
  g_autoptr (GPtrArray) parts = split (list);

  for (guint i = 0; i < parts->len; i++)
    {
      GememPtxFunction *function = parser->function;
      g_autofree char *name = g_strdup (strrchr (parts->pdata[i], ' ') != NULL
                                            ? strrchr (parts->pdata[i], ' ') + 1
                                            : parts->pdata[i]);
      name[strcspn (name, "[")] = '\0';
      if (!declare (parser, parts->pdata[i]))
        return FALSE;
      const PtxPlace *place = g_hash_table_lookup (parser->places, name);
      if (place == NULL || place->at + place->size > G_MAXUINT16)
        return FALSE;
      const guint16 both[2] = { (guint16) place->at, (guint16) place->size };
      g_array_append_vals (function->parameters, both, 2);
      function->parameter_size = function->frame_size;
    }
  return TRUE;
}

/* ".visible .entry name ( ... )", ".func (.param .b32 result) name ( ... )" */
static void
begin_function (PtxParser *parser, const char *header)
{
  GememPtxFunction *function = g_new0 (GememPtxFunction, 1);
  const char *entry = strstr (header, ".entry"), *at = strstr (header, ".func"), *end;

  function->kernel = entry != NULL;
  function->ptx = parser->ptx;
  function->code = g_array_new (FALSE, FALSE, sizeof (PtxInstruction));
  function->parameters = g_array_new (FALSE, FALSE, sizeof (guint16));
  parser->function = function;
  g_hash_table_remove_all (parser->registers);
  g_hash_table_remove_all (parser->labels);
  g_hash_table_remove_all (parser->places);
  g_hash_table_remove_all (parser->tables);
  g_ptr_array_set_size (parser->jumps, 0);

  at = entry != NULL ? entry + strlen (".entry") : at + strlen (".func");
  while (g_ascii_isspace (*at))
    at++;
  if (*at == '(' && (end = strchr (at, ')')) != NULL)
    {
      function->lost |= !parse_parameters (parser, at + 1, (gsize) (end - at - 1));
      function->n_results = function->parameters->len / 2;
      at = end + 1;
    }
  while (g_ascii_isspace (*at))
    at++;
  end = at + strcspn (at, "( \t\n");
  function->name = g_strndup (at, (gsize) (end - at));
  if ((at = strchr (end, '(')) != NULL && (end = strchr (at, ')')) != NULL)
    function->lost |= !parse_parameters (parser, at + 1, (gsize) (end - at - 1));
  g_hash_table_replace (parser->ptx->functions, function->name, function);
}

static gboolean
find_label (const PtxParser *parser, const char *name, gint32 *to)
{
  gpointer place;

  if (!g_hash_table_lookup_extended (parser->labels, name, NULL, &place))
    return FALSE;
  *to = (gint32) GPOINTER_TO_UINT (place);
  return TRUE;
}

static void
end_function (PtxParser *parser)
{
  GememPtxFunction *function = parser->function;

  for (guint i = 0; i < parser->jumps->len; i++)
    {
      const Jump *jump = parser->jumps->pdata[i];
      if (jump->instruction >= function->code->len)
        continue; /* of a statement that was not understood */
      PtxInstruction *one = &g_array_index (function->code, PtxInstruction, jump->instruction);
      const GPtrArray *table = g_hash_table_lookup (parser->tables, jump->text);
      if (one->operation == OP_BRX && table != NULL)
        {
          one->targets = g_array_new (FALSE, FALSE, sizeof (gint32));
          for (guint k = 0; k < table->len; k++)
            {
              gint32 to = -1;
              function->lost |= !find_label (parser, table->pdata[k], &to);
              g_array_append_val (one->targets, to);
            }
        }
      else
        function->lost |= one->operation != OP_BRA
                          || !find_label (parser, jump->text, &one->target);
    }
  parser->function = NULL;
}

/* ---- statements */

static void
read_statement (PtxParser *parser, char *text)
{
  gboolean ok = TRUE;

  if (parser->label != NULL && g_str_has_prefix (text, ".branchtargets"))
    g_hash_table_replace (parser->tables, g_strdup (parser->label),
                          split (text + strlen (".branchtargets")));
  else if (text[0] == '.')
    {
      if (g_str_has_prefix (text, ".pragma") || strstr (text, ".func") != NULL
          || strstr (text, ".entry") != NULL)
        return; /* a declaration without a body */
      if (g_str_has_prefix (text, ".reg") && parser->function != NULL)
        declare_registers (parser, text);
      else
        ok = declare (parser, text);
    }
  else if (parser->function != NULL)
    ok = parse_instruction (parser, text);
  if (!ok && parser->function != NULL)
    parser->function->lost = TRUE;
}

static void
read_label (PtxParser *parser, const char *name)
{
  g_free (parser->label);
  parser->label = g_strdup (name);
  if (parser->function != NULL)
    g_hash_table_replace (parser->labels, g_strdup (name),
                          GUINT_TO_POINTER (parser->function->code->len));
}

static gboolean
is_header (const char *text)
{
  return text[0] == '.' && (strstr (text, ".entry") != NULL || strstr (text, ".func") != NULL);
}

static gboolean
is_name (const char *text)
{
  if (*text == '\0')
    return FALSE;
  for (; *text != '\0'; text++)
    if (!g_ascii_isalnum (*text) && strchr ("_$%", *text) == NULL)
      return FALSE;
  return TRUE;
}

/* Without comments, and without lines that end with no semicolon and say nothing of the code. */
static char *
plain (const char *text)
{
  static const char *const skipped[] = { ".version", ".target", ".address_size", ".loc", ".file" };
  GString *out = g_string_new (NULL);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      char *line = g_strstrip (lines[i]), *comment = strstr (line, "//");
      gboolean skip = FALSE;
      if (comment != NULL)
        *comment = '\0';
      for (guint k = 0; k < G_N_ELEMENTS (skipped); k++)
        skip |= g_str_has_prefix (line, skipped[k])
                && (g_ascii_isspace (line[strlen (skipped[k])])
                    || line[strlen (skipped[k])] == '\0');
      if (!skip)
        g_string_append_printf (out, "%s\n", line);
    }
  return g_string_free (out, FALSE);
}

static void
read_text (PtxParser *parser, const char *text)
{
  g_autoptr (GString) statement = g_string_new (NULL);
  int braces = 0;

  for (; *text != '\0'; text++)
    {
      const gboolean empty = statement->len == 0;
      if (empty && g_ascii_isspace (*text))
        continue;
      if (*text == '{' && !empty && is_header (statement->str))
        {
          begin_function (parser, statement->str);
          parser->depth = 1;
          g_string_truncate (statement, 0);
        }
      else if ((*text == '{' || *text == '}') && empty)
        {
          parser->depth += *text == '{' ? 1 : -1;
          if (parser->depth == 0 && parser->function != NULL)
            end_function (parser);
        }
      else if (*text == ';' && braces <= 0)
        {
          read_statement (parser, g_strchomp (statement->str));
          g_string_truncate (statement, 0);
        }
      else if (*text == ':' && text[1] != ':' && is_name (statement->str))
        {
          read_label (parser, statement->str);
          g_string_truncate (statement, 0);
        }
      else
        {
          braces += *text == '{' ? 1 : *text == '}' ? -1 : 0;
          g_string_append_c (statement, *text);
        }
    }
}

/* A function may be called before its code comes. */
static void
find_callees (GememPtx *ptx)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, ptx->functions);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      GememPtxFunction *function = value;
      for (guint i = 0; i < function->code->len; i++)
        {
          PtxInstruction *one = &g_array_index (function->code, PtxInstruction, i);
          if (one->called == NULL)
            continue;
          one->callee = g_hash_table_lookup (ptx->functions, one->called);
          /* one that is nowhere (__assertfail) does not matter until it is called */
          function->lost |= one->callee != NULL
                            && one->arguments->len != one->callee->parameters->len / 2;
        }
    }
}

static void
mark_callers (GememPtx *ptx)
{
  gboolean changed = TRUE;
  GHashTableIter iter;
  gpointer value;

  while (changed)
    {
      changed = FALSE;
      g_hash_table_iter_init (&iter, ptx->functions);
      while (g_hash_table_iter_next (&iter, NULL, &value))
        {
          GememPtxFunction *function = value;
          for (guint i = 0; !function->lost && i < function->code->len; i++)
            {
              const PtxInstruction *one = &g_array_index (function->code, PtxInstruction, i);
              if (one->callee != NULL && one->callee->lost)
                changed = function->lost = TRUE;
            }
        }
    }
}

GememPtx *
gemem_ptx_parse (const char *text)
{
  g_autofree char *code = plain (text);
  GememPtx *ptx = g_new0 (GememPtx, 1);
  PtxParser parser = { .ptx = ptx };

  ptx->functions = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, function_free);
  ptx->variables = g_byte_array_new ();
  parser.registers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  parser.labels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  parser.places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  parser.module_places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  parser.tables = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                         (GDestroyNotify) g_ptr_array_unref);
  parser.jumps = g_ptr_array_new_with_free_func (jump_free);
  read_text (&parser, code);
  if (parser.function != NULL)
    parser.function->lost = TRUE;
  find_callees (ptx);
  mark_callers (ptx);
  g_hash_table_unref (parser.registers);
  g_hash_table_unref (parser.labels);
  g_hash_table_unref (parser.places);
  g_hash_table_unref (parser.module_places);
  g_hash_table_unref (parser.tables);
  g_ptr_array_unref (parser.jumps);
  g_free (parser.label);
  return ptx;
}

void
gemem_ptx_free (GememPtx *ptx)
{
  g_hash_table_unref (ptx->functions);
  g_byte_array_unref (ptx->variables);
  g_free (ptx);
}

const GememPtxFunction *
gemem_ptx_kernel (const GememPtx *ptx, const char *name)
{
  const GememPtxFunction *function = g_hash_table_lookup (ptx->functions, name);
  return function != NULL && function->kernel ? function : NULL;
}

const GArray *
gemem_ptx_parameters (const GememPtxFunction *kernel)
{
  return kernel->parameters;
}

gsize
gemem_ptx_parameter_size (const GememPtxFunction *kernel)
{
  return kernel->parameter_size;
}
