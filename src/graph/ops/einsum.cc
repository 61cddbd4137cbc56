#include <algorithm>
#include <cctype>
#include <map>

#include "graph/op.h"

namespace hone::op_einsum {

HONE_OP(einsum, "sum over the indices that equation leaves out of the products of the tensors' elements") {
  const std::string equation = call.String("equation");
  const std::vector<Operand> tensors = call.Tensors("tensors");
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  const auto arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != tensors.size()) return call.Fail("equation names another number of tensors");
  // An ellipsis stands for dimensions that broadcast: digits name them, counted from the last one.
  std::size_t most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto dots = terms[i].find("...");
    const std::size_t letters = terms[i].size() - (dots == std::string::npos ? 0 : 3), rank = tensors[i].shape().size();
    if (letters > rank || (dots == std::string::npos && letters != rank) || rank - letters > 9)
      return call.Fail("'" + terms[i] + "' does not fit its tensor");
    if (dots == std::string::npos) continue;
    std::string shared;
    for (std::size_t d = rank - letters; d-- > 0;) shared += static_cast<char>('0' + d);
    most = std::max(most, shared.size());
    terms[i].replace(dots, 3, shared);
  }
  std::string all_shared, result;
  for (std::size_t d = most; d-- > 0;) all_shared += static_cast<char>('0' + d);
  std::map<char, std::int64_t> extents;
  std::map<char, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      auto& extent = extents.try_emplace(terms[i][d], 1).first->second;
      const std::int64_t own = tensors[i].shape()[d];
      if (own != 1 && extent != 1 && own != extent)
        return call.Fail(std::string("the extents of '") + terms[i][d] + "' differ");
      if (own != 1) extent = own;
      ++uses[terms[i][d]];
    }
  }
  if (arrow != std::string::npos) {
    result = text.substr(arrow + 2);
    if (const auto dots = result.find("..."); dots != std::string::npos) result.replace(dots, 3, all_shared);
  } else {
    result = all_shared;
    for (const auto& [letter, count] : uses) {
      if (count == 1 && std::isalpha(static_cast<unsigned char>(letter))) result += letter;
    }
  }
  Shape shape;
  DType dtype = tensors.empty() ? DType::kF32 : tensors[0].dtype();
  for (const auto& tensor : tensors) dtype = Promote(dtype, tensor.dtype());
  for (const char c : result) {
    if (!extents.count(c)) return call.Fail(std::string("the result names '") + c + "', which no tensor has");
    shape.push_back(extents[c]);
  }
  std::string summed;
  std::vector<std::int64_t> over;
  for (const auto& [letter, extent] : extents) {
    if (result.find(letter) != std::string::npos) continue;
    summed += letter;
    over.push_back(extent);
  }
  call.Output(shape, dtype, [&](Indices at) {
    const auto product = [&](Indices k) {
      Expr value;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::vector<Expr> full;
        for (std::size_t d = 0; d < terms[i].size(); ++d) {
          const auto kept = result.find(terms[i][d]);
          const Expr index = kept != std::string::npos ? at[kept] : k[summed.find(terms[i][d])];
          full.push_back(tensors[i].shape()[d] == 1 ? Expr(0) : index);
        }
        const Expr element = Cast(tensors[i](full), ScalarTypeOf(dtype));
        value = value ? value * element : element;
      }
      return value;
    };
    return over.empty() ? product({}) : Fold(ReduceOp::kSum, over, product);
  });
}

}  // namespace hone::op_einsum
