// Which parameters servers refused, over all sessions: a refused one is left out from then on, until its value in the
// models file is another one. JSON in the data directory, which a person may read, edit and delete:
//
//   {"openai model-7": {"temperature": "0.5", "stream_options": ""}}
//
// Threads and processes may use one file at once; of two that learn something in the same moment one may be forgotten,
// and learns it again.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace hone {

class Refusals {
 public:
  // Of a model as its provider, which has that name in the models file, calls it. A file that is damaged or not there
  // has none.
  Refusals(std::string path, const std::string& provider, const std::string& model);
  static std::string UsualPath();  // refused_parameters.json in DataDirectory()

  // `value` is what the user's file says, as JSON; empty for a field that hone itself adds.
  bool Has(const std::string& name, const std::string& value) const;
  const std::string& path() const { return path_; }
  // kIo when it could not be kept; it is known to this object all the same.
  Result<void> Add(const std::string& name, const std::string& value);

 private:
  std::string path_, who_;
  std::map<std::string, std::string> refused_;  // name to value
};

}  // namespace hone
