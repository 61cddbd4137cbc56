// Attempts in order, the best first: a list of blocks, so that one more costs the same in a tree of a million as in one
// of a thousand, within a factor of two or so. Numbers alone; who inserts says which is less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace hone {

class Ranking {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using pointer = const int*;
    using reference = const int&;
    Iterator() = default;
    reference operator*() const { return (*blocks_)[block_][at_]; }
    Iterator& operator++() {
      if (++at_ == (*blocks_)[block_].size()) ++block_, at_ = 0;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class Ranking;
    Iterator(const std::vector<std::vector<int>>* blocks, std::size_t block) : blocks_(blocks), block_(block) {}
    const std::vector<std::vector<int>>* blocks_ = nullptr;
    std::size_t block_ = 0, at_ = 0;
  };

  Iterator begin() const { return {&blocks_, 0}; }
  Iterator end() const { return {&blocks_, blocks_.size()}; }
  bool empty() const { return blocks_.empty(); }
  std::size_t size() const { return size_; }
  int front() const { return blocks_.front().front(); }
  int operator[](std::size_t place) const { return *std::next(begin(), static_cast<std::ptrdiff_t>(place)); }

  // Behind all that are not greater.
  template <class Less>
  void Insert(int number, const Less& less) {
    ++size_;
    if (blocks_.empty()) blocks_.emplace_back();
    auto after = std::upper_bound(blocks_.begin() + 1, blocks_.end(), number,
                                  [&](int a, const std::vector<int>& block) { return less(a, block.front()); });
    std::vector<int>& block = *std::prev(after);
    block.insert(std::upper_bound(block.begin(), block.end(), number, less), number);
    if (block.size() < kMost) return;
    std::vector<int> rest(block.begin() + kMost / 2, block.end());
    block.resize(kMost / 2);
    blocks_.insert(after, std::move(rest));
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::vector<std::vector<int>> blocks_;  // none is empty
  std::size_t size_ = 0;
};

}  // namespace hone
