// How a document came about that is kept and shown later: of searches and suites, by those who write it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.h"

namespace hone {

// The words by which the option was given; none: it was not.
std::vector<std::string> GivenWords(const VerbCall& call, const Option& option);

// The command as it was given, its numbers with what they are where they were not given, this machine, the CUDA
// device where that is meant and here, and hone.
// `unnamed`: what the call has beside options. Word to word, for people.
std::map<std::string, std::string> HowMade(const VerbCall& call, std::string_view verb, std::span<const Option> options,
                                           const std::vector<std::string>& unnamed = {});

}  // namespace hone
