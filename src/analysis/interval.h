// Between which numbers the values of an expression lie, from what is known of what it reads. Who asks says what that
// is: types, how inputs are drawn (analysis/range.h), what a fold has made.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "expr/expr.h"

namespace hone {

struct Range {
  double low, high;                                   // infinite where unknown
  bool maybe_nan = true;                              // some element may be NaN
  bool nan = false;                                   // all are
  bool whole = false;                                 // all are whole numbers
  bool point() const { return low == high && !nan; }  // one number, where it is a number at all
  bool within(double least, double most) const { return low >= least && high <= most; }
};

Range Between(double low, double high);  // of reals that are numbers
Range RangeOfUnary(UnaryOp op, const Range& x);
Range RangeOfBinary(BinaryOp op, ScalarType type, const Range& a, const Range& b);
Range Multiply(const Range& a, const Range& b);

// All that an element of this type may be.
Range RangeOfType(DType type);
// What is left of such values where they are stored: whole numbers that do not fit wrap around, reals without
// infinities stop at the largest.
Range AsStored(DType type, Range range);

// Reads expressions, each node once.
class RangeReader {
 public:
  virtual ~RangeReader() = default;
  Range Of(const Expr& e);

 protected:
  virtual Range OfLoad(const ExprNode& load) = 0;
  virtual Range OfValue(const ExprNode& value);  // nothing is known of it but its type
  virtual Range OfBinary(const Expr& e);
  virtual Range OfReduce(const Expr& e);

 private:
  Range Read(const Expr& e);
  std::unordered_map<const ExprNode*, Range> done_;
  std::vector<Expr> keep_;  // so that a freed node's address is not met again
};

}  // namespace hone
