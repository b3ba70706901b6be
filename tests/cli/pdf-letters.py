"""pdf-letters.py - what a PDF says of its page and letters, without a PDF library.

Prints "WIDTH pt, fonts embedded, letters of SIZE pt": the first page's width in whole points, whether the program of
every font is in the file, and the commonest size of letters.
"""
import collections
import re
import sys
import zlib

data = open(sys.argv[1], "rb").read()
texts = [data]
for match in re.finditer(rb"stream\r?\n", data):
    try:
        texts.append(zlib.decompressobj().decompress(data[match.end():]))
    except zlib.error:
        pass
whole = b"\n".join(texts)
width = float(re.search(rb"/MediaBox\s*\[\s*\S+\s+\S+\s+(\S+)", whole).group(1))
fonts = len(set(re.findall(rb"/BaseFont\s*/(\S+)", whole)))
embedded = len(re.findall(rb"/FontFile\d?\s", whole))
sizes = collections.Counter()
for text in texts[1:]:
    for size, scale in re.findall(rb"([\d.]+) 0 0 [-\d.]+ [-\d.]+ [-\d.]+ Tm\s*/\S+ ([\d.]+) Tf", text):
        sizes[round(float(size) * float(scale), 1)] += 1
size = sizes.most_common(1)[0][0] if sizes else 0
kept = "embedded" if embedded >= fonts > 0 else f"{embedded} of {fonts} embedded"
print(f"{width:.0f} pt, fonts {kept}, letters of {size:.1f} pt")
