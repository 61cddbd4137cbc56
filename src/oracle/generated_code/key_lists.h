// The terms of folds by their keys, for the oracle's nests on the host (oracle/loop_nest.cc embeds this text behind
// numbers.h).
#pragma once

namespace {

// For each of `others` places, `lists` lists in which the terms' numbers ascend.
class KeyLists {
 public:
  struct List {
    const std::int64_t *first, *last;
    const std::int64_t* begin() const { return first; }
    const std::int64_t* end() const { return last; }
    std::int64_t size() const { return last - first; }
  };

  // list_of(other, term) says in which of its place's lists a term is; -1 = in none. It is asked twice, by `threads`
  // threads.
  template <class ListOf>
  KeyLists(std::int64_t others, std::int64_t lists, std::int64_t terms, [[maybe_unused]] int threads,
           const ListOf& list_of)
      : lists_(lists), term_count_(terms), begins_(others * (lists + 1)), terms_(others * terms) {
#pragma omp parallel for num_threads(threads) if (others > 1)
    for (std::int64_t other = 0; other < others; ++other) {
      std::int64_t* const begins = begins_.data() + other * (lists + 1);
      for (std::int64_t i = 0; i <= lists; ++i) begins[i] = 0;
      for (std::int64_t term = 0; term < terms; ++term) {
        const std::int64_t list = list_of(other, term);
        if (list >= 0) ++begins[list];
      }
      // Each list's end, which goes down to its beginning as the list fills from the back.
      for (std::int64_t i = 1; i <= lists; ++i) begins[i] += begins[i - 1];
      std::int64_t* const listed = terms_.data() + other * terms;
      for (std::int64_t term = terms; term-- > 0;) {
        const std::int64_t list = list_of(other, term);
        if (list >= 0) listed[--begins[list]] = term;
      }
    }
  }

  List Of(std::int64_t other, std::int64_t list) const {
    const std::int64_t* const begins = begins_.data() + other * (lists_ + 1);
    const std::int64_t* const listed = terms_.data() + other * term_count_;
    return {listed + begins[list], listed + begins[list + 1]};
  }

 private:
  std::int64_t lists_, term_count_;
  Memory<std::int64_t> begins_, terms_;
};

}  // namespace
