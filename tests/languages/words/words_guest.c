/* The same functions as in words.js and words_app.py. */

#include "words.h"

#include <stdlib.h>
#include <string.h>

#define MOST 1000

typedef exports_acme_words_counting_word_t word;

static bool is_upper(uint8_t letter) { return letter >= 'A' && letter <= 'Z'; }

static uint8_t lower(uint8_t letter) { return is_upper(letter) ? letter + ('a' - 'A') : letter; }

static bool is_letter(uint8_t byte) { return lower(byte) >= 'a' && lower(byte) <= 'z'; }

static bool is_same(const word *known, const uint8_t *text, size_t length) {
  if (known->text.len != length) return false;
  for (size_t i = 0; i < length; i++) {
    if (known->text.ptr[i] != lower(text[i])) return false;
  }
  return true;
}

static void add(exports_acme_words_counting_list_word_t *list, const words_string_t *text, size_t at, size_t length) {
  for (size_t i = 0; i < list->len; i++) {
    if (is_same(&list->ptr[i], text->ptr + at, length)) {
      list->ptr[i].count++;
      return;
    }
  }
  word *new = &list->ptr[list->len++];
  new->text.ptr = malloc(length);
  new->text.len = length;
  for (size_t i = 0; i < length; i++) new->text.ptr[i] = lower(text->ptr[at + i]);
  new->count = 1;
  new->first_at = at;
  new->capital.is_some = is_upper(text->ptr[at]);
  new->capital.val = text->ptr[at];
}

/* The most used first; words of one number stay in their order. */
static void sort(word *words, size_t length) {
  for (size_t i = 1; i < length; i++) {
    word moved = words[i];
    size_t to = i;
    for (; to > 0 && words[to - 1].count < moved.count; to--) words[to] = words[to - 1];
    words[to] = moved;
  }
}

bool exports_acme_words_counting_count(
    words_string_t *text, exports_acme_words_counting_order_t order, uint8_t *maybe_at_most,
    exports_acme_words_counting_list_word_t *ret, exports_acme_words_counting_problem_t *err) {
  if (text->len > MOST) {
    err->tag = EXPORTS_ACME_WORDS_COUNTING_PROBLEM_TOO_LONG;
    err->val.too_long = text->len;
    return false;
  }
  ret->ptr = malloc((text->len / 2 + 1) * sizeof(word));
  ret->len = 0;
  for (size_t at = 0; at < text->len;) {
    size_t end = at;
    while (end < text->len && is_letter(text->ptr[end])) end++;
    if (end > at) add(ret, text, at, end - at);
    at = end + 1;
  }
  if (ret->len == 0) {
    err->tag = EXPORTS_ACME_WORDS_COUNTING_PROBLEM_NO_WORDS;
    return false;
  }
  if (order == EXPORTS_ACME_WORDS_COUNTING_ORDER_MOST_USED) sort(ret->ptr, ret->len);
  if (maybe_at_most && *maybe_at_most < ret->len) ret->len = *maybe_at_most;
  return true;
}

void exports_words_reverse(words_list_u8_t *bytes, words_list_u8_t *ret) {
  ret->ptr = malloc(bytes->len);
  ret->len = bytes->len;
  for (size_t i = 0; i < bytes->len; i++) ret->ptr[i] = bytes->ptr[bytes->len - 1 - i];
}
