#!/bin/sh
# test-python.sh - the Python package: the wheel that pip installs, answers that are those of the command, what a notebook and pandas see.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip 'the package' 'there is no python3'; done_testing; exit; }
llama=$GEMEM_SRCDIR/traces/recorded/llama-train.gmt
PYTHONPATH=$GEMEM_SRCDIR/python PYTHONDONTWRITEBYTECODE=1; export PYTHONPATH PYTHONDONTWRITEBYTECODE
cp "$llama" train.gmt

# ---- the wheel: what pip is given, by the backend alone, twice the same
cat >build.py <<'END'
import sys, zipfile, hashlib, base64
sys.path.insert(0, sys.argv[1])
import backend
name = backend.build_wheel(".")
first = open(name, "rb").read()
assert backend.build_wheel(".") == name and open(name, "rb").read() == first
wheel = zipfile.ZipFile(name)
assert wheel.testzip() is None
listed = [line.split(",") for line in wheel.read("gemem-0.1.0.dist-info/RECORD").decode().split()]
assert sorted(row[0] for row in listed) == sorted(wheel.namelist())
for path, digest, size in listed[:-1]:
    data = wheel.read(path)
    assert len(data) == int(size) and digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
assert "Version: 0.1.0" in wheel.read("gemem-0.1.0.dist-info/METADATA").decode()
assert "gemem/torch.py" in wheel.namelist()
END
run 0 "$python" build.py "$GEMEM_SRCDIR/python"
run 0 sh -c 'gemem-sim version | grep -q "$(sed -n "s/^version = \"\(.*\)\"/\1/p" "$GEMEM_SRCDIR/python/pyproject.toml")"'

# ---- answers: those of the command
gemem-sim compare train.gmt -a direct -a ge -a rmm-fixed-size -f json -o compare.json -q 2>/dev/null
gemem-sim advise train.gmt --capacity=4200MiB -f json -q >advise.json 2>/dev/null
gemem-sim info train.gmt -f json -q >info.json 2>/dev/null
cat >answers.py <<'END'
import json, os, pathlib, gemem
same = lambda name: json.load(open(name))
rows = gemem.compare("train.gmt", allocator=["direct", "ge", "rmm-fixed-size"])
assert rows.json == same("compare.json")
assert [row["label"] for row in rows] == ["direct", "ge", "rmm-fixed-size"] and all(row["trace"] == "train.gmt" for row in rows)
assert all(not isinstance(value, (dict, list)) for row in rows for value in row.values())
for row, result in zip(rows, rows.json["results"]):
    assert {name: row[name] for name in result["measures"]} == result["measures"]
assert rows[2]["ooms"] > 0 and rows[2]["utilisation"] is None, rows[2]
advice = gemem.advise(pathlib.Path("train.gmt"), capacity="4200MiB")
assert advice.json == same("advise.json")
assert advice.verdict == advice.json[0]["verdict"] == "does-not-fit"
assert [row["paste"] for row in advice] == [None] + [line["paste"] for line in advice.json[0]["lines"]]
assert gemem.advise("train.gmt", capacity="80GiB").verdict == "fits"
assert gemem.advise(["train.gmt", "train.gmt"], capacity="4200MiB").verdict == "does-not-fit"
print(advice)
decode = gemem.advise(os.path.join(os.environ["GEMEM_SRCDIR"], "traces/recorded/llama-decode.gmt"), capacity="1GiB")
refused = {line["paste"]: line["refused_by_oldest_version"] for line in decode.json[0]["lines"]}
assert set(refused.values()) == {False, True}, refused
for line in repr(decode).splitlines()[1:]:
    assert ("; version 2.10 refuses it" in line) == refused[line.partition("    #")[0]], line
facts = gemem.info("train.gmt")
assert facts.json == [same("info.json")] and facts[0]["peak_live"] == 4330252288 and facts[0]["sizes_p50"] == 802815
assert len(gemem.info(["train.gmt", "train.gmt"])) == 2
assert "4.033 GiB" in facts._repr_html_() and "<script" not in facts._repr_html_()
page = advice._repr_html_()
assert page.startswith("<iframe sandbox=") and page.count("<") == 2 and "</iframe>" in page
assert advice.page("page.html") == "page.html" and open("page.html").read().startswith("<!DOCTYPE html>")
END
run 0 "$python" answers.py
says out '^export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True    # 4\.088 GiB, 84\.00 MiB \(2\.0 %\) less; '

# ---- pandas takes the rows as they are, where it is installed
if "$python" -c 'import pandas' 2>/dev/null; then
  run 0 "$python" -c 'import gemem, pandas; frame = pandas.DataFrame(gemem.compare("train.gmt", allocator="direct")); assert frame.peak_reserved[0] == 4446994432, frame.peak_reserved'
else skip 'pandas' 'it is not installed'; fi

# ---- what goes wrong is said as the command says it
cat >wrong.py <<'END'
import gemem
def message(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except gemem.Error as error:
        return str(error)
    raise SystemExit(f"{arguments}: no error")
assert "nowhere.gmt" in message(gemem.advise, "nowhere.gmt")
assert "no-such" in message(gemem.compare, "train.gmt", allocator="no-such")
assert "colour" in message(gemem.info, "train.gmt", colour=1)
assert "--help" in message(gemem.info, "--help")  # a name, no option
END
run 0 "$python" wrong.py
run 0 env GEMEM_SIM=./nowhere "$python" -c 'import gemem
try: gemem.info("train.gmt")
except gemem.Error as error: assert "install gemem" in str(error)'

# ---- names are text in a notebook
cp train.gmt '<img src=x onerror=alert(1)>.gmt'
run 0 "$python" -c 'import gemem
assert "<img" not in gemem.info("<img src=x onerror=alert(1)>.gmt")._repr_html_()
assert "<img" not in gemem.compare("<img src=x onerror=alert(1)>.gmt", allocator="direct")._repr_html_()'
done_testing
