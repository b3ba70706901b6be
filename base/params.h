/* params.h - typed parameter tables: the one description of a setting, from which parsing,
 * defaults, help, "did you mean", the manifest and sweep axes are all derived.
 *
 * A table describes the fields of a plain C struct by offset, ends with a row whose
 * name is NULL, and is used like this:
 *
 *   typedef struct { guint64 chunk_size; gboolean free_idle; } Params;
 *   static const GememParam params[] = {
 *     { .name = "chunk_size", .type = GEMEM_PARAM_SIZE, .default_text = "0", ...,
 *       .offset = G_STRUCT_OFFSET (Params, chunk_size), .help = "..." },
 *     { NULL } };
 *
 * Invariants: every setting is either known and valid, or an error (GEMEM_ERROR_USAGE) that names
 * the nearest known name; nothing is silently ignored.  '-' and '_' are the same, case does not
 * matter, and a "FLAGS_" prefix (Paddle's command line) does not belong to a name.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_PARAM_BOOL,   /* gboolean; yes/no, true/false, on/off, 1/0 */
  GEMEM_PARAM_UINT,   /* guint64 */
  GEMEM_PARAM_INT,    /* gint64 */
  GEMEM_PARAM_SIZE,   /* guint64 bytes; units.h; "%" of the device's capacity */
  GEMEM_PARAM_TIME,   /* guint64 ns */
  GEMEM_PARAM_DOUBLE, /* double */
  GEMEM_PARAM_CHOICE, /* int: index into `choices` */
  GEMEM_PARAM_STRING, /* char *, owned by the parameter struct */
} GememParamType;

typedef struct
{
  const char *name;
  GememParamType type;
  const char *default_text; /* parsed by the same parser; NULL for STRING means NULL */
  const char *min, *max;    /* inclusive, as text; NULL: no bound */
  const char *unit;         /* of a bare number: "MiB" for SIZE, "ms" for TIME; NULL: B, ns */
  /* CHOICE: "bump|first-fit|recorded"; synonyms "a=b": a means b; STRING: values to try in tests */
  const char *choices;
  /* values that "key=*" stands for: a range worth searching; BOOL and CHOICE need none */
  const char *sweep;
  const char *aliases;   /* other spellings, '|' separated (legacy names, vector-file keys) */
  const char *conflicts; /* names that may not be set together with this one, '|' separated */
  const char *special;   /* words with a number behind: "none=18446744073709551615|default=0" */
  const char *help;      /* one sentence; ends in a full stop */
  gsize offset;          /* of the field in the struct */
} GememParam;

/* What a value may refer to while it is parsed. */
typedef struct
{
  guint64 capacity; /* device bytes, for "80%"; 0: unknown, "%" refused */
} GememParamContext;

/* One "key=value" as the user wrote it. */
typedef struct
{
  char *key;
  char *value;
} GememSetting;

/* Splits "k=v,k=v" ("[a,b]" and quotes protect commas; '\,' escapes) into GememSetting*; free with
 * g_ptr_array_unref(). */
GPtrArray *gemem_settings_parse (const char *text, GError **error);
/* An empty array of GememSetting that frees them; one more in it; copies of all of @more (may be
 * NULL) in it. */
GPtrArray *gemem_settings_new (void);
void gemem_settings_add (GPtrArray *settings, const char *key, const char *value);
void gemem_settings_append (GPtrArray *settings, const GPtrArray *more);

/* Those of @defaults (may be NULL) that @own neither sets nor excludes (`conflicts`), then @own.  A
 * key of @defaults that is not in @table is kept. The entries stay owned by the arguments. */
GPtrArray *gemem_settings_merge (const GememParam *table, const GPtrArray *defaults,
                                 const GPtrArray *own);

/* Those of @variables (GememSetting named as in the environment, may be NULL) that @table reads and
 * @own neither sets nor excludes: a new array of copies. */
GPtrArray *gemem_settings_from_variables (const GememParam *table, const GPtrArray *variables,
                                          const GPtrArray *own);

/* NULL if @settings (GememSetting) go together; else what is wrong with them. */
typedef GError *(*GememObjection) (const GPtrArray *settings, gpointer data);

/* Adds to @settings, and copies to @used, those of @variables that gemem_settings_from_variables()
 * finds.  A flag that would have no effect among them, as @object says with @data in the words of
 * gemem_check_flags(), goes to @left_out instead, with the reason as value, as does what @settings
 * say themselves.  Whatever else is wrong is left to be found. */
void gemem_settings_add_variables (const GememParam *table, GPtrArray *settings,
                                   const GPtrArray *variables, GPtrArray *used, GPtrArray *left_out,
                                   GememObjection object, gpointer data);

/* @value as it must be written after "key=" for gemem_settings_parse(): in quotes where needed. */
char *gemem_settings_quote (const char *value);

/* Sets every field of @dest, which is taken as uninitialised, to its default; asserts that the
 * table is sound. A default may not be a "%" (the device is not known here). */
void gemem_params_set_defaults (const GememParam *table, gpointer dest);

/* Applies one setting.  @what names the owner in messages ("allocator pytorch-caching").
 * Errors: GEMEM_ERROR_USAGE: unknown name (with a suggestion), bad value, out of range. */
gboolean gemem_params_set (const GememParam *table, gpointer dest, const GememParamContext *context,
                           const char *what, const char *key, const char *value, GError **error);

/* Defaults, then each of @settings in order, then conflict checks.  A key given twice is an error.
 * @dest is taken as uninitialised; after an error its STRING fields are NULL. */
gboolean gemem_params_apply (const GememParam *table, gpointer dest,
                             const GememParamContext *context, const char *what,
                             const GPtrArray *settings, GError **error);

/* The row for @key (name or alias, normalised), or NULL.  @table may be NULL: it has no rows. */
const GememParam *gemem_params_find (const GememParam *table, const char *key);

/* The environment variables that set @param in the real system: those of its name and aliases which
 * begin with "FLAGS_" or "GE_".  g_strfreev(). */
GStrv gemem_param_variables (const GememParam *param);
/* The row that the environment variable @variable sets, or NULL.  Exact, as the system compares.
 * @table may be NULL. */
const GememParam *gemem_params_find_variable (const GememParam *table, const char *variable);

/* What "key=*" stands for, in order: `sweep`, yes and no, or the choices; empty: nothing is known
 * to be worth trying.  Of char *, which it owns. */
GPtrArray *gemem_param_sweep (const GememParam *param);

/* The effective value of @param in @dest as text that parses back to the same value. */
char *gemem_param_value_text (const GememParam *param, gconstpointer dest);

/* "key=value,..." of the settings that differ from their default; "" if none. */
char *gemem_params_describe (const GememParam *table, gconstpointer dest);

/* Frees STRING fields. */
void gemem_params_clear (const GememParam *table, gpointer dest);

/* TRUE if @a and @b are the same name: '-' == '_', ASCII case ignored. */
gboolean gemem_name_equal (const char *a, const char *b);
/* TRUE if @word is one of the '|' separated @words (or NULL). */
gboolean gemem_name_listed (const char *words, const char *word);
/* TRUE if @word is @name or one of @aliases. */
gboolean gemem_name_is (const char *name, const char *aliases, const char *word);

/* The candidate nearest to @word by edit distance, or NULL when none is near enough to be meant. */
const char *gemem_suggest (const char *word, const char *const *candidates);

GEMEM_END_DECLS
