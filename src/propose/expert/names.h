// How values are called in a program that is being written: tensors and intermediate values by name, other ways to
// index them by views, expressions as terms over those.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/program.h"
#include "propose/expert/memory.h"

namespace hone::expert {

// Whether dimensions along which a view does not vary may be left to broadcasting.
enum class Broadcast : std::uint8_t { kAllowed, kForbidden };

class Names {
 public:
  explicit Names(const Memory& memory);

  const Memory& memory() const { return memory_; }

  // A name that nothing else has.
  std::string Fresh(const std::string& name);
  // From now on the buffer is called so. `shape`: as the language knows it.
  void Call(int buffer, const std::string& name, const Shape& shape, DType dtype);
  bool IsCalled(int buffer) const { return values_.contains(buffer); }
  // The same of what is no buffer of the graph; the number by which views of it are made.
  int CallNew(const std::string& name, const Shape& shape, DType dtype);

  // The load as something that broadcasts over `space`: the value itself where its own shape does, else a view. Nothing
  // if it varies with other indices or the value is not made yet.
  std::optional<std::string> Operand(int buffer, const Affine& position, const std::vector<IndexVar>& space);
  std::optional<std::string> View(int buffer, Shape extents, std::vector<std::int64_t> strides, std::int64_t offset,
                                  Broadcast broadcast);

  // -1 and 1 along the dimension before the last of a statement's space, as kSign is: a view of what a statement of
  // their own makes, which is there once.
  std::string Signs();
  // The statements that others read beside and that the program does not have yet.
  std::vector<dsl::Statement> TakeBeside() { return std::exchange(beside_, {}); }

  // A matrix of rows and columns in each batch. A batch dimension along which it does not vary is left to broadcasting.
  std::optional<std::string> Matrix(int buffer, const Affine& position, const std::vector<IndexVar>& batch,
                                    const IndexVar& row, const IndexVar& column);

  // What is no operand: the terms of values, and of lets, which are read as loads of what they make.
  struct Known {
    std::map<NamedValue, dsl::TermPtr> values;
    std::map<int, dsl::TermPtr> lets;          // by buffer
    std::map<int, dsl::TermPtr> indices = {};  // by id
  };
  // The expression over `space` with loads as operands. Nothing if it has no such form: an unknown index as a value, a
  // position that depends on data, a fold.
  std::optional<dsl::TermPtr> Term(const Expr& expr, const std::vector<IndexVar>& space, const Known& known);
  // Any expression, with elements and folds written out as in a nest.
  struct Indices {
    std::map<int, std::string> names;  // of the free ones, by id
    // By id: neighbours that every load has as such, in whole dimensions, and that are written as one under the name
    // of the second.
    std::map<int, int> joined;
  };
  std::optional<dsl::TermPtr> Nested(const Expr& expr, const Indices& indices);
  // Names for a nest's indices, or a fold's in it: i, j, k ... that are no tensors and none of `used`.
  std::vector<std::string> IndexNames(std::size_t count, const std::map<int, std::string>& used) const;

  // --- What a program needs of them ---

  struct Value {
    std::string name;
    Shape shape;
    DType dtype = DType::kF32;
  };
  const Value* Find(const std::string& name) const;  // a tensor or an intermediate value
  int BufferOf(const std::string& name) const { return buffers_.at(name); }
  const std::vector<dsl::View>& views() const { return views_; }
  // The place among them of one that is called so.
  std::optional<std::size_t> FindView(const std::string& name) const;
  // Views made since there were `count` of them are forgotten.
  void ForgetViews(std::size_t count);

 private:
  using ViewKey = std::tuple<std::string, Shape, std::vector<std::int64_t>, std::int64_t>;

  std::optional<dsl::TermPtr> Element(const Expr& load, const Indices& indices);

  const Memory& memory_;
  std::map<int, Value> values_;  // by buffer
  int next_new_ = std::numeric_limits<int>::min();
  std::unordered_map<std::string, int> buffers_;  // by name
  std::unordered_set<std::string> taken_;
  std::vector<dsl::View> views_;
  std::vector<dsl::Statement> beside_;
  std::optional<int> signs_;  // by what views of them are made
  std::map<ViewKey, std::string> view_names_;
  std::unordered_map<std::string, std::size_t> view_places_;  // by name
};

// A problem's name for a thing as a name of the language.
std::string Identifier(const std::string& name);
// "sum", "max" ... of the reduce family.
std::string_view FoldWord(ReduceOp op);

}  // namespace hone::expert
