"""The same functions as in words.js and words.c."""

import re

from componentize_py_types import Err
from wit_world import WitWorld as World
from wit_world import exports
from wit_world.exports import counting

MOST = 1000


class WitWorld(World):
    def reverse(self, bytes):
        return bytes[::-1]


class Counting(exports.Counting):
    def count(self, text, order, at_most):
        if len(text) > MOST:
            raise Err(counting.Problem_TooLong(len(text)))
        words = {}
        for match in re.finditer("[A-Za-z]+", text):
            first = match.group()[0]
            word = words.setdefault(
                match.group().lower(),
                counting.Word(match.group().lower(), 0, match.start(), first if first.isupper() else None),
            )
            word.count += 1
        if not words:
            raise Err(counting.Problem_NoWords())
        words = list(words.values())
        if order == counting.Order.MOST_USED:
            words.sort(key=lambda word: -word.count)
        return words[:at_most]
