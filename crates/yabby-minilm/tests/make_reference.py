"""Writes reference.jsonl: what sentence-transformers, with torch, makes of the texts of texts.json.

    pip install sentence-transformers==6.2.0
    python make_reference.py <folder of sentence-transformers/all-MiniLM-L6-v2>
"""

import base64
import json
import pathlib
import struct
import sys

import sentence_transformers

here = pathlib.Path(__file__).parent
model = sentence_transformers.SentenceTransformer(sys.argv[1], device="cpu")
model.max_seq_length = 256
texts = [
    text if isinstance(text, str) else text["repeat"] * text["times"]
    for text in json.loads((here / "texts.json").read_text(encoding="utf-8"))
]
lines = []
for text in texts:
    pieces = model.tokenize([text])["input_ids"][0].tolist()
    vector = model.encode([text], normalize_embeddings=True)[0].tolist()
    packed = struct.pack("<384h", *(round(number * 32767) for number in vector))
    line = {"text": text, "pieces": pieces, "vector": base64.b64encode(packed).decode()}
    lines.append(json.dumps(line, ensure_ascii=False))
(here / "reference.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
