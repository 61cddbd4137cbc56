// The secret that a provider wants to see. It comes from the environment or from a file that only its owner can read,
// and goes into one header of a request; not into the store, a message, a log or a child process (base/process.h hands
// on nothing that is not named).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

class Key {
 public:
  Key() = default;  // none is sent
  // kUsage when the variable is not set, the file is not there or others can read it, or it holds no key.
  static Result<Key> FromEnvironment(const std::string& variable);
  static Result<Key> FromFile(const std::string& path);

  bool empty() const { return secret_.empty(); }
  const std::string& ForHeader() const { return secret_; }  // for HttpRequest::headers, and nothing else
  // The text with the key blotted out: for what a server sent back.
  std::string Blot(std::string text) const;

 private:
  static Result<Key> Create(std::string secret, const std::string& where);
  std::string secret_;
};

}  // namespace hone
