// What names stand for, and Check itself.
#include "base/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "dsl/checker.h"

namespace hone::dsl {
namespace {

std::string_view RoleName(Role role) {
  return role == Role::kInput ? "input" : role == Role::kParameter ? "param" : "output";
}

}  // namespace

std::variant<KernelProgram, Complaint> Checker::Run() {
  program_.name = source_.name;
  program_.device = device_;
  for (std::size_t i = 0; i < source_.views.size(); ++i) views_of_[source_.views[i].base].push_back(i);
  if (!Declarations()) return complaint_;
  if (!AddViews()) return complaint_;
  for (std::size_t i = 0; i < source_.statements.size();) {
    const std::size_t end = GroupEnd(i);
    const bool added = SequenceOf(source_.statements[i]) < 0 ? AddStatement(source_.statements[i]) : AddGroup(i, end);
    if (!added || !AddViews()) return complaint_;
    i = end;
  }
  for (const auto& view : source_.views) {
    if (!names_.contains(view.name)) {
      Fail(view.at, fmt::format("view '{}' is of '{}', which nothing makes{}", view.name, view.base, Known(view.base)));
      return complaint_;
    }
  }
  for (const auto& declaration : source_.declarations) {
    if (declaration.role == Role::kOutput && !written_.contains(declaration.name)) {
      Fail(declaration.at,
           fmt::format("output '{}' is never written: add a statement '{} = ...'", declaration.name, declaration.name));
      return complaint_;
    }
  }
  return std::move(program_);
}

std::variant<KernelProgram, Complaint> Checker::RunAgain(std::span<const std::size_t> changed, KernelProgram before) {
  program_ = std::move(before);
  HONE_CHECK(program_.kernels.size() == source_.statements.size(), "another program was checked");
  for (const std::size_t i : changed) {
    const Statement& statement = source_.statements[i];
    Kernel& kernel = program_.kernels[i];
    kernel.way = nullptr;
    kernel.settings.clear();
    kernel.operand_types.clear();
    kernel.operand_is_parameter.clear();
    kernel.text = TextOf(statement);
    if (!Settings(statement, kernel)) return complaint_;
  }
  return std::move(program_);
}

bool Checker::Fail(Position at, std::string message) {
  if (!failed_) complaint_ = {at, std::move(message)};
  failed_ = true;
  return false;
}

std::vector<std::string_view> Checker::KnownNames() const {
  std::vector<std::string_view> known;
  for (const auto& [other, named] : names_) known.push_back(other);
  std::ranges::sort(known);
  return known;
}
std::string Checker::Known(const std::string& name) const { return DidYouMean(name, KnownNames()); }

bool Checker::UnknownName(const Term& term) {
  return Fail(term.at, buffers_.contains(term.name)
                           ? fmt::format("output '{}' is read before it is written: move its statement up", term.name)
                           : fmt::format("unknown name '{}'{}", term.name, Known(term.name)));
}

bool Checker::Declarations() {
  int counts[3] = {};
  for (const auto& declaration : source_.declarations) {
    KernelBuffer buffer{.name = declaration.name, .dtype = declaration.dtype, .shape = declaration.shape};
    buffer.home = declaration.role == Role::kInput       ? KernelBuffer::Home::kInput
                  : declaration.role == Role::kParameter ? KernelBuffer::Home::kParameter
                                                         : KernelBuffer::Home::kOutput;
    buffer.position = counts[static_cast<int>(declaration.role)]++;
    if (!buffers_.emplace(declaration.name, static_cast<int>(program_.buffers.size())).second) {
      return Fail(declaration.at,
                  fmt::format("'{}' is declared twice: give each tensor its own name", declaration.name));
    }
    if (declaration.role != Role::kOutput)
      AddName(declaration.name, static_cast<int>(program_.buffers.size()), declaration.shape);
    program_.buffers.push_back(std::move(buffer));
  }
  return Updates() && (!problem_ || AgreesWithProblem());
}

bool Checker::Updates() {
  std::set<int> updated;
  for (const auto& declaration : source_.declarations) {
    if (declaration.updates.empty()) continue;
    KernelBuffer& output = program_.buffers[At(buffers_.at(declaration.name))];
    const auto found = buffers_.find(declaration.updates);
    if (found == buffers_.end())
      return Fail(declaration.at, fmt::format("'{}' updates '{}', which is not declared{}", declaration.name,
                                              declaration.updates, Known(declaration.updates)));
    const KernelBuffer& input = program_.buffers[At(found->second)];
    if (input.home != KernelBuffer::Home::kInput)
      return Fail(declaration.at, fmt::format("'{}' updates '{}', which is no input", declaration.name, input.name));
    if (input.dtype != output.dtype || input.shape != output.shape)
      return Fail(declaration.at, fmt::format("'{}' is {}{} and updates '{}', which is {}{}: they have to agree",
                                              output.name, hone::Name(output.dtype), hone::ToString(output.shape),
                                              input.name, hone::Name(input.dtype), hone::ToString(input.shape)));
    if (!updated.insert(found->second).second)
      return Fail(declaration.at, fmt::format("'{}' is the second that updates '{}'", output.name, input.name));
    output.updates = found->second;
  }
  return true;
}

bool Checker::AgreesWithProblem() {
  std::unordered_map<std::string_view, const Tensor*> tensors;
  for (const auto& tensor : problem_->tensors) tensors.try_emplace(tensor.name, &tensor);
  for (const auto& declaration : source_.declarations) {
    const auto found = tensors.find(declaration.name);
    const Tensor* tensor = found == tensors.end() ? nullptr : found->second;
    if (!tensor) {
      std::vector<std::string_view> known;
      for (const auto& one : problem_->tensors) known.push_back(one.name);
      return Fail(declaration.at, fmt::format("the problem has no tensor '{}'{}", declaration.name,
                                              DidYouMean(declaration.name, known)));
    }
    if (tensor->role != declaration.role) {
      return Fail(declaration.at, fmt::format("'{}' is declared as {}; in the problem it is {}", declaration.name,
                                              RoleName(declaration.role), RoleName(tensor->role)));
    }
    if (tensor->dtype != declaration.dtype || tensor->shape != declaration.shape) {
      return Fail(declaration.at, fmt::format("'{}' is declared as {}{}; in the problem it is {}{}", declaration.name,
                                              hone::Name(declaration.dtype), hone::ToString(declaration.shape),
                                              hone::Name(tensor->dtype), hone::ToString(tensor->shape)));
    }
    if (tensor->updates != declaration.updates) {
      const auto words = [](const std::string& input) {
        return input.empty() ? std::string("has memory of its own") : fmt::format("updates '{}'", input);
      };
      return Fail(declaration.at, fmt::format("'{}' {} as it is declared; in the problem it {}", declaration.name,
                                              words(declaration.updates), words(tensor->updates)));
    }
  }
  // A module gets the problem's tensors by position: all of them, in the problem's order, whatever the program's.
  std::map<Role, int> position;
  for (const auto& tensor : problem_->tensors) {
    const int here = position[tensor.role]++;
    const auto it = buffers_.find(tensor.name);
    if (it != buffers_.end()) {
      program_.buffers[At(it->second)].position = here;
    } else if (tensor.role == Role::kOutput) {
      return Fail({1, 1}, fmt::format("the problem's output '{}' is not declared: add 'output {}: {}{}'", tensor.name,
                                      tensor.name, hone::Name(tensor.dtype), hone::ToString(tensor.shape)));
    }
  }
  return true;
}

bool Checker::StillThere(const Term& term, const Named& named) {
  const auto found = overwritten_.find(named.buffer);
  if (found == overwritten_.end()) return true;
  const std::string& update = program_.buffers[At(found->second)].name;
  return Fail(term.at,
              fmt::format("'{}' is read after '{}' has been written into it: read '{}', or move this statement "
                          "up",
                          term.name, update, update));
}

void Checker::AddName(const std::string& name, int buffer, const Shape& shape) {
  names_[name] = {.buffer = buffer, .shape = shape, .strides = DenseStrides(shape), .offset = 0};
  BaseIsKnown(name);
}

void Checker::BaseIsKnown(const std::string& name) {
  const auto views = views_of_.find(name);
  if (views != views_of_.end()) views_due_.insert(views->second.begin(), views->second.end());
}

bool Checker::AddViews() {
  while (!views_due_.empty()) {
    const View& view = source_.views[*views_due_.begin()];
    views_due_.erase(views_due_.begin());
    const auto base = names_.find(view.base);
    if (names_.contains(view.name) || buffers_.contains(view.name)) {
      return Fail(view.at, fmt::format("'{}' is already the name of something else: choose another", view.name));
    }
    if (view_names_.contains(view.base)) {
      return Fail(view.at, fmt::format("'{}' is itself a view: view '{}' instead, with strides in its elements",
                                       view.base, view_names_.at(view.base)));
    }
    const std::int64_t count = ElementCount(base->second.shape);
    std::int64_t low = view.offset, high = view.offset;
    bool empty = false;
    for (std::size_t d = 0; d < view.shape.size(); ++d) {
      empty |= view.shape[d] == 0;
      const std::int64_t reach = (view.shape[d] - 1) * view.strides[d];
      (reach < 0 ? low : high) += reach;
    }
    if (!empty && (low < 0 || high >= count)) {
      return Fail(view.at, fmt::format("view '{}' reaches element {} of '{}', which has {}: check strides and offset",
                                       view.name, low < 0 ? low : high, view.base, count));
    }
    names_[view.name] = {base->second.buffer, view.shape, view.strides, view.offset};
    BaseIsKnown(view.name);
    view_names_[view.name] = view.base;
  }
  return true;
}

std::variant<KernelProgram, Complaint> Check(const Program& program, const Problem* problem,
                                             const DeviceModel& device) {
  return Checker(program, problem, std::make_shared<const DeviceModel>(device)).Run();
}

std::variant<KernelProgram, Complaint> CheckSettings(const Program& program, std::span<const std::size_t> changed,
                                                     KernelProgram before) {
  auto device = before.device;
  return Checker(program, nullptr, std::move(device)).RunAgain(changed, std::move(before));
}

}  // namespace hone::dsl
