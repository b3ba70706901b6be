/* test-anonymous.c - anonymous traces (traces/anonymous/anonymous.h): what goes, what stays, and that equal things
 * stay equal and different ones different. */
#include "config.h"

#include <string.h>
#include <time.h>

#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "traces/anonymous/anonymous-private.h"
#include "traces/anonymous/anonymous.h"
#include "traces/origin.h"

/* ---- traces made of a few strings */

static GememTraceReader *
open_text (GBytes *bytes)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.txt"),
                                                     "text", NULL, &error);
  g_assert_no_error (error);
  return reader;
}

static GememAnonymizer *
survey (GememTraceReader *reader, GememAnonymity anonymity)
{
  GememAnonymizer *anonymizer = gemem_anonymizer_new (anonymity);
  g_autoptr (GError) error = NULL;
  const gboolean done = gemem_anonymizer_survey (anonymizer, reader, &error);

  g_assert_no_error (error);
  g_assert_true (done);
  gemem_trace_close (reader);
  return anonymizer;
}

/* All that the trace @text says when it is anonymous, a line each: provenance, settings, then for each event
 * its kind, its tag and the frames of its stack. */
static char *
anonymous (const char *text, GememAnonymity anonymity)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
  GememAnonymizer *anonymizer = survey (open_text (bytes), anonymity);
  GememTraceReader *reader = gemem_anonymous_open (anonymizer, open_text (bytes));
  GString *out = g_string_new (NULL), *body = g_string_new (NULL);
  const GememTraceEvent *events;
  g_autoptr (GError) error = NULL;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        guint frames;
        const guint32 *frame = events[i].stack != 0 ? gemem_call_stacks_get (
                                   reader->info.stacks, events[i].stack, &frames)
                                                    : (frames = 0, NULL);
        g_string_append_printf (body, "%s %s\n",
                                gemem_event_kind_name ((GememEventKind) events[i].kind),
                                (char *) reader->info.strings->pdata[events[i].tag]);
        for (guint f = 0; f < frames; f++)
          {
            g_string_append (body, " ");
            gemem_frame_append (body, &reader->info,
                                gemem_call_stacks_get_frame (reader->info.stacks, frame[f]));
            g_string_append (body, "\n");
          }
      }
  g_assert_no_error (error);
  g_assert_null (reader->info.sha256);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    g_string_append_printf (out, "%s\n", (char *) reader->info.provenance->pdata[i]);
  g_string_append_printf (out, "%s|%s|%s\n%s", reader->info.allocator, reader->info.settings,
                          reader->info.device, body->str);
  g_string_free (body, TRUE);
  gemem_trace_close (reader);
  gemem_anonymizer_free (anonymizer);
  return g_string_free (out, FALSE);
}

#define HEADER \
  "# gemem-trace: 2\n# sha256: " \
  "\"5f2795e11a7cd6bf9b72c70a92f6d485eb99a11688a1f63673ddb08f9fe5524f\"\n" \
  "# allocator: \"direct\"\n# settings: \"a=1,b=1.5GiB\"\n# device: \"calls=/home/bob/c.csv\"\n"
#define FRAMES \
  "# frame: \"forward\" \"/home/bob/proj/train.py\" 212\n" \
  "# frame: \"forward\" \"/home/bob/other/train.py\" 212\n" \
  "# frame: \"bob::loss\" \"/home/bob/proj/loss.cpp\" 7\n" \
  "# frame: \"Linear\" \"/opt/v/lib/python3.11/site-packages/torch/nn/linear.py\" 3\n" \
  "# frame: \"run\" \"/usr/lib/python3.11/threading.py\" 9\n" \
  "# frame: \"at::_ops::mm::call\" \"??\" 0\n# frame: \"aten::mm\"\n# frame: \"<module>\" " \
  "\"<string>\" 1\n" \
  "# stack: 1 2 3 4 5 6 7 8\n"

static void
test_paths (void)
{
  g_autofree char *got = anonymous (
      HEADER "# provenance: \"host: node7.acme.org, 2 CPUs\"\n# provenance: \"format: x\"\n"
             "# provenance: \"converted: from /home/bob/x.pickle by gemem-sim 0.1.0\"\n"
             "phase tag=\"Bob: bobsled on node7\"\n" FRAMES
             "alloc 1 size=5 tag=\"bob_run\" stack=1\nfree 1\n"
             "phase-end tag=\"Bob: bobsled on node7\"\n# end: 4\n",
      GEMEM_ANONYMOUS_PATHS);

  g_assert_cmpstr (
      got, ==,
      "host: host1, 2 CPUs\nformat: x\nconverted: from x.pickle by gemem-sim 0.1.0\n"
      "anonymous: paths\n"
      "direct|a=1,b=1.5GiB|calls=d1/c.csv\n"
      "phase user1: bobsled on host2\nalloc user1_run\n"
      " d2/train.py:212 forward\n d3/train.py:212 forward\n loss.cpp:7 user1::loss\n"
      " site-packages/torch/nn/linear.py:3 Linear\n d4/lib/python3.11/threading.py:9 run\n"
      " at::_ops::mm::call\n aten::mm\n <string>:1 <module>\n"
      "free \nphase-end user1: bobsled on host2\n");
}

static void
test_names (void)
{
  g_autofree char *got = anonymous (
      HEADER
      "# provenance: \"gpu: 0: NVIDIA H100\"\n# provenance: \"model: secret\"\n"
      "# provenance: \"graph: secret\"\n# provenance: \"aurora: 2\"\n# provenance: \"bare\"\n"
      "# provenance: \"converted: from x.pickle.gz by gemem-sim 0.1.0\"\n"
      "phase tag=\"one\"\n" FRAMES "alloc 1 size=5 tag=\"weights\" stack=1\n"
      "alloc 2 size=5 tag=\"one\"\nalloc 3 size=5 tag=\"weights\"\nphase-end tag=\"one\"\n"
      "phase tag=\"two\"\n# end: 6\n",
      GEMEM_ANONYMOUS_NAMES);

  g_assert_cmpstr (
      got, ==,
      "gpu: 0: NVIDIA H100\nmodel: name1\ngraph: name1\nnote: name2\nnote: name3\n"
      "converted: from file1.pickle.gz by gemem-sim 0.1.0\nanonymous: names\n"
      "direct|a=1,b=1.5GiB|calls=d1/c.csv\nphase phase1\nalloc tag1\n"
      " file2.py:212 f1\n file3.py:212 f1\n file4.cpp:7 f2\n site-packages/file5.py:3 f3\n"
      " /lib/python/file6.py:9 f4\n at::_ops::op1::f5\n op2\n <file7>:1 f6\n"
      "alloc tag2\nalloc tag1\nphase-end phase1\nphase phase2\n");
}

/* ---- text */

static void
expect (GememTextKind kind, const char *text, const char *expected)
{
  GememRedactor *redactor = gemem_redactor_new ();
  g_autoptr (GString) out = g_string_new (NULL);

  gemem_redactor_hide_user (redactor, "bob", -1);
  gemem_redactor_hide_host (redactor, "box.acme.org", -1);
  gemem_redactor_learn (redactor, text, kind);
  gemem_redactor_append (redactor, out, text, kind);
  g_assert_cmpstr (out->str, ==, expected);
  gemem_redactor_free (redactor);
}

static void
test_text (void)
{
  static const struct
  {
    const char *text, *expected;
  } cases[] = {
    /* paths */
    { "/home/eve/a/x.py:12 eve", "d1/x.py:12 user1" },
    { "a=/x/y.txt,b=/x/z.txt;c=/w/y.txt", "a=d1/y.txt,b=d1/z.txt;c=d2/y.txt" },
    { "PATH=/usr/bin:/opt/s:/usr/bin", "PATH=d1:d2:d1" },
    { "cd /srv/secret. Then", "cd d1. Then" },
    { "-I/usr/include x", "-Id1 x" },
    { "\"/data/my dir/s p/x.bin\" y", "\"d1/x.bin\" y" },
    { "/data/my secret/x.bin and/or", "d1/x.bin and/or" },
    { "../../etc/passwd ./x ~/s/t ~eve/t eve", "d1 d2 d3 d4 user1" },
    { "a/../b", "d1" },
    { "src/secret/train.py:3", "d1/train.py:3" },
    { "C:\\Users\\Eve Doe\\My Docs\\x.py by Eve Doe", "d1/x.py by user1" },
    { "C:/Users/eve/x.py eve", "d1/x.py user1" },
    { "at \\\\server\\share\\x.py on server", "at d1/x.py on host1" },
    { "//nas/share/x.py nas", "d1/x.py host1" },
    { "(/a/b/x.py)", "(d1/x.py)" },
    { "/a/b (copy)/x.py", "d1/x.py" },
    { "/a,b/secret;c/x /it's/secret/x /a*b/secret/x", "d1 d2 d3" },
    { "$HOME/secret/x ${HOME}/secret %USER%\\secret -I../secret", "d1 d2 d3 -Id4" },
    { "\342\200\234/srv/secret\342\200\235", "\342\200\234d1" },
    { "x/home/eve/y eve", "xd1 user1" },
    { "/home/eve", "d1" },
    /* no paths */
    { "layers/0/attn 3 MB/s N/A a / b // c and/or </>",
      "layers/0/attn 3 MB/s N/A a / b // c and/or </>" },
    { "aten::max_pool2d(1.5, 2.0.1)", "aten::max_pool2d(1.5, 2.0.1)" },
    { "", "" },
    { "/", "/" },
    { "\\", "\\" },
    { "C:", "C:" },
    /* names and addresses */
    { "bob bobsled abob bob2 bob_x x-bob BOB bob",
      "user1 bobsled abob bob2 user1_x x-user1 user1 user1" },
    { "b\303\266b bob\303\266 bob", "b\303\266b bob\303\266 user1" },
    { "\377bob\376 bob \377", "\377bob\376 user1 \377" },
    { "box.acme.org box box.acme.orgs boxer", "host1 host2 host2.acme.orgs boxer" },
    { "eve@gate.acme.org eve gate", "user1@host1 user1 host2" },
    { "torch@2.6 malloc@@GLIBC_2.14", "torch@2.6 malloc@@GLIBC_2.14" },
    { "git@forge.org:team/secret.json", "user1@host1:d1/secret.json" },
    { "see https://eve:pw@forge.org:80/eve/run?x=1#y. eve forge.org", "see url1. user1 host1" },
    { "(http://a.b/c) http://a.b/c tcp://10.0.0.1:29500 env://", "(url1) url1 url2 env://" },
    { "file:///home/eve/x.py file://srv/d/y.py srv", "d1/x.py d2/y.py host1" },
    { "10.0.0.1:80 10.0.0.1 10.0.0.2 1.2.3 1.2.3.4.5 300.1.1.1",
      "host1:80 host1 host2 1.2.3 1.2.3.4.5 300.1.1.1" },
    { "USER=eve HOSTNAME=\"gate\" eve gate", "USER=user1 HOSTNAME=\"host1\" user1 host1" },
    { "USER=root root", "USER=root root" },
    { "kurt@10.0.0.5 kurt", "user1@host1 user1" },
    { "ssh kim@[2001:db8::1] kim", "ssh user1@[host1] user1" },
    { "kim@fe80::1%eth0 FE80::1 2001:DB8:0:0:1:0:0:1", "user1@host1%eth0 host1 host2" },
    { "http://[fd00::7]:80/x fd00::7 tcp://[fd00::7]:1", "url1 host1 url2" },
    { "00:1a:2B:3c:4d:5e 00-1a-2b-3c-4d-5e x", "host1 host2 x" },
    { "c10d::add c10::d1 aten::add ::1 12:34:56 24-01-02-03-04-05 a:b:c",
      "c10d::add c10::d1 aten::add ::1 12:34:56 24-01-02-03-04-05 a:b:c" },
    { "node-17.cluster.corp.zz HOST=corp.zz corp.zz corp", "host1 HOST=host2 host2 host3" },
    { "see node-17.acme.org and box.acme.org.log", "see host1 and host2.log" },
    { "login=dave dave --user kim kim --user=lee lee",
      "login=user1 user1 --user user2 user2 --user=user3 user3" },
    { "--user 'bob3' bob3 --login \"z9\" z9", "--user 'user1' user1 --login \"user2\" user2" },
    { "pip install --user numpy numpy --user", "pip install --user numpy numpy --user" },
    { "MASTER_ADDR=node17 node17 --master-addr gate gate --rdzv_endpoint=n5:29500 n5",
      "MASTER_ADDR=host1 host1 --master-addr host2 host2 --rdzv_endpoint=host3:29500 host3" },
    { "LOGNAME=l1 HOSTNAME=h1 HOST=h2 USERNAME=l2 SLURMD_NODENAME=h3 SUDO_USER=l3 h1 h2 h3 l1 l2 "
      "l3",
      "LOGNAME=user1 HOSTNAME=host1 HOST=host2 USERNAME=user2 SLURMD_NODENAME=host3 "
      "SUDO_USER=user3 "
      "host1 host2 host3 user1 user2 user3" },
    { "SLURM_NODELIST=gpu[08-10,12],cpu3 gpu07 gpu09 gpu12 cpu3 gpu",
      "SLURM_NODELIST=host1 gpu07 host2 host3 host4 gpu" },
    { "scp x node17:/srv/y node17", "scp x host1:d1 host1" },
    { "rsync a gate:/srv/y gate", "rsync a host1:d1 host1" },
    { "failed:/srv/y failed", "failed:d1 failed" },
    { "wandb.ai/alice/proj wandb.init www.corp.com corp.com gpu7.lan x.edu",
      "url1 wandb.init host1 host2 host3 host4" },
    { "db.acme.io:5432 node-3.acme.local", "host1:5432 host2" },
    { "torch.nn.functional train.py a.gmt skimage.io threading.local policy.net self.com_x "
      "layers.0.net "
      "numpy.dev obj.com(1) v1.2",
      "torch.nn.functional train.py a.gmt skimage.io threading.local policy.net self.com_x "
      "layers.0.net "
      "numpy.dev obj.com(1) v1.2" },
    /* process ids */
    { "pid 77, PID=77 [pid: 78] process 77 of 2 processes; thread 77",
      "pid 1, PID=1 [pid: 2] process 1 of 2 processes; thread 77" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    expect (GEMEM_TEXT_FREE, cases[i].text, cases[i].expected);
  expect (GEMEM_TEXT_COMMAND, "python secret/run --out=secret/o bob", "python d1 --out=d2 user1");
  expect (GEMEM_TEXT_SYMBOL, "malloc@plt operator/(a, b) bob::f<x/y.h>(int)",
          "malloc@plt operator/(a, b) user1::f<x/y.h>(int)");
  expect (GEMEM_TEXT_SYMBOL, "<lambda at /home/bob/s/x.cpp:1:2>", "<lambda at d1/x.cpp:1:2>");
}

/* A directory goes wherever a path can stand, and whatever it looks like. */
static void
test_places (void)
{
  static const char *const before[] = {
    "",  " ", "a ", "x=", "\"",   "'",  "(",  "[",      "{",  "<",  ">",        "|",
    "&", ";", ",",  ":",  "@",    "#",  "$",  "%",      "^",  "*",  "-",        "+",
    "!", "?", "`",  "-I", "--x=", "a:", "a,", "@file:", "2>", "$(", "\303\251",
  };
  static const char *const paths[] = {
    "/srv/hush/x.py",    "/srv/hush/sub/",     "/hush",
    "~/hush/x",          "../hush/y",          "./hush/y",
    "C:\\w\\hush\\z.py", "\\\\srv9\\hush\\z",  "\\\\\\\\srv9\\\\hush\\\\z",
    "\\/srv\\/hush\\/z", "file:///srv/hush/x", "/srv/my hush/x.py",
    "/srv/a,b/hush/x",   "/srv/a:b/hush/x",    "/srv/a;b/hush/x",
    "/srv/(a)/hush/x",   "/srv/a (b)/hush/x",  "/srv/a=b/hush/x",
    "/srv/a#b/hush/x",   "/srv/a&b/hush/x",    "/srv/a*b/hush/x",
    "/srv/a|b/hush/x",   "/srv/a<b/hush/x",    "s3://bucket/hush/x",
    "/srv/a%20b/hush",   "//srv/hush/x",       "/srv//hush//x",
    "/./hush/x",         "/srv/../hush",       "/srv/a@b/hush/x",
    "$HOME/hush/x",      "${HOME}/hush",       "hush/train.py",
  };

  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    for (guint j = 0; j < G_N_ELEMENTS (paths); j++)
      for (guint more = 0; more < 2; more++)
        {
          GememRedactor *redactor = gemem_redactor_new ();
          g_autofree char *text = g_strconcat (before[i], paths[j], more > 0 ? " and more" : "",
                                               NULL);
          g_autoptr (GString) out = g_string_new (NULL);

          gemem_redactor_append (redactor, out, text, GEMEM_TEXT_FREE);
          if (strstr (out->str, "hush") != NULL)
            g_error ("'%s' became '%s'", text, out->str);
          gemem_redactor_free (redactor);
        }
}

/* ---- files */

static void
test_files (void)
{
  static const struct
  {
    const char *file, *expected;
  } cases[] = {
    { "/p/a/train.py", "d1/train.py" },
    { "/p/b/train.py", "d2/train.py" },
    { "/p/a/../a/train.py", "d3/train.py" }, /* paths are not resolved */
    { "train.py", "train.py" },
    { "/p/a/model.py", "model.py" },
    { "p/a/rel.py", "rel.py" },
    { "../../up.py", "up.py" },
    { "./here.py", "here.py" },
    { "/home/eve/eve.py", "user1.py" },
    { "/v/site-packages/torch/a.py", "d4/site-packages/torch/a.py" },
    { "/w/site-packages/torch/a.py", "d5/site-packages/torch/a.py" },
    { "/w/site-packages/torch/b.py", "site-packages/torch/b.py" },
    { "/w/dist-packages/eve/b.py", "dist-packages/user1/b.py" },
    { "/w/my-site-packages/secret/b.py", "site-packages/b.py" },
    { "/home/eve/lib/python_secret/c.py", "d6/lib/python/c.py" },
    { "/usr/lib/python3.11/json/c.py", "d7/lib/python3.11/json/c.py" },
    { "C:\\Users\\eve\\w.py", "w.py" },
    { "C:\\v\\site-packages\\torch\\w.py", "site-packages\\torch\\w.py" },
    { "\\\\srv\\share\\u.py", "u.py" },
    { "file:///home/eve/f.py", "f.py" },
    { "https://srv/eve/g.py?token=secret", "g.py?" },
    { "/srv/secret/", "d8" },
    { "/srv/<secret>", "d9/<secret>" },
    { "<string>", "<string>" },
    { "<frozen /home/eve/x>", "<frozen d10>" },
    { "??", "??" },
    { "/lib/libc.so.6", "libc.so.6" },
    { "/q/caf\351.py", "caf\351.py" },
  };
  GememRedactor *redactor = gemem_redactor_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    gemem_redactor_learn_file (redactor, cases[i].file);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      gemem_redactor_append_file (redactor, out, cases[i].file);
      g_assert_cmpstr (out->str, ==, cases[i].expected);
    }
  gemem_redactor_free (redactor);
}

/* Texts that come to the same are told apart; the place that tells a name may come last. */
static void
test_different (void)
{
  g_autofree char *got = anonymous ("# gemem-trace: 2\nphase tag=\"eve\"\nphase tag=\"user1\"\n"
                                    "phase tag=\"Eve\"\nphase tag=\"eve\"\nphase tag=\"EVE\"\n"
                                    "# frame: \"f\" \"/home/eve/eve.py\" 1\n"
                                    "# frame: \"f\" \"/home/eve/user1.py\" 1\n# stack: 1 2\n"
                                    "alloc 1 size=1 stack=1\n# end: 6\n",
                                    GEMEM_ANONYMOUS_PATHS);

  g_assert_cmpstr (
      got, ==,
      "anonymous: paths\n(null)|(null)|(null)\nphase user1\nphase user1-2\nphase user1-3\n"
      "phase user1\nphase user1-4\nalloc \n user1.py:1 f\n user1-2.py:1 f\n");
}

/* The information at the end of a file replaces the first, and lines that were added stay. */
static void
test_information (void)
{
  const char *text = "# gemem-trace: 2\n# provenance: \"a: 1\"\nalloc 1 size=1\n"
                     "# provenance: \"b: on node3\"\n# provenance: \"anonymous: names\"\n"
                     "# provenance: \"host: node3\"\n# ambiguities: 3\n# end: 1\n";
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
  GememAnonymizer *anonymizer = survey (open_text (bytes), GEMEM_ANONYMOUS_PATHS);
  GememTraceReader *reader = gemem_anonymous_open (anonymizer, open_text (bytes));
  const GememTraceEvent *events;

  gemem_trace_info_note (&reader->info, "mine", "/as/it is");
  gemem_anonymous_note (reader, "converted", "from /home/bob/x.gmt by gemem-sim 1");
  while (gemem_trace_next (reader, &events, NULL) > 0)
    continue;
  g_assert_cmpuint (reader->info.provenance->len, ==, 5);
  g_assert_cmpstr (reader->info.provenance->pdata[0], ==, "b: on host1");
  g_assert_cmpstr (reader->info.provenance->pdata[1], ==, "host: host1");
  g_assert_cmpstr (reader->info.provenance->pdata[2], ==, "anonymous: paths");
  g_assert_cmpstr (reader->info.provenance->pdata[3], ==, "mine: /as/it is");
  g_assert_cmpstr (reader->info.provenance->pdata[4], ==, "converted: from x.gmt by gemem-sim 1");
  g_assert_cmpuint (reader->info.ambiguities, ==, 3);
  gemem_trace_close (reader);
  gemem_anonymizer_free (anonymizer);
}

static void
test_parse (void)
{
  GememAnonymity anonymity;
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_anonymity_parse ("", &anonymity, NULL));
  g_assert_cmpint (anonymity, ==, GEMEM_ANONYMOUS_PATHS);
  g_assert_true (gemem_anonymity_parse ("names", &anonymity, NULL));
  g_assert_cmpint (anonymity, ==, GEMEM_ANONYMOUS_NAMES);
  g_assert_false (gemem_anonymity_parse ("all", &anonymity, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
}

/* What stands before the first ": " is text, unless it is a key of gemem's. */
static void
test_keys (void)
{
  static const char text[] =
      "# gemem-trace: 2\n# provenance: \"LOGNAME=erin cwd: x\"\n"
      "# provenance: \"on host=gpu7 by USER=erin: started\"\n"
      "# provenance: \"kim@10.0.0.5 on /srv/x/y: erin\"\n"
      "# provenance: \"gpu: 0: NVIDIA\"\nphase tag=\"erin gpu7\"\n# end: 1\n";
  g_autofree char *paths = anonymous (text, GEMEM_ANONYMOUS_PATHS);
  g_autofree char *names = anonymous (text, GEMEM_ANONYMOUS_NAMES);

  g_assert_cmpstr (paths, ==,
                   "LOGNAME=user1 cwd: x\non host=host1 by USER=user1: started\n"
                   "user2@host2 on d1: user1\ngpu: 0: NVIDIA\nanonymous: paths\n"
                   "(null)|(null)|(null)\nphase user1 host1\n");
  g_assert_cmpstr (names, ==,
                   "note: name1\nnote: name2\nnote: name3\ngpu: 0: NVIDIA\nanonymous: names\n"
                   "(null)|(null)|(null)\nphase phase1\n");
}

/* ---- hostile text */

/* The cost is linear, whatever the text is made of. */
static void
test_long (void)
{
  static const char *const parts[] = {
    "a@",      "a.a@b ",  "/a",     "../",  "\\\\s\\", "'/a ",      "a b/",
    "C:\\",    "http://", "bob ",   "bob.", "pid 1 ",  "a",         "(",
    "1.2.3.4", "\377",    "/home/", "=a/",  "a.py/",   ".so.",      ".",
    "a.com ",  "a.com/",  "a-",     "aa:",  "fe80::",  "--user x ", "nodelist=a[0-99999999],",
    "[",       "a1:/"
  };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      GememRedactor *redactor = gemem_redactor_new ();
      g_autoptr (GString) text = g_string_new (NULL), out = g_string_new (NULL);
      const clock_t start = clock (); /* the processor's time: other programs run too */
      double seconds;

      while (text->len < 1 << 17)
        g_string_append (text, parts[i]);
      gemem_redactor_hide_user (redactor, "bob", -1);
      gemem_redactor_learn (redactor, text->str, GEMEM_TEXT_FREE);
      gemem_redactor_learn_file (redactor, text->str);
      gemem_redactor_append (redactor, out, text->str, GEMEM_TEXT_FREE);
      gemem_redactor_append_file (redactor, out, text->str);
      gemem_redactor_free (redactor);
      seconds = (double) (clock () - start) / CLOCKS_PER_SEC;
      g_test_message ("%s: %.3f s", parts[i], seconds);
      g_assert_cmpfloat (seconds, <, 5);
    }
}

/* Random texts of such parts: the names never come through. */
static void
test_random (void)
{
  static const char *const parts[] = { "/home/zorro/",
                                       "zorro",
                                       " ",
                                       "@",
                                       "quark",
                                       "\\",
                                       "C:\\Users\\zorro\\",
                                       "https://",
                                       "\"",
                                       "'",
                                       ":",
                                       "file://",
                                       "../",
                                       "x.py",
                                       "(",
                                       ")",
                                       "\377",
                                       ",",
                                       "=",
                                       "-I",
                                       ".",
                                       "/",
                                       "1.2.3.4",
                                       "a",
                                       "/srv/",
                                       "~",
                                       "\\\\quark\\" };
  GememRng rng;

  gemem_rng_init (&rng, 7, "anonymous");
  for (guint round = 0; round < 20000; round++)
    {
      GememRedactor *redactor = gemem_redactor_new ();
      g_autoptr (GString) text = g_string_new (NULL), out = g_string_new (NULL);

      for (guint i = gemem_rng_below (&rng, 12); i > 0; i--)
        g_string_append (text, parts[gemem_rng_below (&rng, G_N_ELEMENTS (parts))]);
      gemem_redactor_hide_user (redactor, "zorro", -1);
      gemem_redactor_hide_host (redactor, "quark", -1);
      gemem_redactor_learn (redactor, text->str, GEMEM_TEXT_FREE);
      gemem_redactor_append (redactor, out, text->str, GEMEM_TEXT_FREE);
      for (const char *const *name = (const char *[]){ "zorro", "quark", NULL }; *name != NULL;
           name++)
        for (const char *at = strstr (out->str, *name); at != NULL; at = strstr (at + 1, *name))
          {
            const guchar after = (guchar) at[5], before = at > out->str ? (guchar) at[-1] : ' ';
            if (!g_ascii_isalnum (after) && after < 0x80 && !g_ascii_isalnum (before)
                && before < 0x80)
              g_error ("'%s' became '%s'", text->str, out->str);
          }
      gemem_redactor_free (redactor);
    }
}

/* ---- recordings */

static GememTraceReader *
open_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);

  g_assert_no_error (error);
  return reader;
}

/* The place of frame @number in @stack. */
static guint
place_of (const GememTraceInfo *info, guint32 stack, guint32 number)
{
  guint n, place = 0;
  const guint32 *frames = gemem_call_stacks_get (info->stacks, stack, &n);

  while (place < n && frames[place] != number)
    place++;
  return place;
}

/* Events are the same but for tag and stack; stacks correspond one to one; the origin is the same frame. */
static void
compare_recording (const char *path, GememAnonymity anonymity)
{
  GememTraceReader *recorded = open_file (path);
  GememAnonymizer *anonymizer = survey (open_file (path), anonymity);
  GememTraceReader *reader = gemem_anonymous_open (anonymizer, open_file (path));
  g_autoptr (GHashTable) of_stack = g_hash_table_new (NULL, NULL),
                         back = g_hash_table_new (NULL, NULL);
  const GememTraceEvent *events, *wanted;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, NULL)) > 0)
    {
      g_assert_cmpint (gemem_trace_next (recorded, &wanted, NULL), ==, n);
      for (gssize i = 0; i < n; i++)
        {
          GememTraceEvent event = events[i];
          const gpointer own = GUINT_TO_POINTER (event.stack),
                         from = GUINT_TO_POINTER (wanted[i].stack);
          gpointer known;

          event.tag = wanted[i].tag;
          event.stack = wanted[i].stack;
          g_assert_cmpmem (&event, sizeof event, &wanted[i], sizeof wanted[i]);
          g_assert_cmpint (events[i].tag == 0, ==, wanted[i].tag == 0);
          g_assert_cmpint (own == NULL, ==, from == NULL);
          if (own == NULL)
            continue;
          known = g_hash_table_lookup (of_stack, from);
          g_assert_true (known == NULL || known == own);
          known = g_hash_table_lookup (back, own);
          g_assert_true (known == NULL || known == from);
          g_hash_table_insert (of_stack, from, own);
          g_hash_table_insert (back, own, from);
        }
    }
  g_assert_cmpint (n, ==, 0);
  g_assert_cmpuint (g_hash_table_size (of_stack), >, 10);
  GHashTableIter iter;
  gpointer from, own;
  g_hash_table_iter_init (&iter, of_stack);
  while (anonymity == GEMEM_ANONYMOUS_PATHS && g_hash_table_iter_next (&iter, &from, &own))
    {
      const guint32 a = GPOINTER_TO_UINT (from), b = GPOINTER_TO_UINT (own);
      g_autofree char *operator= gemem_origin_operator (&recorded->info, a);
      g_autofree char *same = gemem_origin_operator (&reader->info, b);

      g_assert_cmpstr (operator, ==, same);
      g_assert_cmpuint (place_of (&recorded->info, a, gemem_origin_line (&recorded->info, a)), ==,
                        place_of (&reader->info, b, gemem_origin_line (&reader->info, b)));
    }
  for (guint i = 1; i < reader->info.strings->len; i++)
    g_assert_null (strstr (reader->info.strings->pdata[i], "/home/"));
  gemem_trace_close (recorded);
  gemem_trace_close (reader);
  gemem_anonymizer_free (anonymizer);
}

static void
test_recordings (void)
{
  g_autoptr (GPtrArray) files = test_shared_files ("traces/pytorch/with-stacks", ".pickle.gz");

  for (guint i = 0; files != NULL && i < files->len; i++)
    {
      compare_recording (files->pdata[i], GEMEM_ANONYMOUS_PATHS);
      compare_recording (files->pdata[i], GEMEM_ANONYMOUS_NAMES);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/anonymous/paths", test_paths);
  g_test_add_func ("/anonymous/names", test_names);
  g_test_add_func ("/anonymous/text", test_text);
  g_test_add_func ("/anonymous/places", test_places);
  g_test_add_func ("/anonymous/files", test_files);
  g_test_add_func ("/anonymous/different", test_different);
  g_test_add_func ("/anonymous/information", test_information);
  g_test_add_func ("/anonymous/keys", test_keys);
  g_test_add_func ("/anonymous/parse", test_parse);
  g_test_add_func ("/anonymous/long", test_long);
  g_test_add_func ("/anonymous/random", test_random);
  g_test_add_func ("/anonymous/recordings", test_recordings);
  return g_test_run ();
}
