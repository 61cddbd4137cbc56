// Operands of a matrix product in the order in which a block of the result reads them. A panel is rows of A or columns
// of B, as many as a block has, one depth after the other. A depth holds a number of the kernel's registers, or, where
// the processor multiplies those, a pair of bf16 that are neighbours along K.
#pragma once

#include <string>

#include "dsl/cpu/matmul_emitter.h"

namespace hone::dsl {

enum class PanelUnit { kNumber, kPair };

inline constexpr std::int64_t kPanelSlack = 16;  // elements behind A's last panel, for a vector longer than its row

class MatmulPanels : protected MatmulEmitter {
 public:
  // Reads the setting micro. `unit`: pairs are for operands of bf16 or reals of 8 bits as they lie, no
  // expressions.
  MatmulPanels(const KernelProgram& program, const Kernel& kernel, Writer& writer, PanelUnit unit);

 protected:
  bool pairs() const { return unit_ == PanelUnit::kPair; }
  // The type of what a depth holds, and K in these. A pair that begins at K's last element ends with a zero.
  std::string UnitType() const { return pairs() ? "unsigned" : writer_.real(); }
  std::int64_t Units() const { return pairs() ? (shape_.k.extent + 1) / 2 : shape_.k.extent; }

  // Has all of B packed, once where it is a parameter and the setting prepack says so; gives the name of its panels.
  std::string PackedB();
  // Writes PackB_y: all of B as panels of `nr` columns, [panel][k][nr], with zeros beyond the last column.
  void WritePackB();
  // Where the packed panel of columns from `j` (a multiple of nr) on holds its row k, and how many units all hold.
  std::string BAddress(const std::string& j, const std::string& k) const;
  std::int64_t BCount() const;
  // Rows i0.. and depth k0.. of A as panels of `mr` rows, [panel][k][mr]. `edge`: the last panel may have fewer; what
  // lies below its last row is zeros where rows are of groups, else it is not read.
  void WritePackA(bool edge);
  // Writes Multiply_y<kRows>(depth, a, b, b_step, tile), whose tile are the products of so many rows of A's panel and
  // the columns of B's over a depth of no more than so much. Of what is not packed, `a` are the rows and `a_step`,
  // b_step the way along K.
  struct MultiplyText {
    bool a_packed = true, b_packed = true;
    bool may_be_nothing = false;  // the depth may be 0
  };
  void WriteMultiply(std::int64_t depth, const MultiplyText& how);
  // Whether A is packed by vectors along its rows, with a function of its own.
  bool Turns() const;
  void WriteTurn();
  // What is of another type than the products is converted on the way into its panels.
  bool Converts(const Expr& input) const;

  std::int64_t mr_ = 8, nr_ = 32;

 private:
  bool Varies(const Expr& expr, std::size_t batch) const;
  // Of an operand as it lies: "t_x[i * 64 + k]".
  std::string Place(const Expr& operand, const std::vector<std::string>& index) const;
  // What a panel holds of an input's row i, column j and depth k, which is an identifier or a sum.
  std::string Unit(const Expr& input, const std::string& i, const std::string& j, const std::string& k);

  PanelUnit unit_;
};

}  // namespace hone::dsl
