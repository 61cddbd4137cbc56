#include "propose/expert/writer.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <set>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/way.h"
#include "propose/expert/broadcast_product.h"
#include "propose/expert/copied_rows.h"
#include "propose/expert/laid_out.h"
#include "propose/expert/names.h"
#include "propose/expert/patches.h"
#include "propose/expert/recognise/recognise.h"
#include "propose/expert/rotated_heads.h"
#include "propose/expert/scaled_ends.h"
#include "propose/expert/slower_kinds.h"
#include "propose/expert/turn.h"
#include "propose/expert/updates.h"

namespace hone::expert {
namespace {

using dsl::Program;
using dsl::Statement;

// Those of some forms, in the order in which they are asked; the first whose statement the language takes is it.
std::vector<const Recogniser*> Asked(std::initializer_list<Form> forms) {
  std::vector<const Recogniser*> asked;
  std::copy_if(AllRecognisers().begin(), AllRecognisers().end(), std::back_inserter(asked),
               [&](const Recogniser* one) { return std::find(forms.begin(), forms.end(), one->form) != forms.end(); });
  std::stable_sort(asked.begin(), asked.end(), [](const auto* a, const auto* b) { return a->place < b->place; });
  return asked;
}

void NamesIn(const dsl::TermPtr& term, std::set<std::string>& names) {
  if (term->kind == dsl::Term::Kind::kName || term->kind == dsl::Term::Kind::kElement) names.insert(term->name);
  for (const auto& argument : term->arguments) NamesIn(argument, names);
}

class ProgramWriter {
 public:
  ProgramWriter(const Memory& memory, const DeviceModel& device, Products products)
      : memory_(memory),
        device_(device),
        products_(products),
        outputs_(memory.graph().problem().Outputs()),
        names_(memory) {}

  std::optional<Program> Write(std::vector<Piece> pieces, std::string* unwritten) {
    const Problem& problem = memory_.graph().problem();
    program_.name = Identifier(problem.name);
    for (const auto& tensor : problem.tensors)
      program_.declarations.push_back({tensor.role, tensor.name, tensor.dtype, tensor.shape, {}, tensor.updates});
    for (std::size_t i = 0; i < pieces.size();) {
      if (pieces[i].may_rotate && device_.kind == DeviceKind::kCuda && WriteRotatedHeads(pieces, i)) {
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      if (pieces[i].sequence >= 0) {
        while (end < pieces.size() && pieces[end].sequence == pieces[i].sequence) ++end;
      }
      const auto begin = pieces.begin() + static_cast<std::ptrdiff_t>(i);
      const bool written = pieces[i].sequence >= 0
                               ? WriteSequence({begin, pieces.begin() + static_cast<std::ptrdiff_t>(end)})
                               : WritePiece(pieces[i]);
      if (!written) {
        if (unwritten) *unwritten = memory_.graph().buffers()[static_cast<std::size_t>(pieces[i].buffer)].name;
        return std::nullopt;
      }
      i = end;
    }
    program_.views = names_.views();
    DropUnread();
    if (device_.kind == DeviceKind::kCuda) {
      ScaleEnds(program_);
      LayOutForReaders(program_, device_);
    }
    return OrderUpdates(std::move(program_), device_);
  }

 private:
  // What is made of indices alone some statement may have made itself: then nobody reads it, nor its views. Nests of a
  // sequence read later ones, too.
  void DropUnread() {
    std::set<std::string> read;
    for (const auto& declaration : program_.declarations) {
      if (declaration.role == Role::kOutput) read.insert(declaration.name);
    }
    auto& statements = program_.statements;
    for (std::size_t i = statements.size(); i-- > 0;) {
      const auto made = MadeBy({statements[i]});
      if (!statements[i].attributes.contains("sequence") &&
          std::ranges::none_of(made, [&](const Made& one) { return read.contains(one.target); })) {
        statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      for (const auto& name : NamesOf(statements[i])) {
        read.insert(name);
        if (const auto view = names_.FindView(name)) read.insert(names_.views()[*view].base);
      }
    }
    std::erase_if(program_.views, [&](const dsl::View& view) { return !read.contains(view.name); });
  }

  // Takes the products of second parts out of the scores of attention, which may be a value by themselves.
  static void TakeParts(Piece& piece, std::vector<Piece>& parts) {
    const bool attends = piece.inside.size() > 1 && !piece.inside.back().statistics.empty();
    if (!attends) {
      if (piece.is_map() && piece.inside.size() == 1) TakeParts(piece.inside[0], parts);
      return;
    }
    for (Piece& part : piece.inside[0].inside) parts.push_back(std::move(part));
    piece.inside[0].inside.clear();
  }

  bool WritePiece(const Piece& piece) {
    const auto write = [&](const Piece& one) { return WritePiece(one); };
    if (!piece.looked_up.empty()) {
      if (TryKinds({Form::kAround}, piece)) return true;
      // Of two products that no kernel makes together each looks up its own; else the first comes by itself.
      const bool two = !piece.inside.empty() && !piece.inside[0].looked_up.empty();
      Piece after = piece;
      two ? after.inside.clear() : static_cast<void>(after.looked_up.erase(after.looked_up.begin()));
      return (two ? std::ranges::all_of(piece.inside, write) : WritePiece(piece.looked_up[0])) && WritePiece(after);
    }
    if (!piece.inside.empty()) {
      if (TryKinds({Form::kAround}, piece)) return true;
      Piece whole = piece;
      std::vector<Piece> parts;
      TakeParts(whole, parts);
      if (!parts.empty()) {
        const auto is_value = [](const Piece& part) { return part.buffer >= 0; };
        return std::ranges::all_of(parts, is_value) && std::ranges::all_of(parts, write) && WritePiece(whole);
      }
      Piece last = piece;
      // Of two products of groups each still goes with its groups.
      if (last.inside.size() == 2 && !last.inside[1].inside.empty()) {
        last.inside.pop_back();
        return WritePiece(piece.inside[1]) && WritePiece(last);
      }
      last.inside.clear();
      last.also.clear();
      // Both products may have groups that are the same.
      const auto write_once = [&](const Piece& part) { return names_.IsCalled(part.buffer) || WritePiece(part); };
      return std::ranges::all_of(piece.inside, write_once) && WritePiece(last) &&
             std::all_of(piece.also.begin(), piece.also.end(), write);
    }
    if (const auto once = BroadcastProductOf(memory_, piece))
      return WriteUnaimed(once->product) && WritePiece(once->map);
    if (TryKinds({Form::kMerged, Form::kAsItIs}, piece)) return true;
    return (!piece.statistics.empty() || !piece.also.empty()) && WriteApart(piece);
  }

  // As a new value, whatever the buffer is else, until another piece makes that.
  bool WriteUnaimed(const Piece& piece) {
    unaimed_ = piece.buffer;
    const bool written = WritePiece(piece);
    unaimed_ = -1;
    return written;
  }

  // A product that turns some of its heads itself; the maps that did are taken out of the pieces. Which heads those are
  // its end sees by their numbers.
  bool WriteRotatedHeads(std::vector<Piece>& pieces, std::size_t at) {
    auto made = RotateHeads(memory_, pieces, at);
    if (!made) return false;
    const std::size_t views = names_.views().size();
    Statement numbers;
    if (auto statement = RecogniseRotatedHeads(names_, *made, numbers)) {
      std::vector<Statement> one{Aim(std::move(*statement), pieces[at].buffer)};
      if (const auto types = TypesOf(one)) {
        names_.Call(pieces[at].buffer, one[0].target, ShapeOf(one[0]), (*types)[0]);
        if (!numbers.target.empty()) program_.statements.push_back(std::move(numbers));
        program_.statements.push_back(std::move(one[0]));
        pieces = std::move(made->pieces);
        return true;
      }
    }
    names_.ForgetViews(views);
    return false;
  }

  bool TryKinds(std::initializer_list<Form> forms, const Piece& piece) {
    std::optional<Piece> merged;
    for (const Recogniser* one : Asked(forms)) {
      const bool merges = one->form == Form::kMerged;
      if (merges && !IsPlain(memory_, piece)) continue;
      if (merges && !merged) {
        merged = piece;
        MergeDimensions(memory_, *merged);
      }
      if (TryKind(*one, merges ? *merged : piece, piece)) return true;
    }
    return false;
  }

  // `form`: the piece as the recogniser wants it.
  bool TryKind(const Recogniser& recogniser, const Piece& form, const Piece& piece) {
    const std::size_t views = names_.views().size();
    auto statement = recogniser.recognise(names_, form);
    if (statement && device_.kind == DeviceKind::kCuda && statement->family == "conv" && !OnDevice(*statement, piece)) {
      names_.ForgetViews(views);
      const auto patches = PatchesOf(memory_, piece);
      return patches && WriteUnaimed(patches->copy) && TryKinds({Form::kMerged}, patches->product);
    }
    if (statement && IsSlowerKind(memory_, device_, piece, *statement)) statement.reset();
    if (statement && statement->family == "matmul" && piece.fold) InTf32(*statement, piece);
    if (statement && (statement->family == "matmul" || statement->family == "scaled_matmul"))
      WithWholeSums(*statement, piece);
    if (statement && statement->also.size() != piece.also.size()) statement.reset();  // one that makes less
    if (statement) {
      std::vector<Statement> one{Aim(std::move(*statement), piece.buffer)};
      for (std::size_t i = 0; i < one[0].also.size(); ++i) {
        const bool of_row = one[0].also[i].has_target_shape;
        AimAt(one[0].also[i], piece.also[i].buffer);
        one[0].also[i].has_target_shape |= of_row;
      }
      auto types = TypesOf(one);
      std::vector<Statement> copies;
      if (!types && device_.kind == DeviceKind::kCuda && one[0].family == "attention") {
        copies = CopyRows(names_, one[0]);
        if (!copies.empty()) types = TypesOf(one);
      }
      const auto take_whole = [&](const Piece& made, std::size_t number, std::optional<DType>& type) {
        if (!types || !NumbersAloneAreReals(made, (*types)[number])) return;
        type = DType::kI64;
        if (auto whole = TypesOf(one)) {
          types = std::move(whole);
        } else {
          type.reset();
        }
      };
      take_whole(piece, 0, one[0].target_type);
      for (std::size_t i = 0; i < one[0].also.size(); ++i) take_whole(piece.also[i], i + 1, one[0].also[i].target_type);
      if (types) {
        names_.Call(piece.buffer, one[0].target, ShapeOf(one[0]), (*types)[0]);
        for (std::size_t i = 0; i < one[0].also.size(); ++i)
          names_.Call(piece.also[i].buffer, one[0].also[i].target, one[0].also[i].target_shape, (*types)[i + 1]);
        std::ranges::move(names_.TakeBeside(), std::back_inserter(program_.statements));
        std::ranges::move(copies, std::back_inserter(program_.statements));
        program_.statements.push_back(std::move(one[0]));
        return true;
      }
    }
    names_.ForgetViews(views);
    return false;
  }

  // Whether the language took what the graph has whole for reals, as it takes numbers alone: select(x > 0, 1, 0).
  bool NumbersAloneAreReals(const Piece& piece, DType made) const {
    const DType type = memory_.graph().buffers()[static_cast<std::size_t>(piece.buffer)].dtype;
    return IsFloat(made) && !IsFloat(type) && type != DType::kBool;
  }

  // Whether a convolution runs on a device: one with one input channel a group by a kernel of ours, another by the
  // library or on the tensor cores, with the precision that the contract allows it.
  bool OnDevice(Statement& statement, const Piece& piece) {
    const auto runs = [&](Statement by, std::string_view path) {
      by.settings["path"] = {std::string(path)};
      return TypesOf({Aim(std::move(by), piece.buffer)}).has_value();
    };
    if (runs(statement, "own")) return true;
    const Graph& graph = memory_.graph();
    if (graph.buffers()[static_cast<std::size_t>(piece.buffer)].dtype == DType::kF32) {
      const Precision contract = graph.problem().contract;
      const bool exact = contract == Precision::kFp32 || contract == Precision::kFp64;
      statement.settings["precision"] = {exact ? "f32" : "tf32"};
    }
    return device_.libraries.cudnn || runs(statement, "tiles");
  }

  // Has a product made in TF32 where that is wanted, allowed and possible.
  void InTf32(Statement& statement, const Piece& piece) {
    if (products_ != Products::kTf32 || device_.kind != DeviceKind::kCuda || !device_.libraries.cublas_lt) return;
    const Precision contract = memory_.graph().problem().contract;
    const bool allowed = contract == Precision::kTf32 || (contract == Precision::kTorch && piece.fold->torch_in_tf32);
    const auto is_f32 = [&](const FlatLoad& load) { return memory_.KeptAs(memory_.Root(load.buffer)) == DType::kF32; };
    if (!allowed || memory_.graph().buffers()[static_cast<std::size_t>(piece.buffer)].dtype != DType::kF32 ||
        !std::ranges::all_of(memory_.Loads(piece.fold->body), is_f32))
      return;
    Statement changed = statement;
    changed.settings["precision"] = {std::string(kInTf32)};
    if (TypesOf({Aim(changed, piece.buffer)})) statement = std::move(changed);
  }

  // Has a product of reals of 8 bits, whose sums tensor cores would cut, made of halves, which hold those exactly,
  // where its sums are held to f32.
  void WithWholeSums(Statement& statement, const Piece& piece) {
    if (device_.kind != DeviceKind::kCuda || !piece.fold || piece.fold->few_bits_of_sums || !HasEightBits(piece))
      return;
    Statement changed = statement;
    changed.settings["precision"] = {"f16"};
    const auto as_it_is = Checked({Aim(statement, piece.buffer)});
    if (!as_it_is || as_it_is->kernels[0].way->name != "f8") return;
    if (TypesOf({Aim(changed, piece.buffer)})) statement = std::move(changed);
  }
  bool HasEightBits(const Piece& piece) const {
    return std::ranges::any_of(memory_.Loads(piece.fold->body), [&](const auto& load) {
      const DType type = memory_.graph().buffers()[static_cast<std::size_t>(load.buffer)].dtype;
      return IsFloat(type) && Bytes(type) == 1;
    });
  }

  // A norm that the language does not have: its statistics and its elements by themselves, and what it makes beside.
  // Likewise of maps that are no one map.
  bool WriteApart(const Piece& norm) {
    // What is one a row its statistics are, by themselves.
    if (!std::ranges::all_of(norm.also, [&](const Piece& one) { return IsOfRow(norm, one) || WritePiece(one); }))
      return false;
    if (const auto apart = LogSumApart(norm)) return WritePiece(apart->first) && WritePiece(apart->second);
    // Some are there only as parts of it.
    if (std::ranges::any_of(norm.statistics, [](const Piece& fold) { return fold.buffer < 0; })) return false;
    for (const auto& statistic : norm.statistics) {
      Piece fold = statistic;
      AtOwnPlace(norm, fold);
      if (!WritePiece(fold)) return false;
    }
    Piece map = norm;
    map.statistics.clear();
    map.axes.clear();
    map.also.clear();
    AtOwnPlace(norm, map);
    return WritePiece(map);
  }

  // In a norm statistics are read without a position.
  static void AtOwnPlace(const Piece& norm, Piece& reader) {
    EachExpr(reader, [&](Expr& expr) {
      expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
        for (const auto& statistic : norm.statistics) {
          if (load.buffer != statistic.buffer) continue;
          return Load(load.buffer, {ToExpr(OwnPosition(statistic.space), statistic.space)}, load.type);
        }
        return {};
      });
    });
  }

  // All or nothing: they name one another.
  bool WriteSequence(const std::vector<Piece>& steps) {
    if (steps.size() == 1 && TryKinds({Form::kStep}, steps[0])) return true;
    std::vector<Statement> statements;
    for (const Piece& step : steps) {
      const Buffer& buffer = memory_.graph().buffers()[static_cast<std::size_t>(step.buffer)];
      Statement empty;
      empty.target_shape = Extents(step.space);
      statements.push_back(Aim(std::move(empty), step.buffer));
      names_.Call(step.buffer, statements.back().target, ShapeOf(statements.back()), buffer.dtype);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto statement = RecogniseNest(names_, steps[i]);
      if (!statement) return false;
      statement->target = statements[i].target;
      statement->has_target_shape = statements[i].has_target_shape;
      statement->target_shape = statements[i].target_shape;
      statements[i] = std::move(*statement);
    }
    if (device_.kind == DeviceKind::kCpu) {
      std::vector<Statement> turning = TurnFactors(names_, statements);
      statements.insert(statements.begin(), std::make_move_iterator(turning.begin()),
                        std::make_move_iterator(turning.end()));
    }
    if (!TypesOf(statements)) return false;
    for (auto& statement : statements) program_.statements.push_back(std::move(statement));
    return true;
  }

  // The statement with what it makes: an output, or a new value.
  Statement Aim(Statement statement, int buffer) {
    // Nothing is there to say how many elements numbers alone make.
    if (!AimAt(statement, buffer)) statement.has_target_shape = statement.family == "map" && NamesOf(statement).empty();
    return statement;
  }

  // Whether that is an output. Of a statement, or what it also makes.
  template <class Made>
  bool AimAt(Made& made, int buffer) {
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (memory_.Maker(o) != buffer || buffer == unaimed_) continue;
      const Tensor& tensor = *outputs_[o];
      made.target = tensor.name;
      made.has_target_shape = tensor.shape != made.target_shape;
      made.target_shape = tensor.shape;
    }
    if (!made.target.empty()) return true;
    auto& name = (buffer == unaimed_ ? unaimed_targets_ : targets_)[buffer];  // the same in every attempt
    if (name.empty()) name = names_.Fresh(memory_.graph().buffers()[static_cast<std::size_t>(buffer)].name);
    made.target = name;
    // As PyTorch does: what reads it has half as much to read, and products of halves and of 8 bits are one product.
    const DType dtype = memory_.KeptAs(buffer);
    // Numbers of 32 bits are so where they wrap around, or where half as many bytes are time.
    const bool own_32 = dtype == DType::kI32 && (memory_.RangeOf(buffer).low <= RangeOfType(dtype).low ||
                                                 ElementCount(made.target_shape) >= 65536);
    if ((Bytes(dtype) < 4 && dtype != DType::kBool) || own_32) made.target_type = dtype;
    return false;
  }
  static const Shape& ShapeOf(const Statement& statement) { return statement.target_shape; }

  static std::set<std::string> NamesOf(const Statement& statement) {
    std::set<std::string> used;
    for (const auto& operand : statement.operands) NamesIn(operand, used);
    for (const auto& let : statement.lets) NamesIn(let.value, used);
    for (const auto& link : statement.epilogue) NamesIn(link, used);
    for (const auto& one : statement.also) NamesIn(one.value, used);
    return used;
  }

  // Whether the language takes these statements, as a program of their own; if so, the types of what they make, in
  // order.
  std::optional<std::vector<DType>> TypesOf(const std::vector<Statement>& statements) const {
    const auto kernels = Checked(statements);
    if (!kernels) return std::nullopt;
    std::vector<DType> types;
    for (const auto& [target, count] : MadeBy(statements)) {
      const auto found = std::ranges::find(kernels->buffers, target, &dsl::KernelBuffer::name);
      // A dimension that no operand has is lost to whoever does not say it.
      if (found == kernels->buffers.end() || ElementCount(found->shape) != count) return std::nullopt;
      types.push_back(found->dtype);
    }
    return types;
  }

  struct Made {
    std::string target;
    std::int64_t count = 0;  // elements
  };
  static std::vector<Made> MadeBy(const std::vector<Statement>& statements) {
    std::vector<Made> made;
    for (const auto& statement : statements) {
      made.push_back({statement.target, ElementCount(statement.target_shape)});
      for (const auto& one : statement.also) made.push_back({one.target, ElementCount(one.target_shape)});
    }
    return made;
  }

  // Likewise, as kernels.
  std::optional<dsl::KernelProgram> Checked(const std::vector<Statement>& statements) const {
    Program program;
    program.name = "part";
    std::set<std::string> declared;
    for (const auto& [target, _] : MadeBy(statements)) {
      declared.insert(target);
      const auto output = std::ranges::find(outputs_, target, &Tensor::name);
      if (output != outputs_.end())
        program.declarations.push_back({Role::kOutput, target, (*output)->dtype, (*output)->shape, {}});
    }
    const auto declare = [&](const std::string& name) {
      const auto* value = names_.Find(name);
      if (value && declared.insert(name).second)
        program.declarations.push_back({Role::kInput, name, value->dtype, value->shape, {}});
    };
    std::set<std::string> used;
    for (const auto& statement : statements) used.merge(NamesOf(statement));
    std::set<std::size_t> views;
    for (const auto& name : used) {
      if (const auto view = names_.FindView(name)) views.insert(*view);
    }
    for (const std::size_t v : views) {
      const dsl::View& view = names_.views()[v];
      declare(view.base);
      program.views.push_back(view);
    }
    for (const auto& name : used) declare(name);
    program.statements = statements;
    auto checked = dsl::Check(program, nullptr, device_);
    auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    return kernels ? std::optional(std::move(*kernels)) : std::nullopt;
  }

  const Memory& memory_;
  const DeviceModel& device_;
  const Products products_;
  const std::vector<const Tensor*> outputs_;
  Names names_;
  Program program_;
  std::map<int, std::string> targets_;  // names of intermediate values, by buffer
  int unaimed_ = -1;                    // the buffer in which something else is made
  std::map<int, std::string> unaimed_targets_;
};

}  // namespace

std::optional<Program> WriteProgram(const Memory& memory, const std::vector<Piece>& pieces, const DeviceModel& device,
                                    Products products, std::string* unwritten) {
  return ProgramWriter(memory, device, products).Write(pieces, unwritten);
}

}  // namespace hone::expert
