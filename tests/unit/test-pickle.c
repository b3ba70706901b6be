/* test-pickle.c - the pickle machine opcode by opcode, from bytes written by hand, and all
 * refusals. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "traces/pytorch/pickle.h"

static const char *const keys[] = { "a", "b", "c", "items", "word", NULL };

#define P4 "\x80\x04"
#define A \
  "\x8c\x01" \
  "a"
#define B \
  "\x8c\x01" \
  "b"
#define C \
  "\x8c\x01" \
  "c"
#define ITEMS \
  "\x8c\x05" \
  "items"
#define X \
  "\x8c\x01" \
  "x"
/* A dict {a: n} with n < 256. */
#define DICT_A(n) "}(" A "K" n "u"

typedef struct
{
  const guint8 *bytes;
  gsize size, at, step; /* step: most bytes returned beyond what was wanted */
} Bytes;

/* A source that returns as few bytes as allowed, so that every refill runs. */
static gssize
fill_bytes (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error)
{
  Bytes *source = data;
  (void) error;
  source->at += used;
  g_assert_cmpuint (source->at, <=, source->size);
  *bytes = source->bytes + source->at;
  return (gssize) MIN (source->size - source->at, want + source->step);
}

/* The value of key number @key in the current record, or NULL. */
static const GememPickleValue *
get (const GememPickle *pickle, guint key)
{
  guint64 present;
  const GememPickleValue *values = gemem_pickle_record (pickle, &present);
  return present >> key & 1 ? &values[key] : NULL;
}

static void
append_value (GString *text, const GememPickle *pickle, const GememPickleValue *value)
{
  switch ((GememPickleType) value->type)
    {
    case GEMEM_PICKLE_NONE:
      g_string_append (text, "None");
      break;
    case GEMEM_PICKLE_BOOL:
      g_string_append (text, value->integer != 0 ? "True" : "False");
      break;
    case GEMEM_PICKLE_INT:
      g_string_append_printf (text, "%" G_GINT64_FORMAT, value->integer);
      break;
    case GEMEM_PICKLE_BIG_INT:
      g_string_append_printf (text, "big%" G_GINT64_FORMAT, value->integer);
      break;
    case GEMEM_PICKLE_FLOAT:
      g_string_append_printf (text, "%.17g", value->real);
      break;
    case GEMEM_PICKLE_STRING:
      g_string_append_printf (text, "'%s'", gemem_pickle_string (pickle, value->string));
      break;
    case GEMEM_PICKLE_BYTES:
      g_string_append (text, "bytes");
      break;
    case GEMEM_PICKLE_TUPLE:
      if (value->pair == GEMEM_PICKLE_NO_PAIR)
        g_string_append (text, "tuple");
      else
        g_string_append_printf (text, "(%d,%d)", (int) (value->pair >> 32),
                                (int) (value->pair & 0xffffffff));
      break;
    case GEMEM_PICKLE_LIST:
      g_string_append_printf (text, "list%u", value->count);
      break;
    case GEMEM_PICKLE_DICT:
      g_string_append (text, "dict");
      break;
    case GEMEM_PICKLE_MARK:
    default:
      g_assert_not_reached ();
    }
}

/* Numbers a list: "[BEFORE+ITEM,ITEM=NUMBER] "; the number consists of the digits of the number
 * before and of the items' numbers. */
static void
take_list (GString *text, GememPickle *pickle)
{
  guint32 before, number;
  guint n;
  const guint32 *items = gemem_pickle_items (pickle, &before, &n);

  number = before;
  g_string_append_printf (text, "[%u", before);
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (text, "%c%u", i == 0 ? '+' : ',', items[i]);
      number = number * 10 + items[i];
    }
  g_string_append_printf (text, "=%u] ", number);
  gemem_pickle_set_number (pickle, number);
}

/* The dict {c: n} gets number n, with n = 255 GEMEM_PICKLE_ONCE. */
static void
take_dict (GememPickle *pickle)
{
  const GememPickleValue *value = get (pickle, 2);
  if (value != NULL && value->type == GEMEM_PICKLE_INT)
    gemem_pickle_set_number (pickle,
                             value->integer == 255 ? GEMEM_PICKLE_ONCE : (guint32) value->integer);
}

/* All records as text, "SECTION/LISTS/POSITION/DICTS{a=1 b=2}", then "." or the error. */
static char *
run (const char *bytes, gsize size)
{
  Bytes data = { (const guint8 *) bytes, size, 0, 0 };
  GememPickleSource source = { fill_bytes, &data, "x.pickle" };
  GememPickle *pickle = gemem_pickle_new (&source, keys);
  g_autoptr (GError) error = NULL;
  GString *text = g_string_new (NULL);
  int result;

  while ((result = gemem_pickle_next (pickle, &error)) > 0)
    {
      const GememPickleValue *value;
      GememPicklePath path;
      if (result == GEMEM_PICKLE_NEXT_LIST)
        {
          take_list (text, pickle);
          continue;
        }
      gemem_pickle_path (pickle, &path);
      g_string_append_printf (text, "%d/%u/%u/%u{", path.section, path.lists, path.position,
                              path.dicts);
      for (guint key = 0; keys[key] != NULL; key++)
        if ((value = get (pickle, key)) != NULL)
          {
            g_string_append_printf (text, "%s%s=", text->str[text->len - 1] == '{' ? "" : " ",
                                    keys[key]);
            append_value (text, pickle, value);
          }
      g_string_append (text, "} ");
      take_dict (pickle);
    }
  g_assert_true ((result < 0) == (error != NULL));
  if (error != NULL)
    g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_string_append (text, error != NULL ? error->message : ".");
  gemem_pickle_free (pickle);
  return g_string_free (text, FALSE);
}

#define expect(bytes, text) expect_run (bytes, sizeof (bytes) - 1, text)

static void
expect_run (const char *bytes, gsize size, const char *expected)
{
  g_autofree char *text = run (bytes, size);
  g_assert_cmpstr (text, ==, expected);
}

/* The value of {a: ...} for a value written as @bytes. */
#define expect_value(bytes, text) expect (P4 "}" A bytes "s.", "-1/0/0/0{a=" text "} .")

static void
test_scalars (void)
{
  expect_value ("N", "None");
  expect_value ("\x88", "True");
  expect_value ("\x89", "False");
  expect_value ("K\xff", "255");
  expect_value ("M\xff\xff", "65535");
  expect_value ("J\xff\xff\xff\xff", "-1");
  expect_value ("J\xff\xff\xff\x7f", "2147483647");
  expect_value ("G\x3f\xf8\0\0\0\0\0\0", "1.5");
  expect_value ("\x8c\x02hi", "'hi'");
  expect_value ("X\x02\0\0\0hi", "'hi'");
  expect_value ("\x8d\x02\0\0\0\0\0\0\0hi", "'hi'");
  expect_value ("\x8c\0", "''");
  expect_value ("C\x02hi", "bytes");
  expect_value ("B\x02\0\0\0hi", "bytes");
  expect_value ("\x8e\x02\0\0\0\0\0\0\0hi", "bytes");
  expect_value ("\x96\x02\0\0\0\0\0\0\0hi", "bytes");
}

static void
test_longs (void)
{
  expect_value ("\x8a\0", "0");
  expect_value ("\x8a\x01\xff", "-1");
  expect_value ("\x8a\x02\xff\0", "255");
  expect_value ("\x8a\x05\0\0\0\x80\0", "2147483648");
  expect_value ("\x8a\x06\0\x02\xf0\x1e\x21\x7f", "139780229693952");
  expect_value ("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "9223372036854775807");
  expect_value ("\x8a\x08\0\0\0\0\0\0\0\x80", "-9223372036854775808");
  expect_value ("\x8b\x02\0\0\0\xff\0", "255");
  /* Of numbers beyond 64 bits the low 64 are known: 2^64 - 1, as torch.compile writes for a
   * line, and 2^512. */
  expect_value ("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0", "big-1");
  expect_value ("\x8b\x09\0\0\0\x05\0\0\0\0\0\0\0\x01", "big5");
  expect (P4 "}" A "\x8b\xff\xff\xff\xffs.", "x.pickle: byte 11: the file ends in the middle of "
                                             "the pickle; it was cut off, fetch it again");
}

static void
test_tuples (void)
{
  expect_value (")", "tuple");
  expect_value ("K\x01\x85", "tuple");
  expect_value ("K\0K\0\x86", "(0,0)");
  expect_value ("K\x01M\0\x10\x86", "(1,4096)");
  expect_value ("K\x01N\x86", "tuple");
  expect_value ("K\x01J\xff\xff\xff\xff\x86", "tuple");
  expect_value ("K\x01K\x02K\x03\x87", "tuple");
  expect_value ("(K\x01K\x02t", "(1,2)");
  expect_value ("(K\x01K\x02K\x03K\x04t", "tuple");
  expect_value ("(t", "tuple");
  expect_value ("](K\x01K\x02"
                "e",
                "list2");
  /* Two dicts share a stack entry; a tuple still takes them one by one. */
  expect (P4 "}" A DICT_A ("\x01") DICT_A ("\x02") "\x86s.",
          "0/0/0/0{a=1} 0/0/0/0{a=2} -1/0/0/0{a=tuple} .");
  expect (P4 "}" A "K\x05" DICT_A ("\x01") DICT_A ("\x02") "00s.",
          "0/0/0/0{a=1} 0/0/0/0{a=2} -1/0/0/0{a=5} .");
  expect (P4 "K\x01\x86.",
          "x.pickle: byte 4: TUPLE2 finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "K\x01(\x85.",
          "x.pickle: byte 5: TUPLE1 finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "K\x01t.",
          "x.pickle: byte 4: TUPLE finds the wrong values on the stack; the pickle is damaged");
}

static void
test_memo (void)
{
  expect_value ("\x8c\x02hi\x94"
                "0h\0",
                "'hi'");
  expect_value ("\x8c\x02hiq\x05"
                "0h\x05",
                "'hi'");
  expect_value ("\x8c\x02hir\x05\0\0\0"
                "0j\x05\0\0\0",
                "'hi'");
  expect_value ("K\x03K\x04\x86\x94"
                "0h\0",
                "(3,4)");
  /* too large to be remembered, but valid */
  expect_value ("J\0\0\x01\0K\x04\x86\x94"
                "0h\0",
                "tuple");
  expect_value ("]\x94"
                "0h\0",
                "list0");
  expect_value ("}\x94"
                "0h\0",
                "dict");
}

static void
test_memo_errors (void)
{
  expect (
      P4 "}" A "h\x07s.",
      "x.pickle: byte 6: BINGET of memo entry 7, which was never stored; the pickle is damaged");
  expect (P4 "}" A "j\xff\xff\xff\xffs.", "x.pickle: byte 6: LONG_BINGET of memo entry 4294967295, "
                                          "which was never stored; the pickle is damaged");
  expect (P4 "}r\xff\xff\xff\xff.", "x.pickle: byte 3: memo entry 4294967295 is out of bounds; the "
                                    "pickle is damaged or too large");
  expect (P4 "K\x01\x94.", "x.pickle: byte 4: MEMOIZE of a number; no writer of snapshots does "
                           "that, the pickle is damaged");
  expect (P4 "\x94.",
          "x.pickle: byte 2: MEMOIZE finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "(\x94.",
          "x.pickle: byte 3: MEMOIZE finds the wrong values on the stack; the pickle is damaged");
}

static void
test_containers (void)
{
  expect (P4 "}.", ".");
  expect (P4 "}(" A "K\x01" B "K\x02u.", "-1/0/0/0{a=1 b=2} .");
  expect (P4 "}(" X "K\x01" B "K\x02u.", "-1/0/0/0{b=2} .");
  expect (P4 "}" X "K\x01s.", ".");
  /* A key twice: the later one counts, as in Python. */
  expect (P4 "}(" A "K\x01" A "K\x02u.", "-1/0/0/0{a=2} .");
  /* Keys that are no strings are ignored. */
  expect (P4 "}(K\x01K\x01" A "K\x02u.", "-1/0/0/0{a=2} .");
  /* A dict in two parts is fine as long as no part was returned. */
  expect (P4 "}" X "K\x01s(" X "K\x02u.", ".");
  expect (P4 "}" X "K\x01s" A "K\x02s.", "-1/0/0/0{a=2} .");
  expect (P4 "}" A "K\x01s" B "K\x02s.",
          "-1/0/0/0{a=1} x.pickle: byte 14: a dict gets its items in several parts; save the "
          "snapshot again with pickle.dump()");
  /* FRAME and a second PROTO are ignored; POP and POP_MARK remove values. */
  expect (P4 "\x95\x05\0\0\0\0\0\0\0}\x80\x02K\x01"
             "0(K\x01K\x02"
             "1" A "K\x01s.",
          "-1/0/0/0{a=1} .");
  expect (P4 "}(0" A "K\x01s.", "-1/0/0/0{a=1} .");
}

/* The position of a record, for all ways in which a pickler may write lists. */
static void
test_paths (void)
{
  /* {items: [{a:1}, {a:2}], b: 5}, with APPENDS; then with one APPEND each. */
  expect (P4 "}(" ITEMS "](" DICT_A ("\x01") DICT_A ("\x02") "e" B "K\x05u.",
          "3/1/0/0{a=1} 3/1/0/0{a=2} -1/0/0/0{b=5 items=list2} .");
  expect (P4 "}(" ITEMS "]" DICT_A ("\x01") "a" DICT_A ("\x02") "a" B "K\x05u.",
          "3/1/0/0{a=1} 3/1/0/0{a=2} -1/0/0/0{b=5 items=list2} .");
  /* {items: [...]} alone: SETITEM, no mark. */
  expect (P4 "}" ITEMS "](" DICT_A ("\x01") "es.", "3/1/0/0{a=1} -1/0/0/0{items=list1} .");
  /* {items: [[], [{a:1}], [], [{a:2}, {a:3}]]}: inner lists are counted from 0, empty ones too. */
  expect (P4 "}" ITEMS "]("
             "]"
             "]" DICT_A ("\x01") "a"
                                 "]"
                                 "](" DICT_A ("\x02") DICT_A ("\x03") "e"
                                                                      "e"
                                                                      "s.",
          "3/2/1/0{a=1} 3/2/3/0{a=2} 3/2/3/0{a=3} -1/0/0/0{items=list4} .");
  /* In two parts: [[], []] and then [[{a:1}]]. */
  expect (P4 "}" ITEMS "]("
             "]"
             "]"
             "e"
             "("
             "]" DICT_A ("\x01") "a"
                                 "e"
                                 "s.",
          "3/2/2/0{a=1} -1/0/0/0{items=list3} .");
  /* {items: [[{a:1}]]} without any mark. */
  expect (P4 "}" ITEMS "]"
             "]" DICT_A ("\x01") "aas.",
          "3/2/0/0{a=1} -1/0/0/0{items=list1} .");
  /* A dict inside a dict, before and after its sibling's keys; empty dicts beside it do not
   * count as enclosing. */
  expect (P4 "}" ITEMS "](}(" A "](" DICT_A ("\x01") "e" B "K\x02"
                                                     "ues.",
          "3/1/0/1{a=1} 3/1/0/0{a=list1 b=2} -1/0/0/0{items=list1} .");
  expect (P4 "}" ITEMS "](}}" DICT_A ("\x01") "es.", "3/1/0/0{a=1} -1/0/0/0{items=list3} .");
  /* {x: {...}, items: [...]}: the section is the last key. */
  expect (P4 "}(" C DICT_A ("\x01") ITEMS "](" DICT_A ("\x02") "eu.",
          "2/0/0/0{a=1} 3/1/0/0{a=2} -1/0/0/0{c=dict items=list1} .");
  expect (P4 "}(" X DICT_A ("\x01") "u.", "-1/0/0/0{a=1} .");
  /* The outermost object is a list. */
  expect (P4 "](" DICT_A ("\x01") DICT_A ("\x02") "e.", "-2/1/0/0{a=1} -2/1/0/0{a=2} .");
}

static void
test_operands (void)
{
  expect (P4 "u.",
          "x.pickle: byte 2: SETITEMS finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "(u.",
          "x.pickle: byte 3: SETITEMS finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "](K\x01K\x02u.",
          "x.pickle: byte 8: SETITEMS finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "}(K\x01u.",
          "x.pickle: byte 6: SETITEMS finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "}(K\x01"
             "e.",
          "x.pickle: byte 6: APPENDS finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "}K\x01s.",
          "x.pickle: byte 5: SETITEM finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "](K\x01"
             "a.",
          "x.pickle: byte 6: APPEND finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "0.",
          "x.pickle: byte 2: POP finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "1.",
          "x.pickle: byte 2: POP_MARK finds the wrong values on the stack; the pickle is damaged");
  expect (P4 ".",
          "x.pickle: byte 2: STOP finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "NN.",
          "x.pickle: byte 4: STOP finds the wrong values on the stack; the pickle is damaged");
  expect (P4 "(N.",
          "x.pickle: byte 4: STOP finds the wrong values on the stack; the pickle is damaged");
}

/* Every byte that is no opcode of plain data is refused by name, as the first opcode. */
static void
test_refused (void)
{
  static const char allowed[] =
      "\x80\x95(.01NKMJGX)]}aeustqhrjCB\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x94\x96";
  guint refused = 0;

  for (guint opcode = 0; opcode < 256; opcode++)
    {
      char bytes[64] = P4;
      g_autofree char *text = NULL;
      bytes[2] = (char) opcode;
      text = run (bytes, sizeof bytes);
      g_autofree char *code = g_strdup_printf ("(0x%02x) is refused", opcode);
      gboolean is_refused = strstr (text, code) != NULL
                            && g_str_has_prefix (text, "x.pickle: byte 2: opcode ");
      g_assert_cmpint (is_refused, ==, memchr (allowed, (int) opcode, sizeof allowed - 1) == NULL);
      refused += is_refused;
    }
  g_assert_cmpuint (refused, ==, 256 - (sizeof allowed - 1));
  g_autofree char *attack = run ("\x80\x02"
                                 "cos\nsystem\n(X\x02\0\0\0idtR.",
                                 27);
  g_assert_true (g_str_has_prefix (attack, "x.pickle: byte 2: opcode GLOBAL (0x63) is refused: "));
  g_autofree char *attack4 = run (P4 "\x8c\x02os\x8c\x06system\x93.", 16);
  g_assert_true (
      g_str_has_prefix (attack4, "x.pickle: byte 14: opcode STACK_GLOBAL (0x93) is refused: "));
  g_autofree char *text0 = run ("cos\nsystem\n(S'id'\ntR.", 22);
  g_assert_true (
      g_str_has_prefix (text0, "x.pickle: byte 0: this is no pickle of protocol 2 or later"));
}

static void
test_protocols (void)
{
  expect ("\x80\x02}.", ".");
  expect ("\x80\x05}.", ".");
  expect ("\x80\x01}.", "x.pickle: byte 0: pickle protocol 1 is not known; save the snapshot again "
                        "with protocol 2 to 5");
  expect ("\x80\x06}.", "x.pickle: byte 0: pickle protocol 6 is not known; save the snapshot again "
                        "with protocol 2 to 5");
  expect (P4 "\x80\x09}.", "x.pickle: byte 2: pickle protocol 9 is not known; use 2 to 5");
  expect ("", "x.pickle: byte 0: the file is empty; name a recorded snapshot");
  expect ("\x80", "x.pickle: byte 0: the file ends in the middle of the pickle; it was cut off, "
                  "fetch it again");
}

/* A pickle cut anywhere is an error; bytes after STOP are not read. */
static void
test_truncated (void)
{
  static const char whole[] = P4 "\x95\x40\0\0\0\0\0\0\0}\x94(" ITEMS
                                 "\x94](" DICT_A ("\x01") "}(" A "\x8a\x05\0\0\0\x80\0" B
                                                          "G\x3f\xf8\0\0\0\0\0\0ue" C
                                                          "X\x02\0\0\0hi\x94h\x01j\x02\0\0\0u."
                                                          "rest";
  gsize size = sizeof whole - 1 - strlen ("rest");

  for (gsize i = 0; i < size; i++)
    {
      g_autofree char *text = run (whole, i);
      g_assert_true (g_str_has_suffix (text, i == 0 ? "name a recorded snapshot"
                                                    : "it was cut off, fetch it again"));
    }
  expect_run (whole, size,
              "3/1/0/0{a=1} 3/1/0/0{a=2147483648 b=1.5} -1/0/0/0{c='hi' items='hi'} .");
  expect_run (whole, sizeof whole - 1,
              "3/1/0/0{a=1} 3/1/0/0{a=2147483648 b=1.5} -1/0/0/0{c='hi' items='hi'} .");
}

/* ---- limits */

static void
append (GByteArray *bytes, const char *text, gsize size)
{
  g_byte_array_append (bytes, (const guint8 *) text, (guint) size);
}

static void
test_limits (void)
{
  g_autoptr (GByteArray) deep = g_byte_array_new (), wide = g_byte_array_new ();

  append (deep, P4, 2);
  append (wide, P4, 2);
  for (guint i = 0; i < 257; i++)
    append (deep, "(", 1);
  for (guint i = 0; i < 4194305; i++)
    append (wide, "N", 1);
  expect_run (
      (char *) deep->data, deep->len,
      "x.pickle: byte 258: objects are nested more than 256 deep; this is no memory snapshot");
  expect_run ((char *) wide->data, wide->len,
              "x.pickle: byte 4194306: more than 4194304 values wait on the stack; this is no "
              "memory snapshot");
  memset (wide->data + 2, ']', wide->len - 2);
  expect_run ((char *) wide->data, wide->len,
              "x.pickle: byte 4194306: more than 4194304 values wait on the stack; this is no "
              "memory snapshot");
  wide->data[2] = '\x88';
  for (guint i = 3; i + 1 < wide->len; i += 2)
    memcpy (wide->data + i, "K\x01", 2);
  g_byte_array_set_size (wide, 65537);
  expect_run ((char *) wide->data, wide->len,
              "x.pickle: byte 65537: the file ends in the middle of the pickle; it was cut off, "
              "fetch it again");
}

/* 200000 values that are no dicts before a single APPENDS: torch.jit.save() of PyTorch 2.11, whose writer
 * that is, wrote a list of 100000 pairs so. */
static void
test_long_list_of_numbers (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  append (bytes, P4 "}" A "](", 2 + 1 + sizeof A - 1 + 2);
  for (guint i = 0; i < 200000; i++)
    append (bytes, "K\x01", 2);
  append (bytes, "es.", 3);
  expect_run ((char *) bytes->data, bytes->len, "-1/0/0/0{a=list200000} .");
}

/* A list of 300000 dicts before a single APPENDS, as the C++ writer of PyTorch makes them, needs
 * one stack entry. */
static void
test_long_list (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  static const char head[] = P4 "}" ITEMS "](", item[] = DICT_A ("\x01"), tail[] = "es.";
  guint count = 0;

  append (bytes, head, sizeof head - 1);
  for (guint i = 0; i < 300000; i++)
    append (bytes, item, sizeof item - 1);
  append (bytes, tail, sizeof tail - 1);
  Bytes data = { bytes->data, bytes->len, 0, 0 };
  GememPickleSource source = { fill_bytes, &data, "x.pickle" };
  GememPickle *pickle = gemem_pickle_new (&source, keys);
  g_autoptr (GError) error = NULL;
  int result;
  while ((result = gemem_pickle_next (pickle, &error)) > 0)
    count++;
  g_assert_no_error (error);
  g_assert_cmpuint (count, ==, 300001);
  const GememPickleValue *list = get (pickle, 3);
  g_assert_nonnull (list);
  g_assert_cmpuint (list != NULL ? list->count : 0, ==, 300000);
  g_assert_cmpuint (gemem_pickle_offset (pickle), ==, bytes->len);
  gemem_pickle_free (pickle);
}

#define DICT_C(n) "}\x94(" C "K" n "u"

/* References restore the numbers of dicts and lists. */
static void
test_numbers (void)
{
  static const char again[] = "x.pickle: byte %u: an event, segment or block is repeated by a "
                              "reference to it; no snapshot does that, the file was "
                              "edited or made to harm";
  g_autofree char *in_list = g_strdup_printf (again, 21), *of_list = g_strdup_printf (again, 25);
  g_autofree char *expected = NULL;

  expect (P4 "}" ITEMS "](" DICT_C ("\x01") DICT_C ("\x02") "h\0}es.",
          "3/1/0/0{c=1} 3/1/0/0{c=2} [0+1,2,1,0=1210] -1/0/0/0{items=list4} .");
  /* In several parts; SETITEM and APPEND. */
  expect (P4 "}" ITEMS "](" DICT_C ("\x01") "e}\x94" C "K\x02s"
                                            "ah\0as.",
          "3/1/0/0{c=1} [0+1=1] 3/1/0/0{c=2} [1+2=12] [12+1=121] -1/0/0/0{items=list3} .");
  /* A list by reference, also one that is not complete, and one in itself. */
  expect (P4 "}(" A "]\x94(" DICT_C ("\x03") "e" B "h\0"
                                             "u.",
          "0/1/0/0{c=3} [0+3=3] -1/0/0/0{a=list1 b=list0} .");
  expect (P4 "}" ITEMS "](]\x94(" DICT_C ("\x03") "eh\0es.",
          "3/2/0/0{c=3} [0+3=3] [0+3,3=33] -1/0/0/0{items=list2} .");
  expect (P4 "}" ITEMS "]\x94(" DICT_C ("\x03") "h\0es.",
          "3/1/0/0{c=3} [0+3,0=30] -1/0/0/0{items=list2} .");
  /* A dict inside itself has no number yet. */
  expect (P4 "}" ITEMS "](}\x94(" A "h\0" C "K\x04ues.",
          "3/1/0/0{a=dict c=4} [0+4=4] -1/0/0/0{items=list1} .");
  /* Values that must not occur twice: in their list, as a list, and in a list of lists. */
  expected = g_strconcat ("3/1/0/0{c=255} ", in_list, NULL);
  expect (P4 "}" ITEMS "](" DICT_C ("\xff") "h\0es.", expected);
  g_free (expected);
  expected = g_strconcat ("3/2/0/0{c=255} ", of_list, NULL);
  expect (P4 "}" ITEMS "](]\x94(" DICT_C ("\xff") "eh\0es.", expected);
}

/* A list repeated by references to lists of references costs what the references cost. */
static void
test_references (void)
{
  static const char head[] = P4 "}" ITEMS "](]\x94(" DICT_C ("\x01") "e";
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  append (bytes, head, sizeof head - 1);
  for (guint8 depth = 0; depth < 60; depth++)
    {
      guint8 reference[2] = { 'h', depth == 0 ? 0 : depth + 1 };
      append (bytes, "]\x94(", 3);
      for (guint i = 0; i < 30; i++)
        append (bytes, (char *) reference, 2);
      append (bytes, "e", 1);
    }
  append (bytes, "es.", 3);
  Bytes data = { bytes->data, bytes->len, 0, 0 };
  GememPickleSource source = { fill_bytes, &data, "x.pickle" };
  GememPickle *pickle = gemem_pickle_new (&source, keys);
  g_autoptr (GError) error = NULL;
  guint records = 0;
  int result;
  while ((result = gemem_pickle_next (pickle, &error)) > 0)
    {
      gemem_pickle_set_number (pickle, 1);
      records++;
    }
  g_assert_no_error (error);
  /* the frame, its list, 60 lists of lists, the list around, the dict */
  g_assert_cmpuint (records, ==, 64);
  gemem_pickle_free (pickle);
}

/* Long strings are skipped, in pieces of any size; 16 KiB are kept. */
static void
test_long_strings (void)
{
  for (guint32 length = 16383; length < 300000; length = length < 16385 ? length + 1 : length * 7)
    {
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      guint8 size[4] = { length & 0xff, length >> 8 & 0xff, length >> 16 & 0xff, length >> 24 };
      g_autofree char *string = g_strnfill (length, 'x');
      append (bytes, P4 "}(" A "X", 2 + 2 + 3 + 1);
      append (bytes, (char *) size, 4);
      append (bytes, string, length);
      append (bytes, B "K\x02u.", 3 + 4);
      g_autofree char *expected = g_strdup_printf ("-1/0/0/0{a='%s' b=2} .",
                                                   length <= 16384 ? string : "");
      expect_run ((char *) bytes->data, bytes->len, expected);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pickle/scalars", test_scalars);
  g_test_add_func ("/pickle/longs", test_longs);
  g_test_add_func ("/pickle/tuples", test_tuples);
  g_test_add_func ("/pickle/memo", test_memo);
  g_test_add_func ("/pickle/memo-errors", test_memo_errors);
  g_test_add_func ("/pickle/containers", test_containers);
  g_test_add_func ("/pickle/paths", test_paths);
  g_test_add_func ("/pickle/operands", test_operands);
  g_test_add_func ("/pickle/refused", test_refused);
  g_test_add_func ("/pickle/protocols", test_protocols);
  g_test_add_func ("/pickle/truncated", test_truncated);
  g_test_add_func ("/pickle/limits", test_limits);
  g_test_add_func ("/pickle/long-list", test_long_list);
  g_test_add_func ("/pickle/long-list-of-numbers", test_long_list_of_numbers);
  g_test_add_func ("/pickle/numbers", test_numbers);
  g_test_add_func ("/pickle/references", test_references);
  g_test_add_func ("/pickle/long-strings", test_long_strings);
  return g_test_run ();
}
