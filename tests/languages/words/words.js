// The same functions as in words.py and words.c.

const MOST = 1000;

export const counting = {
  count(text, order, atMost) {
    if (text.length > MOST) throw { tag: 'too-long', val: text.length };
    const words = new Map();
    for (const { 0: match, index } of text.matchAll(/[A-Za-z]+/g)) {
      const key = match.toLowerCase();
      const word = words.get(key);
      if (word) word.count += 1;
      else {
        const capital = /[A-Z]/.test(match[0]) ? match[0] : undefined;
        words.set(key, { text: key, count: 1, firstAt: BigInt(index), capital });
      }
    }
    if (words.size === 0) throw { tag: 'no-words' };
    const list = [...words.values()];
    if (order === 'most-used') list.sort((a, b) => b.count - a.count);
    return list.slice(0, atMost ?? list.length);
  },
};

export function reverse(bytes) {
  return Uint8Array.from(bytes).reverse();
}
