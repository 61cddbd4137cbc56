// The functions that generated loop nests become. Nests of one form are one function, however many stages of a deep
// network have it: what differs between them (extents, strides, where a part begins) becomes its parameters, so that
// hundreds of layers compile in the time that their different forms take. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone {

class NestFunctions {
 public:
  struct Parameter {
    std::string type;   // "const float*"
    std::string name;   // in the body: "p0"
    std::string given;  // in the call: "x_3"
  };
  // A stand-in for the statement that calls a function of this body, in place of which WithCalls puts the call. Bodies
  // use `value`, `scale` and `threads` besides their parameters; numbered names in them begin at 0, so that bodies of
  // one form have one text.
  std::string Call(const std::string& body, const std::vector<Parameter>& parameters, std::string threads);

  // When all calls are known: the functions, templates over a real type R, and a text with its calls filled in.
  std::string Definitions() const;
  std::string WithCalls(const std::string& text) const;

 private:
  struct Form {
    int number = 0;
    std::vector<Parameter> parameters;
    std::vector<std::string> between;  // the body, cut where its numbers were
    // By number of the body: which parameter it is. Two are the same one if all calls give them the same value.
    std::vector<int> slots;
  };
  struct Made {
    const Form* form = nullptr;
    std::vector<std::int64_t> numbers;  // by number of the body
    std::vector<std::string> given;
    std::string threads;
  };
  std::map<std::string, Form> forms_;  // by the body without numbers, and the parameters' types
  std::vector<Made> calls_;
};

}  // namespace hone
