// Writes expressions as C++. What is used twice, and what calls into libm, becomes a named constant in front of the
// statement that needs it, so that libm calls stand outside of branches and the loop around them vectorises.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/cpu/writer.h"

namespace hone::dsl {

class ExprWriter {
 public:
  // `load` gives the text of an operand's element, of `it` and of lets.
  using LoadText = std::function<std::string(const ExprNode& load)>;
  ExprWriter(Writer& writer, LoadText load) : writer_(writer), load_(std::move(load)) {}

  // What `stays` says of is evaluated only where the expression evaluates it: it, and all that holds it, is written in
  // place inside of the branches of a select.
  void KeepInBranches(std::function<bool(const ExprNode& node)> stays) { stays_ = std::move(stays); }
  // `known` says of an exp that its argument is not above zero: it is written as one that cannot overflow.
  void KnowNotAboveZero(std::function<bool(const ExprNode& exp)> known) { not_above_zero_ = std::move(known); }
  // The text of an index; without this, expressions have none.
  void Call(std::function<std::string(const IndexVar& index)> index) { index_ = std::move(index); }
  // No constants: all is written in place.
  void KeepInPlace() { in_place_ = true; }

  // Lines for the constants, then the expression itself. Several expressions of one scope share what they have in
  // common.
  std::string Text(const Expr& expr);
  std::vector<std::string> Texts(const std::vector<Expr>& exprs);
  bool made_constants() const { return made_constants_; }

 private:
  struct Piece {
    std::string text;
    int binding = 0;  // 0 = primary; the higher, the looser
  };
  int Intern(const Expr& expr);
  void Count(int id);
  Piece Write(int id);
  Piece Compose(int id);
  std::string Operand(int id, int loosest);

  struct Interned {
    Expr expr;
    std::vector<int> operands;
    int uses = 0;
    std::string name;  // once it is a constant
    bool stays = false;
  };
  Writer& writer_;
  LoadText load_;
  std::map<std::string, int> ids_;
  std::vector<Interned> nodes_;
  bool made_constants_ = false;
  std::function<std::string(const IndexVar& index)> index_;
  std::function<bool(const ExprNode& node)> stays_, not_above_zero_;
  bool in_place_ = false;
  int branches_ = 0;  // around what is being written
};

}  // namespace hone::dsl
