/* params.h - typed parameter tables: the single description of a setting, from which parsing,
 * defaults, help, suggestions ("did you mean"), the manifest and sweep axes are derived.
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
 * matter, and a prefix "FLAGS_" (Paddle's command line) is ignored.
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

enum
{
  /* SIZE: an amount of a device's memory.  gemem_params_check_unit() refuses so few bytes that a
   * unit was forgotten; other sizes (alignments, requests) may be as small. */
  GEMEM_PARAM_MEMORY = 1 << 0,
  /* STRING: '|' belongs to the value; it does not separate several values */
  GEMEM_PARAM_BARS = 1 << 1,
  /* STRING: names a file, which is opened: only who runs the program may set it, no input may */
  GEMEM_PARAM_FILE = 1 << 2,
  /* STRING: a name of what is installed, or a file (with a '/', or NAME.ini), for which
   * the same holds */
  GEMEM_PARAM_NAME_OR_FILE = 1 << 3,
  /* SIZE: the real system's own text, too, may be a percentage of the device; it is computed as
   * there, in double precision. */
  GEMEM_PARAM_PERCENT = 1 << 4,
  /* CHOICE: releases.  "2.6.1" and "2.6.0+cu124" are 2.6 where they are not known by themselves. */
  GEMEM_PARAM_RELEASE = 1 << 5,
  /* RELEASE: one that is not known is the newest known before it, else the oldest;
   * gemem_params_release_note() says so. */
  GEMEM_PARAM_NEAREST = 1 << 6,
  /* A call of the running program sets it too: a text that holds several settings (a STRING that lists
   * it in `conflicts`) and does not name it leaves it as it is. */
  GEMEM_PARAM_CALLED = 1 << 7,
};

typedef struct
{
  const char *name;
  GememParamType type;
  guint32 flags;            /* GEMEM_PARAM_MEMORY ... */
  const char *default_text; /* parsed by the same parser; NULL for STRING means NULL */
  const char *min, *max;    /* inclusive, as text; NULL: no bound */
  const char *unit;         /* unit of a bare number: "MiB" for SIZE, "ms" for TIME; NULL: B, ns */
  /* CHOICE: "bump|first-fit|recorded"; synonyms "a=b": a means b; STRING: values to try in tests */
  const char *choices;
  /* values of "key=*": a range worth searching; not needed for BOOL and CHOICE */
  const char *sweep;
  const char *aliases; /* other spellings, '|' separated (legacy names, vector-file keys) */
  /* names that may not be set together with this one, '|' separated; as variables of the
   * environment, one that names the other without being named by it counts alone */
  const char *conflicts;
  const char *special; /* words with their numbers: "none=18446744073709551615|default=0" */
  const char *help;    /* one sentence; ends in a full stop */
  gsize offset;        /* of the field in the struct */
} GememParam;

/* The context that a value may refer to. */
typedef struct
{
  guint64 capacity; /* device bytes, for "80%"; 0: unknown, "%" refused */
  /* The text is the real system's own (an environment variable, a configuration string): where a
   * bare number counts in a `unit`, that system reads a whole number and knows no units. */
  gboolean native;
} GememParamContext;

/* One "key=value" as the user wrote it. */
typedef struct
{
  char *key;
  char *value;
} GememSetting;

/* FALSE with GEMEM_ERROR_USAGE if @text is no UTF-8.  What parses a text of users
 * calls it first. */
gboolean gemem_check_text (const char *kind, const char *text, GError **error);

/* Splits "k=v,k=v" ("[a,b]" and quotes protect commas; '\,' escapes) into GememSetting*; free with
 * g_ptr_array_unref(). */
GPtrArray *gemem_settings_parse (const char *text, GError **error);
/* An empty array of GememSetting that owns its elements; adding one setting; adding copies of all
 * of @more (may be NULL). */
GPtrArray *gemem_settings_new (void);
void gemem_settings_add (GPtrArray *settings, const char *key, const char *value);
void gemem_settings_append (GPtrArray *settings, const GPtrArray *more);
/* The value of @key in @settings (may be NULL), which own it; NULL: it is not there. */
const char *gemem_settings_value (const GPtrArray *settings, const char *key);

/* TRUE if @one, set to @value, may not stand beside @other, whatever @other is (`conflicts`). */
gboolean gemem_param_excludes (const GememParam *one, const char *value, const GememParam *other);

/* TRUE if @own sets or excludes @row of @table.  O(settings). */
gboolean gemem_settings_override (const GememParam *table, const GPtrArray *own,
                                  const GememParam *row);

/* The settings of @defaults (of an input; may be NULL) that @own neither sets nor excludes
 * (`conflicts`), then @own.  A key of @defaults that is not in @table is kept.  The arguments keep
 * ownership of the entries.  @what names the owner in messages.  NULL with GEMEM_ERROR_USAGE: one
 * of @defaults names a file; an input must not choose what is opened. */
GPtrArray *gemem_settings_merge (const GememParam *table, const GPtrArray *defaults,
                                 const GPtrArray *own, const char *what, GError **error);

/* A new array with copies of those @variables (GememSetting named as in the environment, may be
 * NULL) that @table reads and @own neither sets nor excludes. */
GPtrArray *gemem_settings_from_variables (const GememParam *table, const GPtrArray *variables,
                                          const GPtrArray *own);

/* NULL if @settings (GememSetting) are compatible; else the error. */
typedef GError *(*GememObjection) (const GPtrArray *settings, gpointer data);

/* Adds to @settings, and copies to @used, those of @variables that gemem_settings_from_variables()
 * finds.  A flag without an effect, which @object (called with @data) reports in the words of
 * gemem_check_flags(), is added to @left_out instead, with the reason as value; so is a variable
 * that @settings override.  Other errors are left to later checks. */
void gemem_settings_add_variables (const GememParam *table, GPtrArray *settings,
                                   const GPtrArray *variables, GPtrArray *used, GPtrArray *left_out,
                                   GememObjection object, gpointer data);

/* "version=2.2: the rules of 2.6 are used, ..." for the first of @settings (may be NULL) that names
 * another release than the one of @table that stands for it, unless that is among @possible ("2.5 to
 * 2.7", may be NULL); NULL: none does; g_free(). */
char *gemem_params_release_note (const GememParam *table, const GPtrArray *settings,
                                 const char *possible);

/* @value in the form that gemem_settings_parse() reads after "key=", quoted where needed. */
char *gemem_settings_quote (const char *value);
/* Appends @key=@value to @text, "NAME", "NAME:" or "NAME:key=value,...". */
void gemem_settings_append_text (GString *text, const char *key, const char *value);

/* Sets every field of @dest (uninitialised before) to its default; asserts that the table is valid.
 * A default must not be a "%", because the device is unknown. */
void gemem_params_set_defaults (const GememParam *table, gpointer dest);

/* Applies one setting.  @what names the owner in messages ("allocator pytorch-caching").
 * Errors: GEMEM_ERROR_USAGE: unknown name (with a suggestion), bad value, out of range. */
gboolean gemem_params_set (const GememParam *table, gpointer dest, const GememParamContext *context,
                           const char *what, const char *key, const char *value, GError **error);

/* Defaults, then each of @settings in order, then conflict checks.  A repeated key is an error.
 * @dest is uninitialised before; after an error its STRING fields are NULL. */
gboolean gemem_params_apply (const GememParam *table, gpointer dest,
                             const GememParamContext *context, const char *what,
                             const GPtrArray *settings, GError **error);

/* FALSE, with a GEMEM_ERROR_USAGE that asks for a unit, if the row of @table for @key is a
 * GEMEM_PARAM_MEMORY and @value too small a bare number of bytes (gemem_check_unit()).  For what a
 * person writes; what a program recorded needs no such check.  @table may be NULL. */
gboolean gemem_params_check_unit (const GememParam *table, const char *what, const char *key,
                                  const char *value, GError **error);

/* The row for @key (name or alias, normalised), or NULL.  @table may be NULL: it has no rows. */
const GememParam *gemem_params_find (const GememParam *table, const char *key);

/* The environment variables that set @param in the real system: its name and aliases that begin
 * with "FLAGS_" or are written in capitals.  Where several are set, the first of them counts.
 * g_strfreev(). */
GStrv gemem_param_variables (const GememParam *param);
/* The row that the environment variable @variable sets, or NULL.  The comparison is exact, as in
 * the real system.  @table may be NULL. */
const GememParam *gemem_params_find_variable (const GememParam *table, const char *variable);

/* The values of "key=*", in order: `sweep`, yes and no, or the choices; empty if no values are
 * known.  An array of char * that owns its elements. */
GPtrArray *gemem_param_sweep (const GememParam *param);

/* The effective value of @param in @dest as text that parses back to the same value. */
char *gemem_param_value_text (const GememParam *param, gconstpointer dest);

/* TRUE if @param is by default in @dest; a text that is empty is one that is not set. */
gboolean gemem_param_is_default (const GememParam *param, gconstpointer dest);

/* "key=value,..." of the settings that differ from their default; "" if none. */
char *gemem_params_describe (const GememParam *table, gconstpointer dest);

/* Frees STRING fields. */
void gemem_params_clear (const GememParam *table, gpointer dest);

/* The next of *@rest, words separated by '|': *@length bytes at *@word; FALSE: there is none.  Empty words at the
 * end are none. */
gboolean gemem_words_next (const char **rest, const char **word, gsize *length);
/* gemem_name_equal() of the @length bytes at @word. */
gboolean gemem_name_is_word (const char *word, gsize length, const char *name);
/* TRUE if @a and @b are the same name: '-' == '_', ASCII case ignored. */
gboolean gemem_name_equal (const char *a, const char *b);
/* TRUE if @word is one of the '|' separated @words (or NULL). */
gboolean gemem_name_listed (const char *words, const char *word);
/* TRUE if @word is @name or one of @aliases. */
gboolean gemem_name_is (const char *name, const char *aliases, const char *word);

/* The candidate nearest to @word by edit distance, or NULL if none is near enough. */
const char *gemem_suggest (const char *word, const char *const *candidates);

GEMEM_END_DECLS
