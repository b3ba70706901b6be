/* operands.c - reads the operands of PTX's instructions: registers, numbers, addresses, vectors (parse.c). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dry/ptx/parse-private.h"

gboolean
gemem_ptx_parse_number (const char *text, guint64 *value)
{
  char *end;

  if (text[0] == '0' && strchr ("fFdD", text[1]) != NULL && text[1] != '\0')
    *value = g_ascii_strtoull (text + 2, &end, 16);
  else if (text[0] == '-')
    *value = (guint64) g_ascii_strtoll (text, &end, 0);
  else
    *value = g_ascii_strtoull (text, &end, 0);
  if (*end == 'U')
    end++;
  return end != text && *end == '\0';
}

gint32
gemem_ptx_register_of (PtxParser *parser, const char *name)
{
  gpointer known = g_hash_table_lookup (parser->registers, name);

  if (known == NULL)
    {
      known = GUINT_TO_POINTER (++parser->function->n_registers);
      g_hash_table_insert (parser->registers, g_strdup (name), known);
    }
  return (gint32) GPOINTER_TO_UINT (known) - 1;
}

static gboolean
special_of (const char *name, guint64 *value)
{
  static const struct
  {
    const char *name;
    int special;
  } scalars[] = { { "%laneid", SPECIAL_LANEID },
                  { "%warpid", SPECIAL_WARPID },
                  { "%nwarpid", SPECIAL_NWARPID },
                  { "%lanemask_eq", SPECIAL_MASK_EQ },
                  { "%lanemask_lt", SPECIAL_MASK_LT },
                  { "%lanemask_le", SPECIAL_MASK_LE },
                  { "%lanemask_gt", SPECIAL_MASK_GT },
                  { "%lanemask_ge", SPECIAL_MASK_GE },
                  { "%dynamic_smem_size", SPECIAL_DYNAMIC_SHARED },
                  { "%clock", SPECIAL_ZERO },
                  { "%clock64", SPECIAL_ZERO },
                  { "%smid", SPECIAL_ZERO },
                  { "%globaltimer", SPECIAL_ZERO } };
  static const struct
  {
    const char *name;
    int special;
  } vectors[] = { { "%tid.", SPECIAL_TID },
                  { "%ntid.", SPECIAL_NTID },
                  { "%ctaid.", SPECIAL_CTAID },
                  { "%nctaid.", SPECIAL_NCTAID } };

  for (guint i = 0; i < G_N_ELEMENTS (scalars); i++)
    if (strcmp (name, scalars[i].name) == 0)
      {
        *value = (guint64) scalars[i].special;
        return TRUE;
      }
  for (guint i = 0; i < G_N_ELEMENTS (vectors); i++)
    if (g_str_has_prefix (name, vectors[i].name))
      {
        const char axis = name[strlen (vectors[i].name)];
        *value = (guint64) (vectors[i].special + (axis >= 'x' && axis <= 'z' ? axis - 'x' : 0));
        return TRUE;
      }
  return FALSE;
}

static const PtxPlace *
place_of (const PtxParser *parser, const char *name)
{
  const PtxPlace *place = g_hash_table_lookup (parser->places, name);
  return place != NULL ? place : g_hash_table_lookup (parser->module_places, name);
}

/* "%rd1+8", " %rd1 + 8 ", "name+4", "%rd1", "name". */
static gboolean
parse_address (PtxParser *parser, const char *text, PtxOperand *operand)
{
  g_autofree char *name = g_strdup (text);
  char *plus = name[0] != '\0' ? strpbrk (name + 1, "+-") : NULL;
  const PtxPlace *place;
  guint64 offset = 0;

  if (name[0] == '\0')
    return FALSE;
  if (plus != NULL)
    {
      const gboolean minus = *plus == '-';
      char *digits = g_strstrip (plus + 1);
      *plus = '\0';
      if (*digits == '-' || *digits == '+')
        digits += *digits == '+';
      if (!gemem_ptx_parse_number (digits, &offset))
        return FALSE;
      if (minus)
        offset = -offset;
    }
  g_strstrip (name);
  operand->kind = OPERAND_ADDRESS;
  operand->reg = -1;
  operand->value = offset;
  if (name[0] == '%' || g_hash_table_contains (parser->registers, name))
    operand->reg = gemem_ptx_register_of (parser, name);
  else if ((place = place_of (parser, name)) != NULL)
    {
      operand->space = place->space;
      operand->value += place->at;
    }
  else
    return gemem_ptx_parse_number (name, &operand->value);
  return TRUE;
}

static gboolean
parse_vector (PtxParser *parser, char *text, PtxOperand *operand)
{
  g_auto (GStrv) parts = NULL;

  if (!g_str_has_suffix (text, "}"))
    return FALSE;
  text[strlen (text) - 1] = '\0';
  parts = g_strsplit (text + 1, ",", -1);
  operand->kind = OPERAND_VECTOR;
  for (guint i = 0; parts[i] != NULL && i < 8; i++, operand->n++)
    {
      const char *part = g_strstrip (parts[i]);
      if (strcmp (part, "_") == 0)
        operand->list[i] = -1;
      else if (part[0] == '%' || g_hash_table_contains (parser->registers, part))
        operand->list[i] = gemem_ptx_register_of (parser, part);
      else if (gemem_ptx_parse_number (part, &operand->numbers[i]))
        operand->list[i] = -2;
      else
        return FALSE;
    }
  return TRUE;
}

void
gemem_ptx_clear_operand (PtxOperand *operand)
{
  *operand = (PtxOperand){ .kind = OPERAND_NONE, .reg = -1, .second = -1 };
  for (guint i = 0; i < G_N_ELEMENTS (operand->list); i++)
    operand->list[i] = -1;
}

gboolean
gemem_ptx_parse_operand (PtxParser *parser, char *text, PtxOperand *operand)
{
  const PtxPlace *place;
  char *bar;

  if (text[0] == '!')
    {
      operand->negated = TRUE;
      text++;
    }
  if (text[0] == '[' && text[strlen (text) - 1] == ']')
    {
      text[strlen (text) - 1] = '\0';
      return parse_address (parser, g_strstrip (text + 1), operand);
    }
  if (text[0] == '{')
    return parse_vector (parser, text, operand);
  if (strcmp (text, "WARP_SZ") == 0)
    {
      operand->kind = OPERAND_NUMBER;
      operand->value = 32;
      return TRUE;
    }
  if (special_of (text, &operand->value))
    {
      operand->kind = OPERAND_SPECIAL;
      return TRUE;
    }
  if ((bar = strchr (text, '|')) != NULL)
    {
      *bar = '\0';
      operand->second = bar[1] == '_' ? -1 : gemem_ptx_register_of (parser, bar + 1);
    }
  if (strcmp (text, "_") == 0)
    {
      operand->kind = OPERAND_REGISTER; /* that nobody reads */
      operand->reg = gemem_ptx_register_of (parser, "%gemem_dropped");
      return TRUE;
    }
  if (text[0] == '%' || g_hash_table_contains (parser->registers, text))
    {
      operand->kind = OPERAND_REGISTER;
      operand->reg = gemem_ptx_register_of (parser, text);
      return TRUE;
    }
  operand->kind = OPERAND_NUMBER;
  if (gemem_ptx_parse_number (text, &operand->value))
    return TRUE;
  g_autofree char *name = g_strdup (text);
  guint64 offset = 0;
  if ((bar = strchr (name, '+')) != NULL)
    {
      *bar = '\0';
      if (!gemem_ptx_parse_number (bar + 1, &offset))
        return FALSE;
    }
  if ((place = place_of (parser, name)) == NULL)
    return FALSE;
  /* a variable of the module is one of global memory; the others have addresses in their space */
  operand->value = place->at + offset
                   + (place->space == SPACE_MODULE ? PTX_WINDOW (SPACE_MODULE) : 0);
  return TRUE;
}
