"""Makes the two models beside it, and what the packages `model2vec` and `tokenizers` say of some texts.

pip install model2vec && python make.py
"""

import json
from pathlib import Path

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

HERE = Path(__file__).parent

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Words of a row mean nearly the same.
MEANINGS = [
    ["bug", "issue", "fault", "report", "##s"],
    ["storm", "hurricane", "weather", "forecast", "##cast"],
    ["note", "memo", "remember", "write", "##ing"],
    ["pay", "invoice", "bill", "money", "##ment"],
]
LETTERS = list("abcdefghijklmnopqrstuvwxyz0123456789") + ["##" + letter for letter in "abcdefghijklmnopqrstuvwxyz"]
OTHERS = ["fore", "##fore", ",", ".", "!", "-", "_", "[", "]", "pad", "天", "気", "uber", "cafe", "a", "the", "“", "—"]
TEXTS = [
    "Report a bug",
    "weather forecasts, storms!",
    "  Remembering\tNOTES\n\nand memos ",
    "über-Café ÜBER e\u0301 naïve",
    "天気weather天",
    "pad the [unk issue]",
    "“payment” — bill_money",
    "zeppelin ☃ issue ☃☃",
    "☃",
    "",
    "a\u0000b\u200bug\ufffd bug\u202e",
    "x" * 101 + " storm " + "y" * 99,
    "İstanbul ŞTORM ǅ ﬁ ½",
    "storm " * 700 + "bug",
    "bug\u0379 note \ue000storm",
    "\u0e33 क\u094d\u200dष ٣ \u00a0bug\u3000note\u2028storm",
]


def tokenizer():
    pieces = SPECIAL + [word for row in MEANINGS for word in row] + LETTERS + OTHERS
    pieces = list(dict.fromkeys(pieces))
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(SPECIAL)
    return made, pieces


def rows(pieces):
    random = np.random.default_rng(7)
    rows = random.normal(size=(len(pieces), 8)) * 0.2
    for axis, row in enumerate(MEANINGS):
        for word in row:
            rows[pieces.index(word), axis] += 2.0
    return rows


def write(name, model):
    model.save_pretrained(HERE / name)
    for extra in ("modules.json", "README.md", ".gitattributes"):
        (HERE / name / extra).unlink(missing_ok=True)
    said = [
        {"text": text, "vector": [float(number) for number in model.encode([text])[0]]} for text in TEXTS
    ]
    (HERE / name / "expected.json").write_text(json.dumps(said, ensure_ascii=True, indent=1) + "\n")


made, pieces = tokenizer()
table = rows(pieces)
write("plain", StaticModel(table.astype(np.float32), made, config={"normalize": True}, normalize=True))
# Pieces share rows, and count differently.
mapping = np.array([number % 40 for number in range(len(pieces))], dtype=np.int64)
weights = (1.0 / (1.0 + np.arange(len(pieces)))).astype(np.float32)
write(
    "shared",
    StaticModel(
        table[:40].astype(np.float16), made, config={"normalize": False}, normalize=False,
        weights=weights, token_mapping=mapping, max_length=300,
    ),
)
