// How one of a kind is chosen on a command line: by its name and, after a colon, what it is told. A value belongs to
// the first parameter unless a name stands before it.
//
//   greedy        epsilon:0.2        epsilon:0.2,throttle=8        replay:rounds.jsonl
//
// A row of a table (cmake/Table.cmake) says which parameters it takes; help and messages come from there. No state;
// safe from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

struct Parameter {
  enum class Type { kReal, kInteger, kFile, kFolder, kWord };
  std::string_view name;
  Type type = Type::kReal;
  std::string_view help;
  std::string_view otherwise = "";  // the value when it is not given; "" = it has to be
  // Numbers only.
  double at_least = std::numeric_limits<double>::lowest(), at_most = std::numeric_limits<double>::max();
  // It came when there were runs already: no part of the identity while it is as otherwise, so that those are found.
  bool later = false;
};

// The values of all parameters of one row, checked. Asking for a name that the row does not declare is a bug.
class Parameters {
 public:
  // kUsage and a line that names the parameter, also where a file cannot be read. `who` is for messages: "search
  // strategy epsilon".
  static Result<Parameters> Parse(std::string_view who, std::span<const Parameter> declared, std::string_view words);

  double Real(std::string_view name) const;
  std::int64_t Integer(std::string_view name) const;
  const std::string& File(std::string_view name) const;    // its content
  const std::string& Folder(std::string_view name) const;  // its path; whoever takes it makes it
  const std::string& Word(std::string_view name) const;    // as it was given

  // All of them in the order of their declaration, "epsilon=0.2,throttle=5": equal when they mean the same. Of a file
  // it is the content that counts, so its SHA-256 stands there.
  const std::string& identity() const { return identity_; }

 private:
  const std::string& Value(std::string_view name) const;
  std::map<std::string, std::string, std::less<>> values_;
  std::string identity_;
};

// A row of a table with what it was told.
template <class Row>
struct Chosen {
  const Row* row = nullptr;
  Parameters parameters;
  // The name alone when it takes no parameters, else "epsilon:epsilon=0.2,throttle=5".
  std::string Identity() const {
    return parameters.identity().empty() ? std::string(row->name)
                                         : std::string(row->name) + ":" + parameters.identity();
  }
};

// Which of the names `words` begins with. kUsage with the known ones: "there is no search strategy 'gredy'; did you
// mean 'greedy'?; known are greedy, random".
Result<std::size_t> ChooseName(std::string_view kind, const std::vector<std::string_view>& names,
                               std::string_view words);

// `kind` is for messages: "search strategy". A Row has name and parameters.
template <class Row>
Result<Chosen<Row>> Choose(std::string_view kind, std::span<const Row* const> rows, std::string_view words) {
  std::vector<std::string_view> names;
  for (const Row* row : rows) names.push_back(row->name);
  const Row* row = rows[HONE_TRY(ChooseName(kind, names, words))];
  const std::string_view told = words.substr(std::min(words.size(), row->name.size() + 1));
  return Chosen<Row>{
      row, HONE_TRY(Parameters::Parse(std::string(kind) + " " + std::string(row->name), row->parameters, told))};
}

// An entry of --help.
struct ChoiceHelp {
  std::string words;  // how it is typed, with what is not given otherwise: "epsilon:0.35,throttle=5", "replay:FILE"
  std::string help;   // what it is, and what its parameters are
};
ChoiceHelp HelpOn(std::string_view name, std::string_view doc, std::span<const Parameter> parameters);

}  // namespace hone
