// The pieces of text that all ways to multiply matrices on CUDA share: elements of A and B with what is applied to
// them, and the end of an element of the result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {

class MatmulText {
 public:
  MatmulText(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : MatmulText(program, kernel, out, MatmulShape(kernel)) {}
  MatmulText(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, MatmulShape seen);

  MatmulShape shape;
  // The type of indices: "int" where all that the statement reads or writes can be counted in it.
  std::string index = "int";

  std::int64_t Batches() const;        // not the matrices that are chosen from
  std::int64_t ResultBatches() const;  // those that the result has: not groups of rows
  // Whether the operand (0: A, 1: B, from 2 on: what the lets multiply A with) is another one in each batch of a
  // dimension, and how many it is of.
  bool Varies(int input, std::size_t batch) const;
  std::int64_t BatchesOf(int input) const;
  std::int64_t RowsOf(int input) const { return input == 0 ? shape.m.extent : shape.n.extent; }
  // From one of a plain operand's batches to the next, as they lie in one row; `otherwise` where there is but one.
  std::int64_t BatchStride(int input, std::int64_t otherwise) const;
  // The operand as it lies in memory, or null where it is an expression.
  const KernelOperand* Plain(int input) const;
  // What a step along its rows (0), along K (1) is, where the operand's expression has one for all that it reads:
  // their strides, else -1.
  std::int64_t Stride(int input, bool along_k) const;
  // Whether four neighbours, along K or along the rows, can be read as one.
  bool InPacks(int input, bool along_k) const;
  // Whether all that the operand is made of are parameters.
  bool Constant(int input) const;

  // Lines that declare the batch indices of the batch with the number `batch`; of those alone along which the operand
  // varies, or of all (-1), to which belongs which matrix the batch has chosen. One name a dimension, "0" where there
  // is none.
  std::vector<std::string> OpenBatches(const std::string& batch, int input) const;
  // The number of the operand's batch, of all batch indices.
  std::string BatchOf(int input, const std::vector<std::string>& batches) const;

  // Each may write lines, and gives a text: the element of an operand, its row being m of A and n of B; the address of
  // a plain operand's element; what becomes of the products `its`, of B first and of what the chain rotates last, as
  // the target holds it; where that is. `loaded`: elements of operands, by texts of their own.
  std::string Element(int input, const std::vector<std::string>& batches, const std::string& row,
                      const std::string& k) const;
  std::string AddressOf(int input, const std::vector<std::string>& batches, const std::string& row,
                        const std::string& k) const;
  std::string Result(const std::vector<std::string>& batches, const std::string& m, const std::string& n,
                     const std::vector<std::string>& its, const std::map<int, std::string>& loaded = {}) const;
  // The line that writes what is made beside the target, of `it`.
  std::string Also(const KernelAlso& also, const std::vector<std::string>& batches, const std::string& m,
                   const std::string& n, const std::string& it) const;
  // What becomes of the products for a target of 16 bits, before it is rounded to those. `loaded`: elements of operands
  // that are there already, as memory holds them.
  std::string CoarseValue(const std::vector<std::string>& batches, const std::string& m, const std::string& n,
                          const std::vector<std::string>& its, const std::map<int, std::string>& loaded) const;
  // What becomes of the product `it` before it is folded.
  std::string Score(const Expr& score, const std::vector<std::string>& batches, const std::string& m,
                    const std::string& n) const;
  // The scale of a block, by its numbers along the rows, the columns and K.
  std::string ScaleOfBlock(const std::string& row, const std::string& column, const std::string& k) const;
  // An operand of the chain, and where in it the element of a place is.
  const std::string& Name(int operand) const;
  std::string Place(int operand, const std::vector<std::string>& batches, const std::string& m,
                    const std::string& n) const;
  std::string Target(const std::vector<std::string>& batches, const std::string& m, const std::string& n) const;

  // A kernel that adds up products which were made in `parts` parts of K, in their order, and ends the elements:
  // `partial` is [part, batch, m, n] in the type that is computed in.
  void EmitSums(const std::string& partial, std::int64_t parts) const;

  // A launch that reads what an expression does.
  DeviceWriter::LaunchShape Reading(const Expr& expr) const;
  // It also reads which matrices the batches have, where they choose them.
  void ReadChoice(DeviceWriter::LaunchShape& launch) const;

 private:
  bool IsChosen(std::size_t batch) const { return shape.chooses && shape.batch[batch].reduced; }
  std::vector<std::string> Places(const std::vector<std::string>& batches, const std::string& m, const std::string& n,
                                  const std::string& k) const;
  const Expr& Input(int input) const { return InputOf(kernel_, static_cast<std::size_t>(input)); }
  enum class Accuracy : std::uint8_t { kFull, kCoarse, kScore };
  std::string Text(const Expr& expr, const std::vector<std::string>& places, const std::vector<std::string>& its,
                   Accuracy accuracy = Accuracy::kFull, const std::map<int, std::string>& loaded = {}) const;

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
};

}  // namespace hone::dsl
