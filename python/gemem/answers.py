"""answers.py - what the command found: rows for pandas, words for a terminal, the page for a notebook.

An answer is a list of flat dictionaries, so that `pandas.DataFrame(answer)` is a table; `answer.json` is the whole of it.
A number is what the JSON holds, in bytes and nanoseconds; None is unknown.
"""
import html
import os
import tempfile

from gemem.command import Error, Traces, read, run

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(number):
    """1536 as "1.500 KiB", as gemem-sim writes it."""
    if number is None:
        return "-"
    unit, value = 0, abs(number)
    while value >= 1024 and unit + 1 < len(UNITS):
        value /= 1024
        unit += 1
    text = f"{value}" if unit == 0 else f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"
    return f"{'-' if number < 0 else ''}{text} {UNITS[unit]}"


def flat(item, before=""):
    """The values of ITEM, those of dictionaries in it under "outer_inner"; what is a list is left out."""
    row = {}
    for name, value in item.items():
        if isinstance(value, dict):
            row.update(flat(value, f"{before}{name}_"))
        elif not isinstance(value, list):
            row[before + name] = value
    return row


def table(rows, columns):
    """ROWS as a table of HTML with COLUMNS {name: heading}; every text is escaped."""
    cell = lambda row, name: size_text(row[name]) if name.endswith(("_bytes", "peak_reserved", "peak_live")) else row[name]
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in columns.values())
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str('-' if row.get(name) is None else cell(row, name)))}</td>" for name in columns) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Answer(list):
    """Rows, and how they are shown."""

    columns = {}

    def __init__(self, rows, data, traces, options):
        super().__init__(rows)
        self.json = data
        self._traces, self._options = traces, options

    def page(self, path=None):
        """The page for a browser: its HTML, or written to PATH."""
        with Traces(self._traces) as files, tempfile.TemporaryDirectory() as folder:
            target = path or os.path.join(folder, "page.html")
            run("report", *files, statuses=(0, 3, 4), output=target, quiet=True, **self._options)
            if path:
                return path
            with open(target, encoding="utf-8") as stream:
                return stream.read()

    def _repr_html_(self):
        try:
            page = self.page()
        except (Error, OSError) as error:  # the numbers are there in any case
            return f"<p>{html.escape(str(error))}</p>" + table(self, self.columns)
        return (f'<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:48rem;border:0" '
                f'srcdoc="{html.escape(page)}"></iframe>')

    def __repr__(self):
        return "\n".join("  ".join(str(self._word(row, name)) for name in self.columns) for row in self)

    @staticmethod
    def _word(row, name):
        value = row.get(name)
        return size_text(value) if name.endswith(("_bytes", "peak_reserved", "peak_live")) else "-" if value is None else value


class Comparison(Answer):
    """A row for each run; `failed` requests above 0: its other numbers are of what it served."""

    columns = {"trace": "trace", "label": "allocator", "peak_reserved": "peak reserved", "ooms": "failed", "calls": "device calls"}


class Advice(Answer):
    """A row for what the program has now, and one for each line to paste that needs less."""

    columns = {"trace": "trace", "paste": "paste", "needed_bytes": "needs", "saved_bytes": "less"}

    @property
    def verdict(self):
        """The verdict: "fits", "does-not-fit" or "unknown": of all recordings the worst."""
        verdicts = [item["verdict"] for item in self.json]
        return next((verdict for verdict in verdicts if verdict not in ("fits", "unknown")),
                    "unknown" if "unknown" in verdicts or not verdicts else "fits")

    def __repr__(self):
        lines = [item["sentence"] for item in self.json]
        return "\n".join(lines + [self._line(line) for item in self.json for line in item["lines"]])

    @staticmethod
    def _line(line):
        """LINE to paste, and in the words of the screen what it saves and what speaks against it."""
        return f"{line['paste']}    # " + line["words"].replace("\n", "; ")


class Facts(Answer):
    """A row for each device of each trace."""

    columns = {"trace": "trace", "device": "device", "events": "events", "allocs": "allocations", "peak_live": "peak live"}

    def _repr_html_(self):
        return table(self, self.columns)


def compare(traces, **options):
    """Replays TRACES with many settings, or those of allocator=[...]; options are those of `gemem-sim compare`."""
    data = read("compare", traces, (0, 3, 4), **options)
    rows = [{**flat({name: value for name, value in result.items() if not isinstance(value, dict)}), **result["measures"]}
            for result in data["results"]]
    return Comparison(rows, data, traces, options)


def advise(traces, **options):
    """Says whether TRACES fit, and what would need less; options are those of `gemem-sim advise`, such as capacity="16GiB"."""
    data = read("advise", traces, (0, 3, 4), **options)
    rows = []
    for item in data:
        same = {name: item[name] for name in ("trace", "device", "verdict", "allocator")}
        rows.append({**same, "paste": None, "needed_bytes": item["needed_bytes"], "saved_bytes": 0, "device_calls_more": 0})
        rows += [{**same, **flat(line)} for line in item["lines"]]
    return Advice(rows, data, traces, {name: value for name, value in options.items() if name in ("device", "capacity")})


def info(traces, **options):
    """What is in TRACES; options are those of `gemem-sim info`."""
    files = traces if isinstance(traces, (list, tuple)) else [traces]
    data = [read("info", trace, (0, 3), **options) for trace in files]
    rows = [{"trace": item["trace"], "format": item["format"], **flat(device)} for item in data for device in item["devices"]]
    return Facts(rows, data, traces, {})
